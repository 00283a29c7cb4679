/** Settings as readers get them, from the schema: defaults filled in, units converted, names in camelCase. */
import type { Static, TArray, TObject, TOptional, TProperties, TRecord, TSchema, TUnion } from 'typebox'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { nanoFromUsd, rateFromUsd } from '../core/money-text.ts'
import type { Measure, ScalarKind, TMeasure } from './fields/scalars.ts'
import { bytes, milliseconds } from './units.ts'
import type { Rule } from './validate.ts'

type CamelCase<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : Name

/** Names of properties that may be missing from what readers get. */
type Missing<P extends TProperties> = {
  [K in keyof P]: P[K] extends TOptional<TSchema> ? (P[K] extends { default: unknown } ? never : K) : never
}[keyof P]

type ResolvedFields<P extends TProperties> = { [K in Exclude<keyof P, Missing<P>> as CamelCase<K>]: Resolved<P[K]> } & {
  [K in Missing<P> as CamelCase<K>]?: Resolved<P[K]>
}

/** Type of the data of a schema after `resolved`. */
export type Resolved<S extends TSchema> = S extends { asWritten: true }
  ? Static<S>
  : S extends TMeasure
    ? number
    : S extends TObject<infer P>
      ? { [K in keyof ResolvedFields<P>]: ResolvedFields<P>[K] }
      : S extends TRecord<string, infer V>
        ? Record<string, Resolved<V>>
        : S extends TArray<infer I>
          ? Resolved<I>[]
          : S extends TUnion<infer Branches>
            ? { [K in keyof Branches]: Resolved<Branches[K]> }[number]
            : Static<S>

/** The checks of `validate.ts` have let none through that these cannot convert. */
const MEASURES: Readonly<Record<Measure, (text: string) => number>> = {
  duration: milliseconds,
  span: milliseconds,
  size: bytes,
  memory: bytes,
  usd: (text) => nanoFromUsd(text) ?? 0,
  'usd-per-unit': nanoPerUnit,
  timestamp: Date.parse,
}

const ATTO_PER_NANO = 1_000_000_000n

/** Rounded up: nothing is cheaper than declared. */
function nanoPerUnit(text: string): number {
  return Number(((rateFromUsd(text) ?? 0n) + ATTO_PER_NANO - 1n) / ATTO_PER_NANO)
}

/** @param written checked data of the schema, as `validate` returns it. */
export function resolved<S extends TSchema>(schema: S, written: Static<S>): Resolved<S> {
  return read(schema as Rule, written as Json) as Resolved<S>
}

function read(rule: Rule, value: Json): Json {
  if (rule.asWritten) return value
  const branch = rule.anyOf?.find((each) => (each.type === 'object') === isObject(value))
  if (branch) return read(branch, value)
  if (typeof value === 'string') return isMeasure(rule.scalar) ? MEASURES[rule.scalar](value) : value
  const { items } = rule
  if (Array.isArray(value)) return items ? value.map((item) => read(items, item)) : value
  return isObject(value) ? readFields(rule, value) : value
}

function isMeasure(scalar: ScalarKind | undefined): scalar is Measure {
  return scalar !== undefined && Object.hasOwn(MEASURES, scalar)
}

function readFields({ properties, patternProperties }: Rule, written: JsonObject): JsonObject {
  const fields: JsonObject = {}
  for (const [name, rule] of Object.entries(properties ?? {})) {
    const value = (Object.hasOwn(written, name) ? written[name] : undefined) ?? rule.default
    if (value !== undefined) fields[camelCase(name)] = read(rule, value)
  }
  // Keys of a map are names that the operator chose.
  const [values] = Object.values(patternProperties ?? {})
  if (values && !properties) for (const [name, value] of Object.entries(written)) fields[name] = read(values, value ?? null)
  return fields
}

/** The name of a setting as readers have it. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}
