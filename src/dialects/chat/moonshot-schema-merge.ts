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
export function jsonLength(value: Json | undefined, most: number): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 4
  let length = 2
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && length <= most; index++) length += 1 + jsonLength(value[index], most - length)
    return length
  }
  for (const name in value) {
    length += name.length + 4 + jsonLength(value[name], most - length)
    if (length > most) break
  }
  return length
}

/** Keywords whose sub-schemas are fitted, and count where that happens. */
const HOLDERS: ReadonlySet<string> = new Set(['properties', 'anyOf', 'oneOf', 'allOf', 'items', 'additionalProperties'])

/** Definitions are looked up, and not copied. */
const ASIDE: ReadonlySet<string> = new Set(['$defs', 'definitions'])

/** Least cost of a schema, a keyword and a member. */
const NODE = 32
const ENTRY = 8

/** Keywords beyond these, which no schema in use has, cost more: large objects are copied slowly. */
const USUAL_KEYWORDS = 40
const UNUSUAL = 100

export class TooDear extends Error {}

/** Greatest cost of fitting one schema: characters that are read, compared or written, each time that it happens. */
export class Budget {
  spent = 0
  readonly most: number

  constructor(most: number) {
    this.most = most
  }

  /** @throws {TooDear} where nothing is left. */
  spend(cost: number): void {
    this.spent += cost
    if (this.spent > this.most) throw new TooDear()
  }

  /** Counts a schema without those that its keywords hold. */
  read(schema: JsonObject): void {
    let cost = NODE
    let keywords = 0
    for (const keyword in schema) {
      const { [keyword]: value } = schema
      cost += (++keywords > USUAL_KEYWORDS ? UNUSUAL : ENTRY) + keyword.length
      if (ASIDE.has(keyword)) continue
      if (!HOLDERS.has(keyword) || (keyword === 'items' && Array.isArray(value))) cost += jsonLength(value, this.most)
      else if (Array.isArray(value)) cost += ENTRY * value.length
      else if (keyword === 'properties' && isObject(value)) for (const name in value) cost += ENTRY + name.length
    }
    this.spend(cost)
  }
}

/** State of joining two schemas. */
export interface Joining {
  readonly budget: Budget
  /** Called with each keyword that cannot be combined. */
  readonly lose: (keyword: string) => void
}

/** Schemas beyond this length are the same only where they are one object. */
const COMPARED = 500

/** Key that equal values share: their text, or the value itself where that is long. */
export function comparedWord(value: Json, budget: Budget): Json {
  const length = jsonLength(value, COMPARED)
  budget.spend(length)
  return length < COMPARED ? JSON.stringify(value) : value
}

const isSame = (first: Json, second: Json, budget: Budget): boolean =>
  first === second || comparedWord(first, budget) === comparedWord(second, budget)

const asArray = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : value === undefined ? [] : [value])

/** The types that both name; an integer is a number. */
function sharedTypes(first: Json, second: Json): Json[] {
  const other = new Set(asArray(second))
  const shared = new Set<Json>(asArray(first).filter((type) => other.has(type)))
  if (other.has('integer') && asArray(first).includes('number')) shared.add('integer')
  if (other.has('number') && asArray(first).includes('integer')) shared.add('integer')
  return [...shared]
}

function mergeKeyword(keyword: string, first: Json, second: Json, joining: Joining): Json {
  if (keyword === 'required') return [...new Set([...asArray(first), ...asArray(second)])]
  if (keyword === 'type') {
    const shared = sharedTypes(first, second)
    if (shared.length > 0) return shared.length === 1 ? (shared[0] ?? second) : shared
  }
  if (keyword === 'enum') {
    const other = new Set(asArray(second))
    const shared = asArray(first).filter((value) => other.has(value))
    if (shared.length > 0) return shared
  }
  if (keyword === 'properties' && isObject(first) && isObject(second)) return joinedProperties(first, second, joining)
  if (keyword === 'additionalProperties' && (first === false || second === false)) return false
  if (typeof first === 'number' && typeof second === 'number' && /^(?:min|exclusiveMin)/.test(keyword)) return Math.max(first, second)
  if (typeof first === 'number' && typeof second === 'number' && /^(?:max|exclusiveMax)/.test(keyword)) return Math.min(first, second)
  if (!isNote(keyword) && keyword !== 'default' && !isSame(first, second, joining.budget)) joining.lose(keyword)
  return second
}

function joinedProperties(first: JsonObject, second: JsonObject, joining: Joining): JsonObject {
  const joined: JsonObject = { ...first }
  for (const [name, schema] of Object.entries(second)) {
    const { [name]: known } = joined
    const isBoth = isObject(known) && isObject(schema) && known.$ref === undefined && schema.$ref === undefined
    joined[name] = isBoth ? mergeSchemas(known, schema, joining) : (schema ?? null)
  }
  return joined
}

/** @returns a new schema that is valid where both are; where no schema expresses that, the second one's keyword, and the loss is recorded. */
export function mergeSchemas(first: JsonObject, second: JsonObject, joining: Joining): JsonObject {
  joining.budget.read(first)
  joining.budget.read(second)
  const joined: JsonObject = { ...first }
  for (const [keyword, value] of Object.entries(second)) {
    if (value === undefined) continue
    const { [keyword]: known } = joined
    joined[keyword] = known === undefined ? value : mergeKeyword(keyword, known, value, joining)
  }
  return joined
}
