/** Purpose of vectors, in the words of each provider: callers write any of them, with or without capitals. */

export type Purpose = 'query' | 'document' | 'classification' | 'clustering' | 'similarity' | 'code' | 'question' | 'fact'

const WORDS: Readonly<Record<string, Purpose>> = {
  query: 'query',
  search_query: 'query',
  retrieval_query: 'query',
  document: 'document',
  passage: 'document',
  search_document: 'document',
  retrieval_document: 'document',
  classification: 'classification',
  clustering: 'clustering',
  similarity: 'similarity',
  semantic_similarity: 'similarity',
  code_retrieval_query: 'code',
  question_answering: 'question',
  fact_verification: 'fact',
}

/** Undefined for an unknown word. */
export function inputPurpose(inputType: string | undefined): Purpose | undefined {
  const word = inputType?.toLowerCase()
  return word !== undefined && Object.hasOwn(WORDS, word) ? WORDS[word] : undefined
}
