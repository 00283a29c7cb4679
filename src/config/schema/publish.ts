/** The schema as editors read it: plain JSON Schema, without the keywords that only our own checks know. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { configSchema } from './root.ts'

const OURS: ReadonlySet<string> = new Set(['expected', 'keyExpected', 'scalar', 'asWritten', 'atStart', 'unavailable', 'secret'])

/** JSON Schema 2020-12 of the configuration file. */
export function configJsonSchema(): JsonObject {
  const plain = JSON.parse(JSON.stringify(configSchema)) as Json
  for (const provider of providersIn(plain)) {
    // The preset has the dialect.
    provider.anyOf = [{ required: ['dialect'] }, { required: ['preset'] }]
    provider.required = (provider.required as string[]).filter((name) => name !== 'dialect')
  }
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'headgate', ...(strip(plain) as JsonObject) }
}

/** The schema of an entry of `providers`. */
function providersIn(config: Json): JsonObject[] {
  const properties = isObject(config) && isObject(config.properties) ? config.properties : {}
  const patterns = isObject(properties.providers) ? properties.providers.patternProperties : undefined
  return isObject(patterns) ? Object.values(patterns).filter((each) => isObject(each)) : []
}

/** A variable may stand where a number, a flag or text of one form does. */
const VARIABLE: JsonObject = { type: 'string', pattern: '\\$\\{' }

function orVariable(schema: JsonObject): JsonObject {
  const { description, default: value, ...rest } = schema
  const plain = schema.type === 'integer' || schema.type === 'number' || schema.type === 'boolean'
  if (!plain && schema.enum === undefined && (schema.type !== 'string' || schema.pattern === undefined)) return schema
  const shown = { ...(description === undefined ? {} : { description }), ...(value === undefined ? {} : { default: value }) }
  return { ...shown, anyOf: [rest, { ...VARIABLE }] }
}

/** A property may be called like one of our keywords, so the names of properties are kept. */
function strip(value: Json, names = false): Json {
  if (Array.isArray(value)) return value.map((each) => strip(each))
  if (!isObject(value)) return value
  const kept: JsonObject = {}
  for (const [key, each] of Object.entries(value)) {
    if (names || !OURS.has(key)) kept[key] = strip(each ?? null, !names && (key === 'properties' || key === 'patternProperties'))
  }
  return names ? kept : orVariable(kept)
}
