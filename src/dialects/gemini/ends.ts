/** Words for the end of an answer. */
import { type EndWords, reasonIn } from '../canon/ends.ts'
import type { EndReason } from '../canon/events.ts'

/** `FinishReason` of npm @google/genai 3.3.0, and MODEL_ARMOR of Vertex AI (`Candidate.FinishReason` of google.cloud.aiplatform.v1). */
const REASONS: EndWords = new Map<string, EndReason>([
  ['STOP', 'stop'],
  ['MAX_TOKENS', 'length'],
  // A continuation token is for the same provider alone: to the caller the answer was cut at a limit.
  ['CONTINUATION', 'length'],
  ['SAFETY', 'content_filter'],
  ['RECITATION', 'content_filter'],
  ['BLOCKLIST', 'content_filter'],
  ['PROHIBITED_CONTENT', 'content_filter'],
  ['SPII', 'content_filter'],
  ['MODEL_ARMOR', 'content_filter'],
  ['IMAGE_SAFETY', 'content_filter'],
  ['IMAGE_PROHIBITED_CONTENT', 'content_filter'],
  ['IMAGE_RECITATION', 'content_filter'],
  ['LANGUAGE', 'error'],
  ['OTHER', 'error'],
  ['IMAGE_OTHER', 'error'],
  ['NO_IMAGE', 'error'],
  ['MALFORMED_FUNCTION_CALL', 'error'],
  ['MALFORMED_RESPONSE', 'error'],
  ['UNEXPECTED_TOOL_CALL', 'error'],
  ['TOO_MANY_TOOL_CALLS', 'error'],
  ['MISSING_THOUGHT_SIGNATURE', 'error'],
])

export const toEndReason = (word: string): EndReason => reasonIn(REASONS, word)

/**
 * `finishReason` in the canon's words.
 * @param hasCalls true where the reply called a function: this wire has no word of its own for that.
 */
export function unify(raw: string, hasCalls: boolean): EndReason {
  const reason = toEndReason(raw)
  return reason === 'stop' && hasCalls ? 'tool_calls' : reason
}
