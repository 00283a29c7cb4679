/** Errors between this wire and the fault table. */

import type { Fault } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { type EndWords, endWord, reasonIn } from '../canon/ends.ts'
import type { End, EndReason } from '../canon/events.ts'
import { noteTier, tierBesideUsage } from '../canon/served-tier.ts'
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
 * `error.code` of a Response that failed, in words that clients act on: Codex 0.169 compacts on `context_length_exceeded`, gives up on
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
  // Codex reads the wait from these words.
  const wait = type === 'rate_limit_exceeded' && retryAfter !== undefined && !/try again in/i.test(message)
  const error = { code: CODES.get(type) ?? 'server_error', message: wait ? `${message}. Please try again in ${retryAfter}s.` : message }
  return availability ? { ...error, availability } : error
}

/** A message that came meanwhile has stopped the answer: no other wire has a word for it. */
export const STEERED = 'steered'

/** `Response.IncompleteDetails.reason` of npm openai 7.59.0. */
export const INCOMPLETE: EndWords = new Map<string, EndReason>([
  ['max_output_tokens', 'length'],
  ['max_messages', 'length'],
  ['content_filter', 'content_filter'],
  [STEERED, 'unknown'],
])

/**
 * `ResponseStatus` of the same, of a response that has ended and did not fail, and of servers that state none; `complete` is recorded
 * (test_openai_previous_response_id).
 */
const STATUSES: EndWords = new Map<string, EndReason>([
  ['completed', 'stop'],
  ['complete', 'stop'],
  ['', 'stop'],
])

/** Unified end of a Response object that did not fail. */
export function endOf(response: JsonObject, sawCall: boolean): End {
  const details = isObject(response.incomplete_details) ? response.incomplete_details : undefined
  const status = endWord(response.status)
  const raw = endWord(details?.reason) ?? status
  const known = status === 'incomplete' ? reasonIn(INCOMPLETE, raw ?? '') : reasonIn(STATUSES, status ?? '')
  const end: End = { reason: known === 'stop' && sawCall ? 'tool_calls' : known }
  if (raw !== undefined) end.raw = raw
  if (status === 'incomplete' && raw === STEERED) end.steered = true
  noteTier(end, tierBesideUsage(response))
  return end
}
