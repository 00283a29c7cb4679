/**
 * Building blocks of the schema. Seven extra keywords carry what JSON Schema cannot say and are left out of the published file:
 * `expected` and `keyExpected` (text of an error), `scalar` (a further check by `validate.ts`, and the unit that `resolved.ts`
 * converts), `asWritten` (nothing below is converted), `atStart` (a reload cannot change it), `unavailable` (keys or values of a later version) and `secret` (never quoted).
 */
import { type Static, type TOptional, type TSchema, type TString, Type } from 'typebox'
import type { Json } from '../../core/json.ts'

/** Further checks that `checkScalar` does on a string after its pattern. */
export type ScalarKind =
  | 'duration'
  | 'span'
  | 'size'
  | 'memory'
  | 'url'
  | 'regex'
  | 'usd'
  | 'usd-per-million'
  | 'usd-per-unit'
  | 'timestamp'
  | 'network'
  | 'callback'

/** Scalars that readers get as a number: milliseconds, bytes, nano-dollars, milliseconds since the epoch. */
export type Measure = 'duration' | 'span' | 'size' | 'memory' | 'usd' | 'usd-per-unit' | 'timestamp'

/** Text in the file, a number for readers. */
export type TMeasure = TString & { scalar: Measure }

export interface Extras {
  expected?: string | undefined
  scalar?: ScalarKind | undefined
  asWritten?: true | undefined
  atStart?: true | undefined
  /** The default as the file would write it. */
  default?: Json | undefined
  unavailable?: readonly string[] | undefined
  secret?: boolean | undefined
  description?: string | undefined
}

const CLOSED = { additionalProperties: false } as const

/** An entry that may be left out; the file is then read as though it had this value. */
export function withDefault<T extends TSchema>(schema: T, value: Static<T>) {
  // Only `Type.Optional` copies a schema: the one that was given may stand elsewhere without a default.
  return Object.assign(Type.Optional(schema), { default: value }) as unknown as TOptional<T> & { default: Static<T> }
}

/** An entry that readers get in the words of the file: fields of the wire, or settings whose reader has their defaults and units. */
export function asWritten<T extends TSchema>(schema: T) {
  return Object.assign(schema, { asWritten: true } as const)
}

/** An object that takes no keys but the named ones. */
export function closed<P extends Record<string, TSchema>>(description: string, properties: P, unavailable: readonly string[] = []) {
  return Type.Object(properties, { ...CLOSED, description, ...(unavailable.length > 0 ? { unavailable } : {}) })
}

/** An object from names of one form to values of one schema. */
export function mapField<T extends TSchema>(description: string, keyPattern: string, keyExpected: string, values: T) {
  return Type.Record(Type.String({ pattern: keyPattern }), values, { ...CLOSED, description, keyExpected })
}

export function choiceField<const V extends readonly string[]>(description: string, values: V, unavailable: readonly string[] = []) {
  return Type.Unsafe<V[number]>({ type: 'string', enum: [...values], description, ...(unavailable.length > 0 ? { unavailable } : {}) })
}

/** An entry that a process reads once, when it opens its listeners and its store. */
export function atStart<T extends TSchema>(schema: T) {
  return Object.assign(schema, { atStart: true } as const)
}

const measure = (scalar: Measure, description: string, options: { pattern?: string; expected: string }) =>
  Type.String({ description, scalar, ...options }) as TMeasure

export const duration = (description: string) =>
  measure('duration', description, { pattern: '^[0-9]{1,9}(ms|s|m|h)$', expected: 'a duration such as 250ms, 5s or 10m' })

/** A duration in days or hours. */
export const span = (description: string) =>
  measure('span', description, { pattern: '^[0-9]{1,6}(h|d)$', expected: 'a number of days or hours such as 90d or 24h' })

const BYTES = '^[0-9]{1,9}(B|KB|MB|GB)$'

export const size = (description: string) => measure('size', description, { pattern: BYTES, expected: 'a size such as 512KB or 32MB' })

/** A size of memory rather than of one body. */
export const memory = (description: string) => measure('memory', description, { pattern: BYTES, expected: 'a size such as 512MB or 2GB' })

const DECIMAL = '^[0-9]{1,12}(\\.[0-9]{1,24})?$'

export const usd = (description: string) =>
  measure('usd', description, { pattern: DECIMAL, expected: 'an amount of USD as a decimal in quotes, such as "10.00"' })

export const PER_MILLION_EXPECTED = 'a price in USD per million tokens as a decimal in quotes, such as "0.25"'

export const perMillion = (description: string) =>
  Type.String({
    description,
    pattern: DECIMAL,
    scalar: 'usd-per-million',
    expected: PER_MILLION_EXPECTED,
  })

export const perUnit = (description: string) =>
  measure('usd-per-unit', description, { pattern: DECIMAL, expected: 'a price in USD per unit as a decimal in quotes, such as "0.005"' })

export const time = (description: string) => measure('timestamp', description, { expected: 'a time such as 2027-01-31T00:00:00Z' })

export const port = (description: string) => Type.Integer({ description, minimum: 0, maximum: 65535 })

export const host = (description: string) =>
  Type.String({ description, pattern: '^[A-Za-z0-9:.%_-]{1,255}$', expected: 'a host name or IP address without a port' })

export const url = (description: string) =>
  Type.String({ description, scalar: 'url', expected: 'an http or https URL without credentials, query or fragment' })

export const count = (description: string, minimum = 1) => Type.Integer({ description, minimum, maximum: 1_000_000_000_000 })

/** `author/name`, also `~author/name`, with variant suffixes; or a bare name, such as clients of one provider send. */
export const SLUG = '^~?\\w[\\w.-]*(/[\\w.+*-]+)*(:[\\w.+-]+)*$'
/** As a slug, without a *. */
export const ALIAS = '^~?\\w[\\w.-]*(/[\\w.+-]+)*(:[\\w.+-]+)*$'
export const SLUG_EXPECTED = 'a model slug such as author/name, or a bare name'

export const modelSlug = (description: string) => Type.String({ description, pattern: SLUG, expected: SLUG_EXPECTED })

/** Name of a provider, a key or a guardrail. */
export const NAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'
export const NAME_EXPECTED = 'a name of up to 64 letters, digits, dots, dashes and underscores'

export const entryName = (description: string) => Type.String({ description, pattern: NAME, expected: NAME_EXPECTED })

export const line = (description: string, maxLength = 200) => Type.String({ description, minLength: 1, maxLength })

export const secret = (description: string, minLength = 1) =>
  Type.String({
    description,
    pattern: `^[\\x21-\\x7e]{${minLength},512}$`,
    secret: true,
    expected: `${minLength > 1 ? `at least ${minLength}` : 'visible'} ASCII characters without spaces`,
  })

export const listField = <T extends TSchema>(description: string, items: T, minItems = 0) =>
  Type.Array(items, { description, minItems, maxItems: 10_000 })

export const flag = (description: string) => Type.Boolean({ description })

/** Tags of endpoints: a provider, or one of its variants. */
export const endpointTags = (description: string, minItems = 0) =>
  listField(
    description,
    Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}(/[A-Za-z0-9._-]+)?$', expected: 'a provider, or provider/variant' }),
    minItems,
  )

type PriceTexts = Readonly<Record<string, string>>

/** Decimals in quotes by kind of price, each with its text. */
export function prices(description: string, perMillionTexts: PriceTexts, perUnitTexts: PriceTexts) {
  const rates = Object.entries(perMillionTexts).map(([name, text]) => [name, Type.Optional(perMillion(text))])
  const sums = Object.entries(perUnitTexts).map(([name, text]) => [name, Type.Optional(perUnit(text))])
  return closed(description, Object.fromEntries([...rates, ...sums]) as Record<string, TSchema>)
}
