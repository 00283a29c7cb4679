/**
 * The subset of JSON Schema that this wire's structured outputs and strict tools take (lib/transform-json-schema of @anthropic-ai/sdk
 * 1.14.0; platform.claude.com, Structured outputs, "JSON Schema limitations"). What it lacks stands in the description instead, where the
 * model reads it.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

const FORMATS: ReadonlySet<unknown> = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'])

/** Keywords that say nothing about which values are valid: without them nothing is lost. */
const NOTES: ReadonlySet<string> = new Set(['$schema', '$id', '$comment', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly'])

const KEPT: ReadonlySet<string> = new Set(['type', 'title', 'description', 'required', '$ref'])

const isPlain = (value: Json): boolean => value === null || typeof value !== 'object'

const hasType = ({ type }: JsonObject, name: string): boolean => type === name || (Array.isArray(type) && type.includes(name))

const isObjectSchema = (schema: JsonObject): boolean =>
  hasType(schema, 'object') || (schema.type === undefined && isObject(schema.properties))

function mapped(value: Json | undefined, fit: (schema: JsonObject) => JsonObject): Json | undefined {
  if (Array.isArray(value)) return value.map((each) => (isObject(each) ? fit(each) : each))
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, isObject(each) ? fit(each) : (each ?? null)]))
    : value
}

/** True for a keyword with a value that is sent as it is. */
function isTaken(schema: JsonObject, key: string, value: Json): boolean {
  switch (key) {
    case 'enum':
      return Array.isArray(value) && value.every(isPlain)
    case 'const':
      return isPlain(value)
    case 'format':
      return !hasType(schema, 'string') || FORMATS.has(value)
    case 'minItems':
      return value === 0 || value === 1
    default:
      return KEPT.has(key)
  }
}

/**
 * `oneOf` as `anyOf`, which is the nearest that this wire has; beside another `anyOf` in an `allOf`, which takes no `$ref`
 * (platform.claude.com, Structured outputs, "JSON Schema limitations"): there it stands in the description.
 */
function keepChoice({ oneOf: original }: JsonObject, fitted: JsonObject, { oneOf, lost }: { oneOf: Json; lost: JsonObject }): void {
  if (fitted.anyOf === undefined) fitted.anyOf = oneOf
  else if (JSON.stringify(oneOf).includes('"$ref"')) lost.oneOf = original
  else fitted.allOf = [...(Array.isArray(fitted.allOf) ? fitted.allOf : []), { anyOf: oneOf }]
}

/** @param lose is called with each keyword that stands in a description from now on. @returns a new schema. */
export function fitSchema(schema: JsonObject, lose: (keyword: string) => void): JsonObject {
  const fit = (inner: JsonObject): JsonObject => fitSchema(inner, lose)
  const fitted: JsonObject = {}
  const lost: JsonObject = {}
  let oneOf: Json | undefined
  for (const [key, value] of Object.entries(schema)) {
    if (value === undefined || NOTES.has(key)) continue
    if (key === 'properties' || key === '$defs' || key === 'definitions' || key === 'anyOf' || key === 'allOf')
      fitted[key] = mapped(value, fit)
    else if (key === 'oneOf') oneOf = mapped(value, fit)
    else if (key === 'items' && isObject(value)) fitted.items = fit(value)
    else if (isTaken(schema, key, value)) fitted[key] = value
    else if (key !== 'additionalProperties') lost[key] = value
    else {
      fitted[key] = false
      if (value !== false) lose(key)
    }
  }
  if (oneOf !== undefined) keepChoice(schema, fitted, { oneOf, lost })
  if (isObjectSchema(schema)) {
    fitted.type ??= 'object'
    fitted.additionalProperties = false
  }
  const keywords = Object.keys(lost)
  for (const keyword of keywords) lose(keyword)
  // Any one of the alternatives, where exactly one was wanted.
  if (oneOf !== undefined) lose('oneOf')
  if (keywords.length > 0) {
    const rules = `Must be valid against ${JSON.stringify(lost)}.`
    fitted.description = typeof schema.description === 'string' ? `${schema.description}\n\n${rules}` : rules
  }
  return fitted
}

/** True for a schema that this wire takes as it is. */
export function fitsSchema(schema: JsonObject): boolean {
  return JSON.stringify(fitSchema(schema, () => {})) === JSON.stringify(schema)
}
