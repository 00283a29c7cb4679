/** Words for the end of a turn. */
import { type EndWords, reasonIn } from '../canon/ends.ts'
import type { EndReason } from '../canon/events.ts'

/** `StopReason` of npm @aws-sdk/client-bedrock-runtime 3.1164.0. */
const REASONS: EndWords = new Map<string, EndReason>([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['guardrail_intervened', 'content_filter'],
  ['content_filtered', 'content_filter'],
  ['malformed_model_output', 'error'],
  ['malformed_tool_use', 'error'],
  // Not among the words of this wire; Claude has it, and the service passes on words of models.
  ['refusal', 'content_filter'],
])

export const toEndReason = (word: string): EndReason => reasonIn(REASONS, word)
