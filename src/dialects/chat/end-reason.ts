/** Why a turn ended: providers' words as the five of the wire. */
import type { EndReason } from '../canon/events.ts'

const REASONS: ReadonlyMap<string, EndReason> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['max_output_tokens', 'length'],
  ['model_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_calls', 'tool_calls'],
  ['tool_use', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['content_filtered', 'content_filter'],
  ['safety', 'content_filter'],
  ['recitation', 'content_filter'],
  ['blocklist', 'content_filter'],
  ['prohibited_content', 'content_filter'],
  ['refusal', 'content_filter'],
  ['error', 'error'],
  ['insufficient_system_resource', 'error'],
])

/** An unknown word counts as `stop`; so does a stop behind calls as `tool_calls`, since the caller must act. */
export function unify(raw: string, hasCalls: boolean): EndReason {
  const reason = REASONS.get(raw.toLowerCase()) ?? 'stop'
  return reason === 'stop' && hasCalls ? 'tool_calls' : reason
}

const TIERS: ReadonlySet<unknown> = new Set(['default', 'flex', 'priority'])

/** The tier that a provider says it served; undefined for words that name none, such as `auto`. */
export function servedTier(reported: unknown): string | undefined {
  return typeof reported === 'string' && TIERS.has(reported) ? reported : undefined
}
