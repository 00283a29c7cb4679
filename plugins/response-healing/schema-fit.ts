/**
 * Whether a value fits the caller's JSON Schema, within a budget: schema and value come from strangers, and a few lines
 * of references can make a check that never ends. Patterns and formats are not looked at.
 */
import { isDeepStrictEqual } from 'node:util'
import { isObject, type Json, type JsonObject } from '../../src/plugin-api/index.ts'

/** Steps of one check; the largest schemas that providers take need a hundredth. */
const BUDGET = 100_000
const DEEPEST = 200

/** `path` of the first place that does not fit, as `$.items[2].name`; undefined where all fits. */
export interface Fit {
  fits: boolean
  path?: string
}

class OutOfBudget extends Error {}

/** @returns undefined where the budget did not suffice for a result. */
export function schemaFit(schema: JsonObject, value: Json): Fit | undefined {
  try {
    const path = new Check(schema).misfit(schema, value, '$')
    return path === undefined ? { fits: true } : { fits: false, path }
  } catch (thrown) {
    if (thrown instanceof OutOfBudget) return undefined
    throw thrown
  }
}

class Check {
  private readonly root: JsonObject
  private left = BUDGET
  private depth = 0

  constructor(root: JsonObject) {
    this.root = root
  }

  /** Path of the first misfit. */
  misfit(schema: Json | undefined, value: Json, path: string): string | undefined {
    if (schema === false) return path
    if (!isObject(schema)) return undefined
    if (--this.left < 0 || this.depth > DEEPEST) throw new OutOfBudget()
    this.depth++
    const found = this.own(schema, value, path) ?? this.joined(schema, value, path) ?? this.members(schema, value, path)
    this.depth--
    return found
  }

  private fits(schema: Json, value: Json): boolean {
    return this.misfit(schema, value, '') === undefined
  }

  private own(schema: JsonObject, value: Json, path: string): string | undefined {
    const { type, enum: allowed } = schema
    const types = Array.isArray(type) ? type : type === undefined ? [] : [type]
    if (types.length > 0 && !types.some((one) => isOf(one, value))) return path
    if ('const' in schema && !isDeepStrictEqual(schema.const, value)) return path
    if (Array.isArray(allowed)) {
      this.left -= allowed.length
      if (!allowed.some((one) => isDeepStrictEqual(one, value))) return path
    }
    if (typeof value === 'number') return numberFits(schema, value) ? undefined : path
    if (typeof value === 'string') return within(schema.minLength, [...value].length, schema.maxLength) ? undefined : path
    return undefined
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
    if (Array.isArray(anyOf) && !anyOf.some((one) => this.fits(one, value))) return path
    if (Array.isArray(oneOf) && oneOf.filter((one) => this.fits(one, value)).length !== 1) return path
    return not !== undefined && this.fits(not, value) ? path : undefined
  }

  private members(schema: JsonObject, value: Json, path: string): string | undefined {
    if (Array.isArray(value)) return this.elements(schema, value, path)
    if (!isObject(value)) return undefined
    const { required, additionalProperties, patternProperties } = schema
    const properties = isObject(schema.properties) ? schema.properties : {}
    if (Array.isArray(required))
      for (const key of required) if (typeof key === 'string' && !Object.hasOwn(value, key)) return `${path}.${key}`
    for (const [key, member] of Object.entries(value)) {
      const known = Object.hasOwn(properties, key)
      // Which names a pattern stands for is not looked at, so with patterns any name may be meant.
      const rule = known ? properties[key] : patternProperties === undefined ? additionalProperties : undefined
      const found = this.misfit(rule, member ?? null, `${path}.${key}`)
      if (found !== undefined) return found
    }
    return undefined
  }

  private elements({ prefixItems, items, minItems, maxItems }: JsonObject, value: Json[], path: string): string | undefined {
    if (!within(minItems, value.length, maxItems)) return path
    for (const [i, element] of value.entries()) {
      const found = this.misfit(Array.isArray(prefixItems) && i < prefixItems.length ? prefixItems[i] : items, element, `${path}[${i}]`)
      if (found !== undefined) return found
    }
    return undefined
  }

  /** What a reference within the schema stands for; any other reference fits everything. */
  private pointed(reference: string): Json | undefined {
    if (!reference.startsWith('#')) return undefined
    let at: Json | undefined = this.root
    for (const step of reference.slice(1).split('/').slice(1)) {
      const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
      if (Array.isArray(at)) at = at[Number(key)]
      else at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
    }
    return at
  }
}

function isOf(type: Json, value: Json): boolean {
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
      return typeof value === 'string'
    case 'number':
      return typeof value === 'number'
    case 'boolean':
      return typeof value === 'boolean'
    default:
      return true
  }
}

function within(least: Json | undefined, found: number, most: Json | undefined): boolean {
  return !(typeof least === 'number' && found < least) && !(typeof most === 'number' && found > most)
}

function numberFits({ minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }: JsonObject, value: number): boolean {
  if (!within(minimum, value, maximum)) return false
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) return false
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) return false
  if (typeof multipleOf !== 'number' || multipleOf <= 0) return true
  const times = value / multipleOf
  return Math.abs(times - Math.round(times)) < 1e-9
}
