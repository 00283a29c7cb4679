/** Compiled checks of bodies and settings; a failure names the deepest field that is wrong and what was expected there. */
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import { badField, type Fault } from './faults.ts'
import { isObject, type JsonObject } from './json.ts'

/** The keywords of JSON Schema that our own schemas use. */
interface Keywords {
  type?: string
  properties?: Record<string, TSchema>
  patternProperties?: Record<string, TSchema>
  additionalProperties?: boolean | TSchema
  required?: string[]
  items?: TSchema
  anyOf?: TSchema[]
  const?: unknown
  enum?: unknown[]
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  maxProperties?: number
  pattern?: string
  description?: string
}

/** Checks of parts, compiled when a failure first needs them: checking a long array must stay quick. */
const parts = new WeakMap<TSchema, ReturnType<typeof Compile>>()

function fits(schema: TSchema, value: unknown): boolean {
  let compiled = parts.get(schema)
  if (compiled === undefined) {
    compiled = Compile(schema)
    parts.set(schema, compiled)
  }
  return compiled.Check(value)
}

const words = (schema: TSchema): Keywords => schema as Keywords

/** Characters of a member's name that an error shows: callers choose names, too. */
const MAX_NAME_LENGTH = 100

/** `messages` + `0` → `messages[0]`; `provider` + `sort` → `provider.sort`. */
function join(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`
  const name = key.length > MAX_NAME_LENGTH ? `${key.slice(0, MAX_NAME_LENGTH)}…` : key
  return path === '' ? name : `${path}.${name}`
}

function jsonType(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Everything that a schema allows, in words. */
function expectation(schema: TSchema): string {
  const options: string[] = []
  const kinds: string[] = []
  const visit = (each: TSchema): void => {
    const { anyOf, const: only, enum: list, type } = words(each)
    if (anyOf) anyOf.forEach(visit)
    else if (only !== undefined) options.push(show(only))
    else if (list) options.push(...list.map(show))
    else kinds.push(type ?? 'another value')
  }
  visit(schema)
  const literal = options.length === 1 ? options[0] : `one of: ${options.join(', ')}`
  const kind = [...new Set(kinds)].map((each) => (/^[aio]/.test(each) ? `an ${each}` : `a ${each}`).replace('a null', 'null')).join(' or ')
  if (options.length === 0) return `expected ${kind}`
  return kind === '' ? `expected ${literal}` : `expected ${literal}; or ${kind}`
}

/** The value of a field that distinguishes the members of a union (`type`, `id`). */
function sameTag(schema: TSchema, value: JsonObject): boolean {
  for (const [key, field] of Object.entries(words(schema).properties ?? {})) {
    const { const: only, enum: list } = words(field)
    if ((only !== undefined && only === value[key]) || list?.includes(value[key])) return true
  }
  return false
}

function explainUnion(schema: TSchema, members: TSchema[], value: unknown, path: string): Fault {
  const kind = jsonType(value)
  const fitting = members.filter((member) => {
    const { type, anyOf } = words(member)
    return anyOf !== undefined || type === kind || (type === 'integer' && Number.isInteger(value))
  })
  const tagged = isObject(value) ? fitting.filter((member) => sameTag(member, value)) : []
  const [only] = tagged.length > 0 ? tagged : fitting.length === 1 ? fitting : []
  if (only && words(only).const === undefined) return explain(only, value, path)
  if (isObject(value) && fitting.length > 1) return explainTag(fitting, path)
  return badField(path, expectation(schema))
}

/** No member has this tag: names the tag's field and its values. */
function explainTag(members: TSchema[], path: string): Fault {
  for (const key of ['type', 'id', 'role']) {
    const tags = members.map((member) => words(member).properties?.[key]).filter((field) => field !== undefined)
    if (tags.length === members.length) return badField(join(path, key), expectation({ anyOf: tags } as TSchema))
  }
  return badField(path, 'has an unknown form')
}

function explainObject(schema: TSchema, value: JsonObject, path: string): Fault {
  const { properties = {}, required = [], additionalProperties, patternProperties, maxProperties } = words(schema)
  if (maxProperties !== undefined && Object.keys(value).length > maxProperties)
    return badField(path, `must have at most ${maxProperties} members`)
  for (const key of required) if (value[key] === undefined) return badField(join(path, key), 'is required')
  const rest = Object.values(patternProperties ?? {})[0] ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)
  for (const [key, field] of Object.entries(value)) {
    const known = Object.hasOwn(properties, key) ? properties[key] : rest
    if (known === undefined) {
      if (additionalProperties === false) return badField(join(path, key), 'unknown field')
    } else if (!(field === undefined && !required.includes(key)) && !fits(known, field)) return explain(known, field, join(path, key))
  }
  return badField(path, 'has an unknown form')
}

function explainArray(schema: TSchema, value: unknown[], path: string): Fault {
  const { items, minItems, maxItems } = words(schema)
  if (minItems !== undefined && value.length < minItems)
    return badField(path, `must have at least ${minItems} item${minItems > 1 ? 's' : ''}`)
  if (maxItems !== undefined && value.length > maxItems)
    return badField(path, `must have at most ${maxItems} item${maxItems > 1 ? 's' : ''}`)
  const at = items === undefined ? -1 : value.findIndex((each) => !fits(items, each))
  return items === undefined || at === -1 ? badField(path, 'has an unknown form') : explain(items, value[at], join(path, at))
}

/** From here on a maximum is no rule of the field. */
const LARGE = 2 ** 31 - 1

function explainScalar(schema: TSchema, value: unknown, path: string): Fault {
  const { type, minLength, maxLength, minimum, maximum, exclusiveMinimum, pattern, description } = words(schema)
  if (jsonType(value) !== type && !(type === 'integer' && Number.isInteger(value))) return badField(path, expectation(schema))
  if (typeof value === 'string') {
    if (maxLength !== undefined && value.length > maxLength) return badField(path, `must be at most ${maxLength} characters`)
    if (minLength !== undefined && value.length < minLength)
      return badField(path, minLength === 1 ? 'must not be empty' : `must be at least ${minLength} characters`)
    if (pattern !== undefined) return badField(path, description ? `expected ${description}` : `must match ${pattern}`)
  }
  if (exclusiveMinimum !== undefined) return badField(path, `must be more than ${exclusiveMinimum}`)
  // A bound that is only there for safety does not show what was expected.
  if (minimum !== undefined && maximum !== undefined && maximum >= LARGE && minimum > -LARGE && (value as number) < minimum)
    return badField(path, `must be at least ${minimum}`)
  if (minimum !== undefined && maximum !== undefined) return badField(path, `must be from ${minimum} to ${maximum}`)
  if (minimum !== undefined) return badField(path, `must be at least ${minimum}`)
  if (maximum !== undefined) return badField(path, `must be at most ${maximum}`)
  return badField(path, expectation(schema))
}

/** Walks down a value that is known to fail; only ever runs on the way to a 400. */
function explain(schema: TSchema, value: unknown, path: string): Fault {
  const { type, anyOf, const: only, enum: list } = words(schema)
  if (anyOf) return explainUnion(schema, anyOf, value, path)
  if (only !== undefined || list) return badField(path, expectation(schema))
  if (type === 'object' && isObject(value)) return explainObject(schema, value, path)
  if (type === 'array' && Array.isArray(value)) return explainArray(schema, value, path)
  return explainScalar(schema, value, path)
}

export interface Checker {
  /** Takes the value and, if it is a part of something, its path (`provider`). */
  (value: unknown, at?: string): void
  /** The schema, for the description of the operation. */
  readonly schema: TSchema
  /** True if the value fits the schema. The first call compiles it, since many formats are never used. */
  readonly fits: (value: unknown) => boolean
}

/**
 * Compiles a schema once. The check itself allocates nothing where the value is good.
 * @throws Fault `bad_request` that names the first wrong field, as deep as it can be found.
 */
export function checker<T extends TSchema>(schema: T): Checker {
  const check = (value: unknown, at = ''): void => {
    if (!whole.fits(value)) throw explain(schema, value, at)
  }
  // At first use: a format that no caller uses takes no memory for its compiled form.
  const fits = (value: unknown): boolean => {
    const compiled = Compile(schema)
    whole.fits = compiled.Check.bind(compiled)
    return whole.fits(value)
  }
  const whole = Object.assign(check, { schema, fits })
  return whole
}
