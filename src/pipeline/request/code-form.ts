/** Which form of `error.code` a caller gets: by a header of the request, by its key, or by the configuration. */
import type { IncomingHttpHeaders } from 'node:http'
import { type CodeForm, ERROR_CODES, type ErrorCodes } from '../../core/error-codes.ts'
import { isReqwest } from '../../core/reqwest.ts'

/**
 * Clients whose types have a text there. With a number async-openai 0.43.0 loses the message and no longer repeats a 429, `code()` of
 * openai-java 4.101.0 raises, and openai-go 3.99.0 shows "429" where programs look for `rate_limit_exceeded`.
 */
const TYPED_CLIENTS: readonly RegExp[] = [
  // `OpenAIClientImpl/Java 4.101.0`, `OpenAIClientAsyncImpl/Java 4.101.0` (OpenAIClientImpl.kt); Spring AI sits on it.
  /^OpenAI\w*\/Java\b/,
  // `OpenAI/Go 3.99.0` (internal/requestconfig/requestconfig.go).
  /^OpenAI\/Go\b/,
  // What its documents set (src/lib.rs). By itself it sends what reqwest does, as other programs on reqwest do.
  /^async-openai\b/i,
]

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
  return isReqwest(headers) || TYPED_CLIENTS.some((client) => client.test(agent)) ? 'name' : 'status'
}
