/** The provider's list of models, in the OpenAI form. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

/** The most that one page holds. */
export const LISTING_PATH = '/v1/models?limit=1000'

function entry(model: Json): JsonObject[] {
  if (!isObject(model) || typeof model.id !== 'string') return []
  const created = typeof model.created_at === 'string' ? Math.floor(Date.parse(model.created_at) / 1000) : Number.NaN
  return [
    {
      id: model.id,
      ...(created > 0 ? { created } : {}),
      ...(typeof model.max_input_tokens === 'number' ? { context_length: model.max_input_tokens } : {}),
    },
  ]
}

/** @param body `{ data: [{ id, created_at, display_name }] }`. */
export function readListing(body: JsonObject): JsonObject {
  return { data: Array.isArray(body.data) ? body.data.flatMap(entry) : [] }
}
