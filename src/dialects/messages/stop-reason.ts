/** Why a turn ended: `stop_reason` of this wire and the canon's words. */
import type { End, EndReason } from '../canon/events.ts'

/** The provider's own loop of tools is not done (platform.claude.com, Server tools, "The server-side loop and pause_turn"). */
export const PAUSED = 'pause_turn'

const REASONS: ReadonlyMap<string, EndReason> = new Map([
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

/** @returns `stop` for a word that the wire does not have yet. */
export function reasonOf(stopReason: string): EndReason {
  return REASONS.get(stopReason) ?? 'stop'
}

/**
 * The `stop_reason` that the caller gets.
 * @param refused true where the reply holds a refusal, which other wires end like any answer.
 * @returns null for an end that is no success and has no word here.
 */
export function stopReasonOf(end: End, refused: boolean): string | null {
  const { reason, raw } = end
  if (raw !== undefined && REASONS.get(raw) === reason) return raw
  switch (reason) {
    case 'tool_calls':
      return 'tool_use'
    case 'length':
      return 'max_tokens'
    case 'content_filter':
      return 'refusal'
    case 'error':
      return null
    case 'stop':
      if (refused) return 'refusal'
      return end.sequence === undefined ? 'end_turn' : 'stop_sequence'
  }
}
