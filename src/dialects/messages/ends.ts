/** Why a turn ended: `stop_reason` of this wire and the canon's words. */
import { type EndWords, reasonIn } from '../canon/ends.ts'
import type { End, EndReason } from '../canon/events.ts'

/** The provider's own loop of tools is not done (platform.claude.com, Server tools, "The server-side loop and pause_turn"). */
export const PAUSED = 'pause_turn'

/** `StopReason` of npm @anthropic-ai/sdk 1.14.0. */
const REASONS: EndWords = new Map<string, EndReason>([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  // The gateway goes on with the turn. Where it could not, formats without a word for that get `length`: the answer is incomplete.
  [PAUSED, 'length'],
  ['compaction', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
])

export function toEndReason(stopReason: string): EndReason {
  return reasonIn(REASONS, stopReason)
}

/**
 * The `stop_reason` that the caller gets.
 * @param refused true where the reply holds a refusal, which other wires end like any answer.
 * @returns for an end that is not known as a success `refusal`: of the words that clients have it is the one after which none of them goes on.
 */
export function toStopReason(end: End, refused: boolean): string {
  const { reason, raw } = end
  if (raw !== undefined && REASONS.get(raw) === reason) return raw
  switch (reason) {
    case 'tool_calls':
      return 'tool_use'
    case 'length':
      return 'max_tokens'
    case 'content_filter':
    case 'error':
    case 'unknown':
      return 'refusal'
    case 'stop':
      if (refused) return 'refusal'
      return end.sequence === undefined ? 'end_turn' : 'stop_sequence'
  }
}
