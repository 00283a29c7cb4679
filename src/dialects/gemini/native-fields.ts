/**
 * Fields of this wire that callers of other formats may send beside their own: under the provider's name, in snake case too, as JSON of
 * protocol buffers is read, or in `extra_body.google`, where Google's own chat endpoint has them (Gemini API, "OpenAI compatibility").
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { CanonicalRequest } from '../canon/request.ts'
import type { ParameterFilter } from './parameter-filter.ts'

const FIELDS: ReadonlyMap<string, string> = new Map([
  ['safety_settings', 'safetySettings'],
  ['safetySettings', 'safetySettings'],
  ['cached_content', 'cachedContent'],
  ['cachedContent', 'cachedContent'],
])

function fitting(field: string, value: Json | undefined): value is Json {
  return field === 'safetySettings' ? Array.isArray(value) : typeof value === 'string'
}

/** @returns the fields by their names at the provider; those that it does not know are recorded in the filter. */
export function nativeFields({ extras }: CanonicalRequest, filter: ParameterFilter): JsonObject {
  const body: JsonObject = {}
  const take = (name: string, value: Json | undefined, record: string): void => {
    const field = FIELDS.get(name)
    if (field === undefined || !fitting(field, value)) filter.dropped.add(record)
    else body[field] ??= filter.unlessDropped(name, value)
  }
  for (const [name, value] of Object.entries(extras?.fields ?? {})) {
    const google = name === 'extra_body' && isObject(value) && Object.keys(value).length === 1 ? value.google : undefined
    if (isObject(google)) for (const [each, inner] of Object.entries(google)) take(each, inner, `extra_body.google.${each}`)
    else take(name, value, name)
  }
  return body
}
