/** The fields of a key as the bodies of operations have them: a form for each of `KEY_FIELDS`, and what becomes of it. */
import { type TSchema, Type } from 'typebox'
import { ERROR_CODES } from '../core/error-codes.ts'
import { badField } from '../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { KEY_FIELDS, type KeyField, MAX_TAG_LENGTH, MAX_TAGS, TAG_NAME, TAG_NAME_EXPECTED } from '../core/key-fields.ts'
import { MAX_USD } from '../core/money.ts'
import { nanoFromUsd } from '../core/money-text.ts'
import { nameIn, plainName } from '../core/plain-name.ts'
import { isRole, ROLES } from '../core/roles.ts'
import { SORT_KEYS } from '../core/sort-keys.ts'
import { WINDOWS } from '../core/windows.ts'
import type { ProviderPreferences } from '../dialects/canon/request-fields.ts'
import type { LimitReset } from '../plugin-api/key.ts'
import { CRITERION_FIELDS, type Field, parseCeiling } from '../routing/criteria/index.ts'
import type { KeyRecord } from '../store/keys.ts'

const MAX_NAME_LENGTH = 256
const MAX_IDS = 500
const MAX_MODELS = 1000
/** Entries of a list of preferences. */
const MAX_ENTRIES = 1000
/** Tokens, and requests of a minute. */
const MAX_RATE = 1_000_000_000
const MAX_TOKENS = 1_000_000_000_000
/** As of the configuration: 999,999,999 GB. */
const MAX_BYTES = 2 ** 50

/** A mistyped field must not make a key without it. */
export const CLOSED = { additionalProperties: false } as const

const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
export const nullable = <T extends TSchema>(schema: T) => Type.Optional(orNull(schema))
export const line = () => Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH })
const rate = (maximum: number, description: string) => Type.Optional(Type.Integer({ minimum: 1, maximum, description }))

function preferenceSchema(field: Field): TSchema {
  const { kind, text } = field
  const described = { description: text }
  switch (kind) {
    case 'flag':
      return Type.Boolean(described)
    case 'choice':
      return Type.Enum([...field.values], described)
    case 'choices':
      return Type.Array(Type.Enum([...field.values]), { maxItems: MAX_ENTRIES, ...described })
    case 'endpoints':
      return Type.Array(line(), { maxItems: MAX_ENTRIES, ...described })
    case 'prices': {
      const price = Type.Union([Type.Number({ minimum: 0 }), Type.String({ pattern: '^\\d{1,12}(\\.\\d{1,24})?$' })])
      const kinds = Object.keys({ ...field.perMillion, ...field.perUnit })
      return Type.Object(Object.fromEntries(kinds.map((name) => [name, Type.Optional(price)])), { ...CLOSED, ...described })
    }
  }
}

const percentile = () => Type.Optional(Type.Number({ minimum: 0 }))
const cutoffs = () =>
  Type.Union([
    Type.Number({ minimum: 0 }),
    Type.Object({ p50: percentile(), p75: percentile(), p90: percentile(), p99: percentile() }, CLOSED),
  ])

/** As the `provider` object of a request, without its nulls. */
const preferences = Type.Object(
  {
    ...Object.fromEntries(Object.entries<Field>(CRITERION_FIELDS).map(([name, field]) => [name, Type.Optional(preferenceSchema(field))])),
    sort: Type.Optional(
      Type.Union([
        Type.Enum([...SORT_KEYS]),
        Type.Object({ by: Type.Optional(Type.Enum([...SORT_KEYS])), partition: Type.Optional(Type.Enum(['model', 'none'])) }, CLOSED),
      ]),
    ),
    preferred_max_latency: Type.Optional(cutoffs()),
    preferred_min_throughput: Type.Optional(cutoffs()),
  },
  CLOSED,
)

const limits = Type.Object(
  {
    requests: rate(MAX_RATE, 'Requests per minute.'),
    tokens: rate(MAX_RATE, 'Tokens of input and output per minute.'),
    streams: rate(1_000_000, 'Streams open at once.'),
    bytes: rate(MAX_BYTES, 'Request bytes in flight.'),
  },
  CLOSED,
)

const tags = Type.Record(Type.String(), Type.String({ maxLength: MAX_TAG_LENGTH }), { maxProperties: MAX_TAGS })

/** A pattern that the configuration takes as well: a slug, with `*` for any text. */
const modelPattern = Type.String({ maxLength: MAX_NAME_LENGTH, pattern: '^~?\\w[\\w.-]*(/[\\w.+*-]+)*(:[\\w.+-]+)*$' })

export const TAKEN = {
  creator_user_id: nullable(line()),
  limit: nullable(Type.Number({ minimum: 0, maximum: MAX_USD })),
  limit_reset: nullable(Type.Enum([...WINDOWS])),
  parent: nullable(Type.String({ minLength: 1, maxLength: 64 })),
  role: Type.Optional(Type.Enum([...ROLES])),
  disabled: Type.Optional(Type.Boolean()),
  expires_at: nullable(Type.String()),
  allowed_models: nullable(Type.Array(modelPattern, { minItems: 1, maxItems: MAX_MODELS })),
  provider: nullable(preferences),
  limits: nullable(limits),
  default_max_output: nullable(Type.Integer({ minimum: 1, maximum: MAX_TOKENS })),
  pass_through: Type.Optional(Type.Boolean()),
  provider_ids: nullable(Type.Array(Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH, pattern: '^[!-~]+$' }), { maxItems: MAX_IDS })),
  error_code: nullable(Type.Enum([...ERROR_CODES])),
  capture_content: Type.Optional(Type.Boolean()),
  tags: nullable(tags),
} as const satisfies Readonly<Record<KeyField, TSchema>>

/** Fields of a key that bodies change. */
export type KeyChanges = {
  -readonly [K in Exclude<keyof KeyRecord, 'identity' | 'hash' | 'label' | 'consent' | 'previous' | 'unknownRole'>]?: KeyRecord[K]
}

type Reader = (value: Json, now: number) => KeyChanges

/** Each turns a checked value, null where that removes it, into what it changes. @throws Fault 400 naming the field. */
const READERS: Readonly<Record<KeyField, Reader>> = {
  creator_user_id: (value) => ({ creator: typeof value === 'string' ? nameIn(value, 'creator_user_id') : null }),
  limit: (value) => ({ limit: typeof value === 'number' ? dollarNano(value) : null }),
  limit_reset: (value) => ({ limitReset: parseReset(value) }),
  parent: (value) => ({ parent: typeof value === 'string' ? value : undefined }),
  role: (value) => (isRole(value) ? { role: value } : {}),
  disabled: (value) => ({ disabled: value === true }),
  expires_at: (value, now) => ({ expiresAt: typeof value === 'string' ? parseTime(value, now) : null }),
  allowed_models: (value) => ({ allowedModels: Array.isArray(value) ? value.map(String) : undefined }),
  provider: (value) => ({ provider: isObject(value) ? parsePreferences(value) : undefined }),
  limits: (value) => ({ limits: isObject(value) ? value : {} }),
  default_max_output: (value) => ({ defaultMaxOutput: typeof value === 'number' ? value : undefined }),
  pass_through: (value) => ({ passThrough: value === true }),
  provider_ids: (value) => ({ providerIds: Array.isArray(value) ? value.map(String) : [] }),
  error_code: (value) => ({ errorCode: ERROR_CODES.find((one) => one === value) }),
  capture_content: (value) => ({ captureContent: value === true }),
  tags: (value) => ({ tags: isObject(value) ? parseTags(value) : undefined }),
}

/** Returns the changes that a checked body states: what it does not name stays as it is. @param now milliseconds since the epoch. @throws Fault 400 naming the field. */
export function readFields(body: JsonObject, now: number): KeyChanges {
  const changes: KeyChanges = {}
  for (const name of Object.keys(KEY_FIELDS) as KeyField[]) {
    const value = body[name]
    if (value !== undefined) Object.assign(changes, READERS[name](value, now))
  }
  return changes
}

function parsePreferences(value: JsonObject): ProviderPreferences {
  const checked = value as ProviderPreferences
  parseCeiling(checked.max_price ?? undefined)
  return checked
}

function parseTags(value: JsonObject): Record<string, string> {
  const form = new RegExp(TAG_NAME)
  const entries = Object.entries(value).map(([name, text]): [string, string] => {
    if (!form.test(name)) throw badField(`tags.${name.slice(0, 100)}`, `expected ${TAG_NAME_EXPECTED}`)
    return [name, plainName(String(text))]
  })
  return Object.fromEntries(entries)
}

/** A checked value; null for none. */
export function parseReset(value: Json | undefined): LimitReset | null {
  return WINDOWS.find((one) => one === value) ?? null
}

/** USD as the nearest nano-dollar. @param dollars from 0 to `MAX_USD`. */
export function dollarNano(dollars: number): number {
  return nanoFromUsd(dollars.toFixed(9)) ?? 0
}

const UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]00:00)$/

/** Of `expires_at`: milliseconds since the epoch. @throws Fault 400 where it is no time in UTC, or is over. */
export function parseTime(text: string, now: number): number {
  const at = UTC.test(text) ? Date.parse(text) : Number.NaN
  // A day that its month does not have would be taken for one of the next.
  if (Number.isNaN(at) || !new Date(at).toISOString().startsWith(text.slice(0, 10)))
    throw badField('expires_at', 'expected a time in UTC such as 2027-01-31T00:00:00Z')
  if (at <= now) throw badField('expires_at', 'must be later than this moment')
  return at
}
