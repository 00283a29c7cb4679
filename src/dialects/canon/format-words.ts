/** Text for a model whose provider does not hold it to the format of the answer. */
import type { JsonObject } from '../../core/json.ts'

export const JSON_INSTRUCTION = 'Reply with one JSON object and nothing else: no text before or behind it, no code fence.'

export function schemaInstruction(schema: JsonObject | undefined): string {
  return `${JSON_INSTRUCTION} It must be valid against this JSON Schema: ${JSON.stringify(schema ?? { type: 'object' })}`
}
