/** Ends of replies of this wire. */
import { isObject, type JsonObject } from '../../core/json.ts'
import { type EndWords, endWord, reasonIn } from '../canon/ends.ts'
import type { End, EndReason } from '../canon/events.ts'
import { noteTier, tierBesideUsage } from '../canon/served-tier.ts'

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
export function responseEnd(response: JsonObject, sawCall: boolean): End {
  const { incomplete_details: incomplete } = response
  const details = incomplete && isObject(incomplete) ? incomplete : undefined
  const status = endWord(response.status)
  const raw = endWord(details?.reason) ?? status
  const known = status === 'incomplete' ? reasonIn(INCOMPLETE, raw ?? '') : reasonIn(STATUSES, status ?? '')
  const end: End = { reason: known === 'stop' && sawCall ? 'tool_calls' : known }
  if (raw !== undefined) end.raw = raw
  if (status === 'incomplete' && raw === STEERED) end.steered = true
  noteTier(end, tierBesideUsage(response))
  return end
}
