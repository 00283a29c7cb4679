/** Names that more than one file of this folder writes. */
import type { FieldNames } from '../canon/parameters.ts'

export const CLIENT_ID = 'embeddings'

/** Fields of the caller's body, which are those of OpenAI's API as well. */
export const embeddingFields: FieldNames = new Map([
  ['input', ['input']],
  ['dimensions', ['dimensions']],
  ['encoding_format', ['encoding_format']],
  ['input_type', ['input_type']],
])
