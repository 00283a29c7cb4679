/**
 * Schemas that Claude's structured outputs and strict tools take. The subset: lib/transform-json-schema of @anthropic-ai/sdk 1.14.0,
 * which takes out what the API refuses; the words of a refusal: github.com/ghostlobster/memorize-everything/issues/93.
 */
import { isObject, type Json, type JsonObject } from '../../../src/core/json.ts'
import { object } from '../../support/fold.ts'

const ANY = ['type', 'title', 'description', 'enum', 'const', 'anyOf', 'allOf', '$ref', '$defs', 'definitions', 'default']

const BY_TYPE: Readonly<Record<string, readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties'],
  array: ['items', 'minItems'],
  string: ['format', 'pattern'],
}

const FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid']

/** @returns the first keyword that the API refuses, in its words; undefined where there is none. */
export function schemaRefusal(schema: Json | undefined): string | undefined {
  if (!isObject(schema)) return undefined
  const type = typeof schema.type === 'string' ? schema.type : ''
  const known = [...ANY, ...(BY_TYPE[type] ?? (type === '' ? Object.values(BY_TYPE).flat() : []))]
  const unknown = Object.keys(schema).find((key) => !known.includes(key))
  if (unknown !== undefined) return `For '${type}' type, property '${unknown}' is not supported`
  if (type === 'object' && schema.additionalProperties !== false)
    return "For 'object' type, 'additionalProperties' must be explicitly set to false"
  if (schema.minItems !== undefined && schema.minItems !== 0 && schema.minItems !== 1)
    return "For 'array' type, 'minItems' values other than 0 or 1 are not supported"
  if (schema.format !== undefined && !FORMATS.includes(String(schema.format)))
    return `For 'string' type, format '${String(schema.format)}' is not supported`
  if (typeof schema.$ref === 'string' && !schema.$ref.startsWith('#/')) return 'External $ref is not supported'
  for (const inner of innerSchemas(schema)) {
    const wrong = schemaRefusal(inner)
    if (wrong) return wrong
  }
  return undefined
}

function innerSchemas(schema: JsonObject): Json[] {
  const lists = [schema.anyOf, schema.allOf].flatMap((each) => (Array.isArray(each) ? each : []))
  const maps = [schema.properties, schema.$defs, schema.definitions].flatMap((each) => Object.values(object(each)))
  return [...lists, ...maps, ...(schema.items === undefined ? [] : [schema.items])].filter((each) => each !== undefined)
}
