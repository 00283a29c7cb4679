/**
 * Check of a value against a caller's JSON Schema, within a budget: schema and value come from strangers, and a few lines of references
 * can make a check that never ends. Of the draft 2020-12; `format` is a note there (Validation, section 7.2). Decision 17.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { SchemaBudget, Undecided } from './schema-budget.ts'

export interface Fit {
  fits: boolean
  /** The first place that does not fit, as `$.items[2].name`, and the keyword that it breaks. */
  path?: string
  keyword?: string
}

/** @returns undefined where the budget did not suffice, or where what was not understood decides. */
export function schemaFit(schema: JsonObject, value: Json, budget = new SchemaBudget()): Fit | undefined {
  const check = new Check(schema, budget)
  try {
    const path = check.misfit(schema, value, '$')
    if (path !== undefined) return { fits: false, path, keyword: check.broken }
    return check.unsure ? undefined : { fits: true }
  } catch (thrown) {
    if (thrown instanceof Undecided) return undefined
    throw thrown
  }
}

/** Keywords that decide and are not understood here; any other unknown one is a note (Core, section 6.5). */
const NOT_UNDERSTOOD = ['unevaluatedProperties', 'unevaluatedItems', '$dynamicRef', '$recursiveRef', 'dependencies'] as const

/** Steps of what is passed over. */
const PASSING = 0.25

class Check {
  /** The keyword that the last misfit broke. */
  broken = ''
  /** Something was met that is not understood; it counts as fitting. */
  unsure = false
  private readonly root: JsonObject
  private readonly budget: SchemaBudget
  /** By reference. */
  private readonly places = new Map<string, Json | undefined>()

  constructor(root: JsonObject, budget: SchemaBudget) {
    this.root = root
    this.budget = budget
  }

  /** Path of the first misfit. */
  misfit(schema: Json | undefined, value: Json, path: string): string | undefined {
    if (schema === false) return this.breaks('false', path)
    if (!isObject(schema)) {
      this.budget.spend(PASSING)
      return undefined
    }
    this.budget.enter()
    for (const keyword of NOT_UNDERSTOOD) if (schema[keyword] !== undefined) this.unsure = true
    const found = this.own(schema, value, path) ?? this.joined(schema, value, path) ?? this.members(schema, value, path)
    this.budget.leave()
    return found
  }

  private breaks(keyword: string, path: string): string {
    this.broken = keyword
    return path
  }

  /** True if the value fits, apart from what is said of it elsewhere; undefined where what is not understood decides. */
  private verdict(schema: Json | undefined, value: Json): boolean | undefined {
    const before = this.unsure
    this.unsure = false
    const fits = this.misfit(schema, value, '') === undefined
    const verdict = fits && this.unsure ? undefined : fits
    this.unsure = before
    return verdict
  }

  private own(schema: JsonObject, value: Json, path: string): string | undefined {
    const { type, enum: allowed, const: only } = schema
    // What OpenAPI 3.0 has for null: callers use it, and some providers know it.
    if (value === null && schema.nullable === true) return undefined
    const types = Array.isArray(type) ? type : type === undefined ? [] : [type]
    this.budget.spend(types.length * PASSING)
    if (types.length > 0 && !types.some((one) => isType(one, value))) return this.breaks('type', path)
    if (only !== undefined && !this.budget.same(only, value)) return this.breaks('const', path)
    if (Array.isArray(allowed) && !allowed.some((one) => this.budget.same(one, value))) return this.breaks('enum', path)
    const keyword =
      typeof value === 'number' ? brokenNumber(schema, value) : typeof value === 'string' ? this.brokenText(schema, value) : undefined
    return keyword === undefined ? undefined : this.breaks(keyword, path)
  }

  private brokenText({ minLength, maxLength, pattern }: JsonObject, text: string): string | undefined {
    if (typeof minLength === 'number' || typeof maxLength === 'number') {
      this.budget.spend(text.length / 16)
      let length = 0
      for (const _ of text) length++
      if (typeof minLength === 'number' && length < minLength) return 'minLength'
      if (typeof maxLength === 'number' && length > maxLength) return 'maxLength'
    }
    return typeof pattern === 'string' && this.matches(pattern, text) === false ? 'pattern' : undefined
  }

  private matches(pattern: string, text: string): boolean | undefined {
    const matches = this.budget.matches(pattern, text)
    if (matches === undefined) this.unsure = true
    return matches
  }

  private joined(schema: JsonObject, value: Json, path: string): string | undefined {
    const { $ref, allOf, anyOf, oneOf, not } = schema
    if (typeof $ref === 'string') {
      const found = this.misfit(this.pointed($ref), value, path)
      if (found !== undefined) return found
    }
    if (Array.isArray(allOf))
      for (const one of allOf) {
        const found = this.misfit(one, value, path)
        if (found !== undefined) return found
      }
    if (Array.isArray(anyOf)) {
      const verdicts = this.verdicts(anyOf, value, 1)
      if (verdicts.fit === 0 && verdicts.open === 0) return this.breaks('anyOf', path)
      if (verdicts.fit === 0) this.unsure = true
    }
    if (Array.isArray(oneOf)) {
      const { fit, open } = this.verdicts(oneOf, value, 2)
      if (fit > 1 || (fit === 0 && open === 0)) return this.breaks('oneOf', path)
      if (open > 0) this.unsure = true
    }
    if (not !== undefined) {
      const verdict = this.verdict(not, value)
      if (verdict === true) return this.breaks('not', path)
      if (verdict === undefined) this.unsure = true
    }
    return schema.if === undefined ? undefined : this.conditional(schema, value, path)
  }

  /** Number of the schemas that the value fits, up to `enough`, and of those that remain open. */
  private verdicts(schemas: readonly Json[], value: Json, enough: number): { fit: number; open: number } {
    const counts = { fit: 0, open: 0 }
    for (const one of schemas) {
      const verdict = this.verdict(one, value)
      if (verdict === undefined) counts.open++
      else if (verdict && ++counts.fit >= enough) break
    }
    return counts
  }

  private conditional({ if: condition, then, else: otherwise }: JsonObject, value: Json, path: string): string | undefined {
    const verdict = this.verdict(condition, value)
    if (verdict !== undefined) return this.misfit(verdict ? then : otherwise, value, path)
    this.unsure = true
    return undefined
  }

  private members(schema: JsonObject, value: Json, path: string): string | undefined {
    if (Array.isArray(value)) return this.elements(schema, value, path)
    if (!isObject(value)) return undefined
    const { required, minProperties, maxProperties, propertyNames } = schema
    const missing = Array.isArray(required) ? this.missing(required, value) : undefined
    if (missing !== undefined) return this.breaks('required', `${path}.${missing}`)
    const keys = Object.keys(value)
    this.budget.spend(keys.length * PASSING)
    if (typeof minProperties === 'number' && keys.length < minProperties) return this.breaks('minProperties', path)
    if (typeof maxProperties === 'number' && keys.length > maxProperties) return this.breaks('maxProperties', path)
    for (const key of keys) {
      const at = `${path}.${key}`
      const found = this.misfit(propertyNames, key, at) ?? this.member(schema, { key, value: value[key] ?? null }, at)
      if (found !== undefined) return found
    }
    return this.dependents(schema, value, path)
  }

  private missing(names: readonly Json[], value: JsonObject): string | undefined {
    this.budget.spend(names.length * PASSING)
    for (const name of names) if (typeof name === 'string' && !Object.hasOwn(value, name)) return name
    return undefined
  }

  /** The schemas of a member are those under its name, those of the patterns that it matches, or else that of additional ones. */
  private member(schema: JsonObject, { key, value }: { key: string; value: Json }, path: string): string | undefined {
    const { properties, patternProperties, additionalProperties } = schema
    let isKnown = isObject(properties) && Object.hasOwn(properties, key)
    if (isKnown && isObject(properties)) {
      const found = this.misfit(properties[key], value, path)
      if (found !== undefined) return found
    }
    for (const [pattern, one] of this.budget.entries(patternProperties)) {
      const matches = this.matches(pattern, key)
      if (matches === false) continue
      isKnown = true
      const found = matches ? this.misfit(one, value, path) : undefined
      if (found !== undefined) return found
    }
    if (isKnown) return undefined
    return additionalProperties === false ? this.breaks('additionalProperties', path) : this.misfit(additionalProperties, value, path)
  }

  private dependents({ dependentRequired, dependentSchemas }: JsonObject, value: JsonObject, path: string): string | undefined {
    for (const [key, names] of this.budget.entries(dependentRequired)) {
      this.budget.spend(PASSING)
      const missing = Object.hasOwn(value, key) && Array.isArray(names) ? this.missing(names, value) : undefined
      if (missing !== undefined) return this.breaks('dependentRequired', `${path}.${missing}`)
    }
    for (const [key, schema] of this.budget.entries(dependentSchemas)) {
      this.budget.spend(PASSING)
      const found = Object.hasOwn(value, key) ? this.misfit(schema, value, path) : undefined
      if (found !== undefined) return found
    }
    return undefined
  }

  private elements(schema: JsonObject, value: Json[], path: string): string | undefined {
    const { items, prefixItems, minItems, maxItems, uniqueItems } = schema
    if (typeof minItems === 'number' && value.length < minItems) return this.breaks('minItems', path)
    if (typeof maxItems === 'number' && value.length > maxItems) return this.breaks('maxItems', path)
    // Before the draft 2020-12 a list under `items` had the name `prefixItems` has now.
    const first = Array.isArray(items) ? items : Array.isArray(prefixItems) ? prefixItems : []
    const rest = Array.isArray(items) ? schema.additionalItems : items
    for (const [i, element] of value.entries()) {
      const found = this.misfit(i < first.length ? first[i] : rest, element, `${path}[${i}]`)
      if (found !== undefined) return found
    }
    if (uniqueItems === true && !this.budget.allDiffer(value)) return this.breaks('uniqueItems', path)
    return schema.contains === undefined ? undefined : this.contained(schema, value, path)
  }

  private contained({ contains, minContains, maxContains }: JsonObject, value: Json[], path: string): string | undefined {
    let fit = 0
    let open = 0
    for (const element of value) {
      const verdict = this.verdict(contains, element)
      if (verdict === true) fit++
      else if (verdict === undefined) open++
    }
    const least = typeof minContains === 'number' ? minContains : 1
    if (fit + open < least) return this.breaks('contains', path)
    if (typeof maxContains === 'number' && fit > maxContains) return this.breaks('maxContains', path)
    if (open > 0) this.unsure = true
    return undefined
  }

  /** Target of a pointer within the schema; any other reference is not understood. */
  private pointed(reference: string): Json | undefined {
    if (!this.places.has(reference)) this.places.set(reference, this.find(reference))
    const place = this.places.get(reference)
    if (place === undefined) this.unsure = true
    return place
  }

  private find(reference: string): Json | undefined {
    let at: Json | undefined = reference === '#' || reference.startsWith('#/') ? this.root : undefined
    for (const step of reference.split('/').slice(1)) {
      const key = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~')
      if (Array.isArray(at)) at = at[Number(key)]
      else at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
    }
    return at
  }
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}

function isType(type: Json, value: Json): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isObject(value)
    case 'integer':
      return Number.isInteger(value)
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type
    default:
      return true
  }
}

function brokenNumber(schema: JsonObject, value: number): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  if (typeof minimum === 'number' && value < minimum) return 'minimum'
  if (typeof maximum === 'number' && value > maximum) return 'maximum'
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) return 'exclusiveMinimum'
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) return 'exclusiveMaximum'
  if (typeof multipleOf !== 'number' || multipleOf <= 0) return undefined
  const times = value / multipleOf
  // 1234567.89 is a multiple of 0.01, though not in binary fractions.
  const isOff = Math.abs(times - Math.round(times)) > Math.max(1e-9, Math.abs(times) * 1e-15)
  return isOff ? 'multipleOf' : undefined
}
