/**
 * Messages of servers about a model that does not do what is requested of it at all: it embeds and does not chat, or chats and does not
 * embed.
 */
import type { Fault } from '../../core/faults.ts'

/** An operation by the kind of model that it calls. */
export type Operation = 'generate' | 'embedding'

/** RFC 9110, 15.5.1, 15.5.5, 15.5.6, 15.6.1 and 15.6.2: llama.cpp answers 500 and 501, vLLM and infinity 404 and 400, Ollama 400. */
const STATUSES: ReadonlySet<number> = new Set([400, 404, 405, 500, 501])

/**
 * llama.cpp, release b11549: "the current context does not support logits computation", "This server does not support embeddings". vLLM 0.32.0:
 * "The model does not support Chat Completions API", "… Embeddings API". Ollama 0.17.4: "… does not support chat", "… generate", "this model
 * does not support embeddings". infinity 0.0.78: "… does not support `embed`". OpenAI: "This is not a chat model".
 */
const SENTENCES: Readonly<Record<Operation, RegExp>> = {
  generate:
    /\bdoes not support (?:the )?[`"']?(?:chat|generat(?:e|ion)|(?:text |chat )?completions?|logits computation)\b|\bis not a chat model\b/i,
  embedding: /\bdoes(?: not|n't) support (?:the )?[`"']?embed/i,
}

/** A server that has not even the operation's route (FastAPI: `{"detail":"Not Found"}`), as vLLM and infinity answer. */
const NO_ROUTE = 'Not Found'

interface Refused {
  /** Of the reply. */
  readonly status: number
  readonly operation: Operation
  /** The server lists the model below the same address, and has never done this. Otherwise a missing route may be anything in front of it. */
  readonly isListed: boolean
}

/** The words of a refusal that say that its endpoint does not have the operation; undefined where it says something else. */
export function lackedOperation({ sentence }: Pick<Fault, 'sentence'>, { status, operation, isListed }: Refused): string | undefined {
  if (sentence === undefined || !STATUSES.has(status)) return undefined
  if (isListed && status === 404 && sentence === NO_ROUTE) return NO_ROUTE
  return SENTENCES[operation].exec(sentence)?.[0]
}
