/** Two schemas that both hold, as one: for what stands beside `anyOf`, and for the parts of `allOf`. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

/** Keywords that say nothing about which values are valid, and that a provider need not be sent. */
export const UNSAID: ReadonlySet<string> = new Set([
  '$schema',
  '$comment',
  '$id',
  'examples',
  'example',
  'deprecated',
  'readOnly',
  'writeOnly',
])

/** A keyword that may stand beside `anyOf` and `$ref`. */
export const isNote = (keyword: string): boolean => keyword === 'description' || keyword === 'title'

/** Characters that this is written with, nearly; no more are counted than `most`, since parts that are shared count each time. */
export function lengthOf(value: Json | undefined, most: number): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 4
  let length = 2
  for (const name in value) {
    length += name.length + 4 + lengthOf(Array.isArray(value) ? value[Number(name)] : value[name], most - length)
    if (length > most) break
  }
  return length
}

/** Schemas beyond this length are the same only where they are one object. */
const COMPARED = 500

export const isSame = (first: Json | undefined, second: Json | undefined): boolean =>
  first === second ||
  (lengthOf(first, COMPARED) < COMPARED && lengthOf(second, COMPARED) < COMPARED && JSON.stringify(first) === JSON.stringify(second))

const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : value === undefined ? [] : [value])

/** The types that both name; an integer is a number. */
function sharedTypes(first: Json, second: Json): Json[] {
  const other = new Set(listOf(second))
  const shared = new Set<Json>(listOf(first).filter((type) => other.has(type)))
  if (other.has('integer') && listOf(first).includes('number')) shared.add('integer')
  if (other.has('number') && listOf(first).includes('integer')) shared.add('integer')
  return [...shared]
}

function bothOf(keyword: string, first: Json, second: Json, lose: (keyword: string) => void): Json {
  if (keyword === 'required') return [...new Set([...listOf(first), ...listOf(second)])]
  if (keyword === 'type') {
    const shared = sharedTypes(first, second)
    if (shared.length > 0) return shared.length === 1 ? (shared[0] ?? second) : shared
  }
  if (keyword === 'enum') {
    const other = new Set(listOf(second))
    const shared = listOf(first).filter((value) => other.has(value))
    if (shared.length > 0) return shared
  }
  if (keyword === 'properties' && isObject(first) && isObject(second)) return joinedProperties(first, second, lose)
  if (keyword === 'additionalProperties' && (first === false || second === false)) return false
  if (typeof first === 'number' && typeof second === 'number' && /^(?:min|exclusiveMin)/.test(keyword)) return Math.max(first, second)
  if (typeof first === 'number' && typeof second === 'number' && /^(?:max|exclusiveMax)/.test(keyword)) return Math.min(first, second)
  if (!isNote(keyword) && keyword !== 'default' && !isSame(first, second)) lose(keyword)
  return second
}

function joinedProperties(first: JsonObject, second: JsonObject, lose: (keyword: string) => void): JsonObject {
  const joined: JsonObject = { ...first }
  for (const [name, schema] of Object.entries(second)) {
    const { [name]: known } = joined
    const isBoth = isObject(known) && isObject(schema) && known.$ref === undefined && schema.$ref === undefined
    joined[name] = isBoth ? conjoined(known, schema, lose) : (schema ?? null)
  }
  return joined
}

/** @returns a new schema that is valid where both are; where that cannot be said, the second one's keyword, and the loss is recorded. */
export function conjoined(first: JsonObject, second: JsonObject, lose: (keyword: string) => void): JsonObject {
  const joined: JsonObject = { ...first }
  for (const [keyword, value] of Object.entries(second)) {
    if (value === undefined) continue
    const { [keyword]: known } = joined
    joined[keyword] = known === undefined ? value : bothOf(keyword, known, value, lose)
  }
  return joined
}
