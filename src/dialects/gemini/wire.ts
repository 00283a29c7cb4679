/** What every file of this wire shares: its names and careful readings. Reference: types of @google/genai 3.1.0, API v1beta. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

export const WIRE = 'gemini'

/** Marks thought signatures as this family's own. */
export const SEALED_FORMAT = 'google-gemini-v1'

export function objectsOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

export function stringOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The object without its undefined members, so that absent stays absent. */
export function present(fields: JsonObject): JsonObject {
  for (const key in fields) if (fields[key] === undefined) delete fields[key]
  return fields
}

const RESOURCE = /^(?:models|tunedModels|publishers|projects)\//

/** The resource name of a model: `models/…` unless it names its collection itself. */
export function resourceOf(model: string): string {
  return RESOURCE.test(model) ? model : `models/${model}`
}

/** Path of an operation on a model, such as `/models/x:generateContent`. */
export function operationPath(model: string, operation: string): string {
  return `/${resourceOf(model).split('/').map(encodeURIComponent).join('/')}:${operation}`
}
