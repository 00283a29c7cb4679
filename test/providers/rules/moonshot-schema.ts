/**
 * Refusals of "Moonshot flavored JSON schema": github.com/MoonshotAI/walle at 196bb0c, docs/walle.md and the validator at the level `strict`,
 * in its words. Keywords that the subset does not name are not refused there.
 */
import { isObject, type Json, type JsonObject } from '../../../src/core/json.ts'
import { object } from '../../support/fold.ts'

const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object']
const RESERVED = ['$defs', '$ref', 'anyOf', 'required', 'additionalProperties']
const NOTES = ['description', 'title']

const listed = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : value === undefined ? [] : [value])

function fits(value: Json, type: Json): boolean {
  if (value === null) return type === 'null'
  if (typeof value === 'number') return type === 'number' || (type === 'integer' && Number.isInteger(value))
  return typeof value === type || (type === 'array' && Array.isArray(value)) || (type === 'object' && isObject(value))
}

function wrongType(schema: JsonObject, isRoot: boolean): string | undefined {
  const types = listed(schema.type)
  if (types.some((type) => !TYPES.includes(String(type)))) return 'invalid type'
  if (Array.isArray(schema.type) && types.length === 0) return 'type array cannot be empty'
  if (schema.enum !== undefined) {
    if (!Array.isArray(schema.enum) || schema.enum.length === 0) return 'enum array cannot be empty'
    if (types.length === 0) return 'type is not defined'
    if (types.length > 2 || (types.length === 2 && !types.includes('null')))
      return 'when type is array and enum is specified, currently only 2 types are supported, one must be null'
    const stray = schema.enum.find((value) => !types.some((type) => fits(value, type)))
    if (stray !== undefined) return `enum value (${JSON.stringify(stray)}) does not match any type in [${types.join(' ')}]`
    return undefined
  }
  const beside = Object.keys(schema).find((name) => name !== 'type' && ![...NOTES, ...(isRoot ? ['$defs', '$id'] : [])].includes(name))
  return types.length > 1 && beside !== undefined ? `keyword ${beside} is not allowed in combination with multiple types` : undefined
}

function wrongAlternatives(schema: JsonObject): string | undefined {
  const { anyOf } = schema
  if (anyOf === undefined) return undefined
  if (!Array.isArray(anyOf) || anyOf.length === 0) return 'anyOf must have 1-500 items'
  if (schema.type !== undefined) return 'when using anyOf, type should be defined in anyOf items instead of the parent schema'
  for (const branch of anyOf) {
    if (!isObject(branch)) return 'schema in anyOf must be an object'
    const twice = Object.keys(branch).find((name) => schema[name] !== undefined && !NOTES.includes(name))
    if (twice !== undefined) return `conflicting keywords found in anyOf with parent: keywords (${twice})`
  }
  return undefined
}

function wrongMembers({ properties, required }: JsonObject, within: boolean): string | undefined {
  if (properties !== undefined && !isObject(properties)) return 'properties must be an object'
  for (const [name, schema] of Object.entries(properties ?? {})) {
    if (!isObject(schema)) return `property schema for '${name}' must be an object`
    if (RESERVED.includes(name)) return `property name '${name}' is reserved for JSON Schema keywords`
    if (within && name.includes('/')) return `$defs property name '${name}' cannot contain '/' character`
  }
  const unknown = listed(required).find((name) => object(properties)[String(name)] === undefined)
  return unknown === undefined ? undefined : `required property '${String(unknown)}' is not defined in properties`
}

function wrongReference(schema: JsonObject, root: JsonObject): string | undefined {
  const { $ref: pointer } = schema
  if (pointer === undefined || pointer === '#') return undefined
  if (typeof pointer !== 'string') return '$ref must be a string'
  if (!pointer.startsWith('#/$defs/')) return 'references must start with #/$defs/'
  if (object(root.$defs)[pointer.slice(8)] === undefined) return `$defs not found for reference: ${pointer}`
  return schema.type === undefined
    ? undefined
    : 'when using $ref, type should be defined in the referenced schema instead of the parent schema'
}

/** @returns the first rule that a schema breaks, with its place. */
export function unflavored(schema: Json | undefined, path = '', root = object(schema), within = false): string | undefined {
  if (!isObject(schema)) return `At path '${path}': schema must be a dict`
  const { items, additionalProperties: others } = schema
  // github.com/earendil-works/pi/issues/4138: the validator of then wanted a type everywhere.
  const isBare = path !== '' && Object.keys(schema).length > 0 && (schema.type ?? schema.anyOf ?? schema.$ref) === undefined
  const wrong =
    wrongReference(schema, root) ??
    wrongAlternatives(schema) ??
    wrongType(schema, path === '') ??
    wrongMembers(schema, within) ??
    (items !== undefined && !isObject(items) ? 'items must be an object' : undefined) ??
    (isBare || (path.includes('properties.') && Object.keys(schema).length === 0) ? 'type is not defined' : undefined)
  if (wrong !== undefined) return `At path '${path === '' ? 'root' : path}': ${wrong}`
  const at = (name: string): string => (path === '' ? name : `${path}.${name}`)
  const below: [string, Json | undefined, boolean][] = [
    ...Object.entries(object(schema.$defs)).map(([name, each]): [string, Json | undefined, boolean] => [at(`$defs.${name}`), each, true]),
    ...Object.entries(object(schema.properties)).map(([name, each]): [string, Json | undefined, boolean] => [
      at(`properties.${name}`),
      each,
      within,
    ]),
    ...listed(schema.anyOf).map((each, index): [string, Json, boolean] => [at(`anyOf.${index}`), each, within]),
    ...(items === undefined ? [] : [[at('items'), items, within] satisfies [string, Json, boolean]]),
    ...(isObject(others) && Object.keys(others).length > 0 ? [[at('additional'), others, within] satisfies [string, Json, boolean]] : []),
  ]
  for (const [name, each, inDefs] of below) {
    const found = unflavored(each, name, root, inDefs)
    if (found !== undefined) return found
  }
  return undefined
}
