/** Which form of `error.code` a caller gets: by a header of the request, by its key, or by the configuration. */
import type { IncomingHttpHeaders } from 'node:http'
import { type CodeForm, ERROR_CODES, type ErrorCodes } from '../../core/error-codes.ts'

/**
 * Clients whose types have a text there. With a number async-openai 0.43.0 loses the message and no longer repeats a 429, `code()` of
 * openai-java 4.101.0 raises, and openai-go 3.99.0 shows "429" where programs look for `rate_limit_exceeded`.
 */
const TYPED_CLIENTS: readonly TypedClient[] = [
  // `OpenAIClientImpl/Java 4.101.0`, `OpenAIClientAsyncImpl/Java 4.101.0` (OpenAIClientImpl.kt); Spring AI sits on it.
  { agent: /^OpenAI\w*\/Java\b/ },
  // `OpenAI/Go 3.99.0` (internal/requestconfig/requestconfig.go).
  { agent: /^OpenAI\/Go\b/ },
  // What its documents set (src/lib.rs). By itself it sends no User-Agent, but the Accept of reqwest, as other programs on reqwest do.
  { agent: /^async-openai\b/i },
  { agent: /^$/, accept: '*/*' },
]

interface TypedClient {
  /** '' where there is none. */
  readonly agent: RegExp
  /** The whole header, where only that parts the client from others. */
  readonly accept?: string
}

export interface CodeSource {
  readonly headers: IncomingHttpHeaders
  /** Name of the header that sets the form, in lower case. */
  readonly header: string
  /** Of the key, where it has one. */
  readonly ofKey: ErrorCodes | undefined
  readonly configured: ErrorCodes | undefined
}

/** A word that the header does not know sets nothing: it comes with an error already. */
export function chooseCodeForm({ headers, header, ofKey, configured }: CodeSource): CodeForm {
  const wanted = headers[header]
  const form = ERROR_CODES.find((each) => each === wanted) ?? ofKey ?? configured ?? 'status'
  if (form !== 'auto') return form
  const agent = headers['user-agent'] ?? ''
  const isTyped = TYPED_CLIENTS.some((client) => client.agent.test(agent) && (client.accept ?? headers.accept) === headers.accept)
  return isTyped ? 'name' : 'status'
}
