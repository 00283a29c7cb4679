/** Puts the fields of a preset into a chat request. */

import type { JsonObject } from '../../core/json.ts'
import { filled, type Preset, sends } from '../canon/presets.ts'

/** The system message stands first; the legacy `prompt` becomes the message behind it. */
function withSystem(body: JsonObject, text: string): JsonObject {
  const system: JsonObject = { role: 'system', content: text }
  if (Array.isArray(body.messages) && body.messages.length > 0) return { ...body, messages: [system, ...body.messages] }
  const { prompt, ...rest } = body
  if (typeof prompt !== 'string' || prompt === '' || body.messages !== undefined) return body
  return { ...rest, messages: [system, { role: 'user', content: prompt }] }
}

/** Adds those parameters of the preset that the caller does not send under any of their names. */
export function withPreset(body: JsonObject, { parameters, systemPrompt }: Preset): JsonObject {
  const { max_tokens, reasoning, ...others } = parameters
  const fields: JsonObject = { ...others }
  if (!sends(body, 'max_completion_tokens')) fields.max_tokens = max_tokens
  if (!sends(body, 'reasoning_effort')) fields.reasoning = reasoning
  const whole = filled(body, fields)
  return systemPrompt === undefined ? whole : withSystem(whole, systemPrompt)
}
