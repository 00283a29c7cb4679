/** Fields of a preset, in a Responses request. */

import { isObject, type JsonObject } from '../../core/json.ts'
import { PRESET_PARAMETERS } from '../../core/parameters.ts'
import { filled, type Preset, picked, sends } from '../canon/presets.ts'
import { responsesParameters } from './parameters.ts'

/** Parameters that this wire has under the same name; it has none for the others. */
const SAME = PRESET_PARAMETERS.filter((name) => responsesParameters[name].field === name)
const REASONING = ['effort', 'max_tokens', 'enabled', 'summary'] as const

/** The instructions stand in front of the input; those of the preset come first. */
function withSystem(body: JsonObject, text: string): JsonObject {
  if (!sends(body, 'instructions')) return { ...body, instructions: text }
  return typeof body.instructions === 'string' ? { ...body, instructions: `${text}\n\n${body.instructions}` } : body
}

/** The preset's parameters where the caller sends none; what this wire has no field for is left out. */
export function withPreset(body: JsonObject, { parameters, systemPrompt }: Preset): JsonObject {
  const fields = picked(parameters, SAME)
  fields.max_output_tokens = parameters.max_tokens
  const reasoning = isObject(parameters.reasoning) ? picked(parameters.reasoning, REASONING) : {}
  if (Object.keys(reasoning).length > 0) fields.reasoning = reasoning
  const whole = filled(body, fields)
  return systemPrompt === undefined ? whole : withSystem(whole, systemPrompt)
}
