/** `finishReason` in the canon's words. */
import type { EndReason } from '../canon/events.ts'

const FILTERED = /SAFETY|RECITATION|BLOCKLIST|PROHIBITED|SPII/

/** @param hasCalls true where the reply called a function: this wire has no word of its own for that. */
export function unify(raw: string, hasCalls: boolean): EndReason {
  if (raw === 'STOP') return hasCalls ? 'tool_calls' : 'stop'
  // A continuation token is for the same provider alone: to the caller the answer was cut at a limit.
  if (raw === 'MAX_TOKENS' || raw === 'CONTINUATION') return 'length'
  // Any reason that is neither of these nor a filter is a failure: invalid calls, unsupported languages, missing images, words that are new.
  return FILTERED.test(raw) ? 'content_filter' : 'error'
}
