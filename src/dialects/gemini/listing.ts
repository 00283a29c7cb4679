/** The provider's list of models (`models.list`) in the form that the catalogue reads. */
import type { JsonObject } from '../../core/json.ts'
import { objectsOf, stringOf } from './wire.ts'

/** One page holds them all. */
export const LISTING_PATH = '/models?pageSize=1000'

/** Models that generate content, by their name without the collection. */
export function readListing(body: JsonObject): JsonObject {
  const data: JsonObject[] = []
  for (const model of objectsOf(body.models)) {
    const name = stringOf(model.name)
    const methods = model.supportedGenerationMethods
    if (name === undefined || (Array.isArray(methods) && !methods.includes('generateContent'))) continue
    const entry: JsonObject = { id: name.replace(/^models\//, '') }
    if (typeof model.inputTokenLimit === 'number') entry.context_length = model.inputTokenLimit
    data.push(entry)
  }
  return { data }
}
