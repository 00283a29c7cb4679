/** The provider's list of models (`models.list`) in the form that the catalogue reads. */
import { type Json, type JsonObject, objectsOf, stringOf } from '../../core/json.ts'

/** One page holds them all. */
export const LISTING_PATH = '/models?pageSize=1000'

/** Models that generate content or embed it, by their name without the collection. */
export function readListing(body: JsonObject): JsonObject {
  const data: JsonObject[] = []
  for (const model of objectsOf(body.models)) {
    const name = stringOf(model.name)
    const methods = model.supportedGenerationMethods
    const kind = Array.isArray(methods) ? kindOf(methods) : 'generate'
    if (name === undefined || kind === undefined) continue
    const entry: JsonObject = { id: name.replace(/^models\//, ''), ...(kind === 'embedding' ? { kind } : {}) }
    if (typeof model.inputTokenLimit === 'number') entry.context_length = model.inputTokenLimit
    data.push(entry)
  }
  return { data }
}

function kindOf(methods: readonly Json[]): 'generate' | 'embedding' | undefined {
  if (methods.includes('generateContent')) return 'generate'
  return methods.includes('embedContent') || methods.includes('batchEmbedContents') ? 'embedding' : undefined
}
