/** Errors of this wire: upstream errors as faults, and faults as errors of a Response. */

import type { Fault } from '../../core/faults.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { faultIn } from '../faults/classify.ts'

/**
 * A failure as an upstream of this wire reports it.
 * @param status the HTTP status; 200 for an error inside a reply that began well.
 * @param body `{error: {code, message, type, param}}`, a Response object whose `error` is set, or an `error` event.
 */
export function decodeFault(status: number, body: Json | undefined): Fault {
  return faultIn('responses', status, body)
}

/**
 * `error.code` of a Response that failed, in codes that clients act on: Codex 0.169 compacts on `context_length_exceeded`, gives up on
 * `insufficient_quota` and waits on `rate_limit_exceeded` (codex-rs/codex-api/src/sse/responses.rs). The others are those of
 * `ResponseError` in npm openai 7.57.0.
 */
const CODES: ReadonlyMap<string, string> = new Map([
  ['context_length_exceeded', 'context_length_exceeded'],
  ['invalid_request', 'invalid_prompt'],
  ['content_policy_violation', 'image_content_policy_violation'],
  ['rate_limit_exceeded', 'rate_limit_exceeded'],
  ['payment_required', 'insufficient_quota'],
])

/** `error` of a Response that failed. */
export function responseError({ type, message, retryAfter, availability }: Fault): {
  code: string
  message: string
  availability?: JsonObject
} {
  // Codex reads the wait from this sentence.
  const wait = type === 'rate_limit_exceeded' && retryAfter !== undefined && !/try again in/i.test(message)
  const error = { code: CODES.get(type) ?? 'server_error', message: wait ? `${message}. Please try again in ${retryAfter}s.` : message }
  return availability ? { ...error, availability } : error
}
