/**
 * A deterministic instance of a JSON schema. Covers type, const, enum, properties, required, items, prefixItems,
 * contains, sizes, bounds, multipleOf, pattern, the usual formats, allOf, anyOf, oneOf and local $ref.
 * Not read: not, if/then/else, dependent keywords, propertyNames. Sizes are bounded, whatever the schema requires. Never throws.
 */
import { entryAt } from '../../core/entry-at.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { patternText } from './pattern-text.ts'

/** No instance: the schema is `false`, or refers to itself without end. */
class Impossible extends Error {}

/** The schema takes too much work for an example; no further alternative is tried. */
class Exhausted extends Error {}

const MAX_DEPTH = 24
/** Values written in all, also in attempts that failed; beyond the lower bound only required members are written. */
const MAX_VALUES = 20_000
const OPTIONAL_VALUES = 2_000
/** Below this depth only required members are written, so that recursive schemas end. */
const OPTIONAL_DEPTH = 6
const MAX_ITEMS = 256

/** @returns null where no instance is found. */
export function schemaInstance(schema: Json): Json {
  try {
    return new InstanceWriter(schema).write(schema, 0, 0)
  } catch (problem) {
    if (problem instanceof Impossible || problem instanceof Exhausted) return null
    throw problem
  }
}

class InstanceWriter {
  private readonly root: Json
  private written = 0

  constructor(root: Json) {
    this.root = root
  }

  /** @param nth makes array members differ, for `uniqueItems`. */
  write(schema: Json | undefined, depth: number, nth: number): Json {
    if (++this.written > MAX_VALUES) throw new Exhausted()
    if (depth > MAX_DEPTH || schema === false) throw new Impossible()
    if (!isObject(schema)) return null
    if (schema.const !== undefined) return schema.const
    if (Array.isArray(schema.enum) && schema.enum.length > 0) return entryAt(schema.enum, nth % schema.enum.length)
    if (typeof schema.$ref === 'string') return this.write(merge(without(schema, '$ref'), this.resolve(schema.$ref)), depth + 1, nth)
    if (Array.isArray(schema.allOf))
      return this.write(
        schema.allOf.reduce<JsonObject>((all, one) => merge(all, this.open(one)), without(schema, 'allOf')),
        depth + 1,
        nth,
      )
    for (const key of ['anyOf', 'oneOf'] as const) {
      const options = schema[key]
      if (Array.isArray(options)) return this.firstFitting(without(schema, key), options, depth, nth)
    }
    return this.typed(schema, depth, nth)
  }

  private resolve(ref: string): Json {
    if (!ref.startsWith('#')) throw new Impossible()
    let at: Json | undefined = this.root
    for (const raw of ref.slice(1).split('/').slice(1)) {
      const step = decodePointer(raw)
      at = Array.isArray(at) ? at[Number(step)] : isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined
    }
    if (at === undefined) throw new Impossible()
    return at
  }

  /** Follows references, so that the parts of an allOf can be merged. */
  private open(schema: Json): Json {
    let at = schema
    for (let hops = 0; isObject(at) && typeof at.$ref === 'string'; hops++) {
      if (hops > MAX_DEPTH) throw new Impossible()
      at = merge(without(at, '$ref'), this.resolve(at.$ref))
    }
    return at
  }

  private firstFitting(base: JsonObject, options: Json[], depth: number, nth: number): Json {
    for (const [i] of options.entries()) {
      try {
        return this.write(merge(base, this.open(entryAt(options, (i + nth) % options.length))), depth + 1, nth)
      } catch (problem) {
        if (!(problem instanceof Impossible)) throw problem
      }
    }
    throw new Impossible()
  }

  private typed(schema: JsonObject, depth: number, nth: number): Json {
    const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? guessType(schema)]
    for (const type of [...types.filter((name) => name !== 'null'), ...types.filter((name) => name === 'null')]) {
      try {
        return this.ofType(String(type), schema, depth, nth)
      } catch (problem) {
        if (!(problem instanceof Impossible)) throw problem
      }
    }
    throw new Impossible()
  }

  private ofType(type: string, schema: JsonObject, depth: number, nth: number): Json {
    switch (type) {
      case 'object':
        return this.object(schema, depth, nth)
      case 'array':
        return this.array(schema, depth)
      case 'string':
        return stringFor(schema, nth)
      case 'integer':
      case 'number':
        return numberFor(schema, type === 'integer', nth) ?? impossible()
      case 'boolean':
        return nth % 2 === 0
      default:
        return null
    }
  }

  private brief(depth: number): boolean {
    return depth >= OPTIONAL_DEPTH || this.written > OPTIONAL_VALUES
  }

  private object(schema: JsonObject, depth: number, nth: number): JsonObject {
    const brief = this.brief(depth)
    const properties = isObject(schema.properties) ? schema.properties : {}
    const required = new Set(Array.isArray(schema.required) ? schema.required.map(String) : [])
    const entries: [string, Json][] = []
    for (const [name, child] of Object.entries(properties)) {
      const needed = required.has(name)
      if (!needed && brief) continue
      try {
        entries.push([name, this.write(child, depth + 1, nth)])
      } catch (problem) {
        if (needed || !(problem instanceof Impossible)) throw problem
      }
    }
    const more = schema.additionalProperties
    for (const name of required) if (!Object.hasOwn(properties, name)) entries.push([name, this.write(more ?? true, depth + 1, nth)])
    const least = Math.min(MAX_ITEMS, whole(schema.minProperties) ?? 0)
    for (let i = 1; entries.length < least; i++) entries.push([`key${i}`, this.write(more ?? true, depth + 1, i)])
    return Object.fromEntries(trimmed(entries, whole(schema.maxProperties), required))
  }

  private array(schema: JsonObject, depth: number): Json[] {
    const least = whole(schema.minItems) ?? 0
    const most = whole(schema.maxItems) ?? MAX_ITEMS
    const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : Array.isArray(schema.items) ? schema.items : []
    const rest = first === schema.items ? schema.additionalItems : schema.items
    const values = first.slice(0, most).map((child) => this.write(child, depth + 1, 0))
    const containing = schema.contains === undefined ? 0 : (whole(schema.minContains) ?? 1)
    for (let i = 0; i < containing; i++) values.push(this.write(merge(isObject(rest) ? rest : {}, schema.contains ?? true), depth + 1, i))
    const target = Math.min(MAX_ITEMS, most, Math.max(least, values.length, rest === false || this.brief(depth) ? 0 : 1))
    try {
      for (let i = 0; values.length < target; i++) values.push(this.write(rest ?? true, depth + 1, i))
    } catch (problem) {
      if (values.length < least || !(problem instanceof Impossible)) throw problem
    }
    return values
  }
}

function impossible(): never {
  throw new Impossible()
}

function whole(value: Json | undefined): number | undefined {
  return typeof value === 'number' && value >= 0 ? Math.floor(value) : undefined
}

function without(schema: JsonObject, key: string): JsonObject {
  const { [key]: _gone, ...rest } = schema
  return rest
}

function decodePointer(step: string): string {
  let decoded = step
  try {
    decoded = decodeURIComponent(step)
  } catch {
    // Not percent-encoded after all.
  }
  return decoded.replaceAll('~1', '/').replaceAll('~0', '~')
}

function guessType(schema: JsonObject): string {
  if (schema.properties || schema.required || schema.additionalProperties !== undefined || schema.minProperties) return 'object'
  if (schema.items !== undefined || schema.prefixItems || schema.contains || schema.minItems) return 'array'
  if (['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'].some((key) => schema[key] !== undefined)) return 'number'
  return 'string'
}

/** Removes optional members beyond `maxProperties`. */
function trimmed(entries: [string, Json][], most: number | undefined, required: ReadonlySet<string>): [string, Json][] {
  if (most === undefined || entries.length <= most) return entries
  const kept = entries.filter(([name]) => required.has(name))
  const optional = entries.filter(([name]) => !required.has(name))
  return [...kept, ...optional.slice(0, Math.max(0, most - kept.length))]
}

/** Schema that demands both: properties and `required` are joined, the tighter bound wins, of other keywords the second. */
function merge(a: JsonObject, b: Json): JsonObject {
  if (b === false) throw new Impossible()
  if (!isObject(b)) return a
  const merged: JsonObject = { ...a, ...b }
  if (isObject(a.properties) && isObject(b.properties)) {
    const properties: JsonObject = { ...a.properties }
    for (const [name, child] of Object.entries(b.properties)) {
      const known = properties[name]
      properties[name] = isObject(known) && child !== undefined ? merge(known, child) : child
    }
    merged.properties = properties
  }
  if (Array.isArray(a.required) && Array.isArray(b.required)) merged.required = [...new Set([...a.required, ...b.required])]
  if (Array.isArray(a.enum) && Array.isArray(b.enum)) {
    const second = new Set(b.enum)
    merged.enum = a.enum.filter((value) => second.has(value))
  }
  for (const key of Object.keys(a)) {
    const [x, y] = [a[key], b[key]]
    if (typeof x !== 'number' || typeof y !== 'number') continue
    if (/^(?:min|exclusiveMin)/.test(key)) merged[key] = Math.max(x, y)
    else if (/^(?:max|exclusiveMax)/.test(key)) merged[key] = Math.min(x, y)
  }
  return merged
}

const FORMATS: Readonly<Record<string, (nth: number) => string>> = {
  date: (nth) => `2026-01-${String((nth % 28) + 1).padStart(2, '0')}`,
  'date-time': (nth) => `2026-01-${String((nth % 28) + 1).padStart(2, '0')}T12:00:00Z`,
  time: (nth) => `12:00:${String(nth % 60).padStart(2, '0')}Z`,
  duration: (nth) => `P${nth + 1}D`,
  email: (nth) => `user${nth + 1}@example.com`,
  hostname: (nth) => `host${nth + 1}.example.com`,
  ipv4: (nth) => `192.0.2.${(nth % 254) + 1}`,
  ipv6: (nth) => `2001:db8::${(nth + 1).toString(16)}`,
  uri: (nth) => `https://example.com/${nth + 1}`,
  'uri-reference': (nth) => `/path/${nth + 1}`,
  uuid: (nth) => `00000000-0000-4000-8000-${(nth + 1).toString(16).padStart(12, '0')}`,
}

const MAX_LENGTH = 2_000

function numeric(value: Json | undefined): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** A string that the schema accepts. */
function stringFor(schema: JsonObject, nth: number): string {
  const format = typeof schema.format === 'string' ? FORMATS[schema.format] : undefined
  if (format) return format(nth)
  const least = Math.min(MAX_LENGTH, numeric(schema.minLength) ?? 0)
  const most = numeric(schema.maxLength) ?? MAX_LENGTH
  if (typeof schema.pattern === 'string') {
    const text = patternText(schema.pattern, { least, most, nth })
    if (text !== undefined) return text
  }
  const word = nth === 0 ? 'text' : `text${nth}`
  return word.padEnd(least, '.').slice(word.length > most ? word.length - most : 0)
}

/** The number nearest to 1 (then 2, 3, …) within the bounds; undefined where the bounds leave none. */
function numberFor(schema: JsonObject, integer: boolean, nth: number): number | undefined {
  const { low, high } = bounds(schema)
  const multiple = numeric(schema.multipleOf)
  const step = multiple !== undefined && multiple > 0 ? multiple : integer || high - low >= 1 ? 1 : (high - low) / 4
  if (step === 0) return fits(schema, low, integer) ? low : undefined
  const start = low > 1 || high < 1 ? (low > 1 ? Math.ceil(low / step) : Math.floor(high / step)) : Math.max(1, Math.ceil(low / step))
  const direction = high < 1 && low <= 1 ? -1 : 1
  for (let i = 0; i < 4; i++) {
    for (const at of [start + direction * (nth + i), start - direction * (nth + i)]) {
      const value = product(at, step)
      if (fits(schema, value, integer)) return value
    }
  }
  const middle = low + (high - low) / 2
  return multiple === undefined && fits(schema, middle, integer) ? middle : undefined
}

function bounds(schema: JsonObject): { low: number; high: number } {
  const low = Math.max(numeric(schema.minimum) ?? -Infinity, numeric(schema.exclusiveMinimum) ?? -Infinity)
  const high = Math.min(numeric(schema.maximum) ?? Infinity, numeric(schema.exclusiveMaximum) ?? Infinity)
  return { low, high }
}

/** Whole multiples of a decimal step, without the noise of binary fractions. */
function product(times: number, step: number): number {
  const [, decimals = ''] = /\.(\d+)$/.exec(String(step)) ?? []
  const digits = decimals.length
  return digits === 0 ? times * step : Number((times * step).toFixed(digits))
}

function fits(schema: JsonObject, value: number, integer: boolean): boolean {
  if (!Number.isFinite(value) || (integer && !Number.isInteger(value))) return false
  const { low, high } = bounds(schema)
  const open = value === numeric(schema.exclusiveMinimum) || value === numeric(schema.exclusiveMaximum)
  return value >= low && value <= high && !open
}
