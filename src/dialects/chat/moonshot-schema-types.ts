/** The type of each node of an MFJS schema: one, or several without any other keyword (docs/walle.md, "If `type` is an array"). */
import type { Json, JsonObject } from '../../core/json.ts'
import { isNote } from './moonshot-schema-merge.ts'

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'] as const
type Type = (typeof TYPES)[number]
const NAMES: ReadonlySet<unknown> = new Set(TYPES)

const OBJECT = ['properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames', 'minProperties', 'maxProperties']
const DEPENDENT = ['dependentRequired', 'dependentSchemas', 'dependencies']
const LIST = ['items', 'prefixItems', 'additionalItems', 'contains', 'uniqueItems', 'minItems', 'maxItems', 'minContains', 'maxContains']
const TEXT = ['minLength', 'maxLength', 'pattern', 'format', 'contentEncoding', 'contentMediaType', 'contentSchema']
const NUMBER = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']

/** The types whose values a keyword speaks of. */
const SPEAK_OF: ReadonlyMap<string, readonly Type[]> = new Map<string, readonly Type[]>([
  ...[...OBJECT, ...DEPENDENT].map((name): [string, readonly Type[]] => [name, ['object']]),
  ...[...LIST, 'unevaluatedItems'].map((name): [string, readonly Type[]] => [name, ['array']]),
  ...TEXT.map((name): [string, readonly Type[]] => [name, ['string']]),
  ...NUMBER.map((name): [string, readonly Type[]] => [name, ['number', 'integer']]),
])

export const isType = (value: Json | undefined): value is Type => NAMES.has(value)

function valueType(value: Json, declared: readonly Type[]): Type | undefined {
  if (value === null) return 'null'
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value !== 'number') return undefined
  return Number.isInteger(value) && (declared.includes('integer') || !declared.includes('number')) ? 'integer' : 'number'
}

/** The types that a node without one speaks of: those of its keywords, or all. */
function implied(schema: JsonObject): readonly Type[] {
  for (const keyword of Object.keys(schema)) {
    const types = SPEAK_OF.get(keyword)
    if (types) return types.slice(0, 1)
  }
  return TYPES
}

function declaredTypes({ type }: JsonObject, lose: (keyword: string) => void): Type[] {
  const named = Array.isArray(type) ? type : type === undefined ? [] : [type]
  const types = named.filter(isType)
  if (types.length < named.length) lose('type')
  return [...new Set(types)]
}

/** @returns the node with a type of each of its values; the values of one type, or of one and null, stand together. */
function enumerated(schema: JsonObject, values: readonly Json[], declared: readonly Type[], lose: (keyword: string) => void): JsonObject {
  const { enum: _values, type: _type, ...rest } = schema
  const byType = new Map<Type, Json[]>()
  for (const value of values) {
    const type = valueType(value, declared)
    if (type === undefined) lose('enum')
    else if (declared.length === 0 || declared.includes(type)) {
      const known = byType.get(type)
      if (known) known.push(value)
      else byType.set(type, [value])
    }
  }
  const types = [...byType.keys()]
  const [first, second] = types
  // Lists and objects cannot be enumerated.
  if (first === undefined) return typed({ ...rest, ...(declared.length > 0 ? { type: [...declared] } : {}) }, lose)
  if (second === undefined) return { ...rest, type: first, enum: byType.get(first) }
  if (types.length === 2 && types.includes('null')) {
    const notes = Object.fromEntries(Object.entries(rest).filter(([keyword]) => isNote(keyword)))
    return { ...notes, type: types, enum: types.flatMap((type) => byType.get(type) ?? []) }
  }
  const { default: _default, ...outer } = rest
  return { ...outer, anyOf: types.map((type) => ({ type, enum: byType.get(type) })) }
}

/** One alternative for each type, with the keywords that speak of it. */
function byType(schema: JsonObject, types: readonly Type[]): JsonObject {
  const outer: JsonObject = {}
  const branches = new Map(types.map((type): [Type, JsonObject] => [type, { type }]))
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'type' || keyword === 'default') continue
    const spoken = SPEAK_OF.get(keyword)
    if (spoken === undefined) outer[keyword] = value
    for (const type of spoken ?? []) {
      const branch = branches.get(type)
      if (branch) branch[keyword] = value
    }
  }
  return { ...outer, anyOf: [...branches.values()] }
}

/** @param schema without alternatives, its sub-schemas fitted. */
export function typed(schema: JsonObject, lose: (keyword: string) => void): JsonObject {
  const declared = declaredTypes(schema, lose)
  if (Array.isArray(schema.enum)) return enumerated(schema, schema.enum, declared, lose)
  const types = declared.length > 0 ? declared : implied(schema)
  const [only] = types
  if (types.length === 1) return { ...schema, type: only }
  const isPlain = Object.keys(schema).every((keyword) => keyword === 'type' || isNote(keyword))
  return isPlain ? { ...schema, type: [...types] } : byType(schema, types)
}
