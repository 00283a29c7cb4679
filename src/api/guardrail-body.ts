/** Bodies of the operations on guardrails, checked, as fields of a guardrail. What they do not name stays as it is. */
import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { badField } from '../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { nanoFromUsdNumber } from '../core/money-text.ts'
import { nameIn } from '../core/plain-name.ts'
import type { BuiltinSlug } from '../guardrails/index.ts'
import { MOST_USD, RESETS, refuseOtherWorkspace } from './key-body.ts'

/** As `guardrails/builtins.ts` has them; a test compares the two. */
export const BUILTIN_SLUGS = [
  'email',
  'phone',
  'ssn',
  'credit-card',
  'ip-address',
  'person-name',
  'address',
  'iban',
  'api-key',
  'regex-prompt-injection',
] as const satisfies readonly BuiltinSlug[]
const INJECTION = 'regex-prompt-injection'

/** What stands in place of what a built-in recogniser finds. */
export function placeholderOf(slug: string): string {
  return `[${slug
    .replace(/^regex-/, '')
    .replaceAll('-', '_')
    .toUpperCase()}]`
}

const ACTIONS = ['flag', 'redact', 'block'] as const
const DIRECTIONS = ['input', 'output', 'both'] as const
/** Groups of authors with a field of their own. */
export const ZDR_FIELDS = [
  'enforce_zdr_anthropic',
  'enforce_zdr_openai',
  'enforce_zdr_google',
  'enforce_zdr_xai',
  'enforce_zdr_other',
] as const
const MOST_ENTRIES = 10_000
const MOST_SUBJECTS = 1000
const MOST_FILTERS = 1000
/** Characters of all patterns of one guardrail: every process compiles them while it serves, some microseconds for each. */
const MOST_PATTERN = 200_000

/** A mistyped `content_filters` must not make a guardrail without one. */
const CLOSED = { additionalProperties: false } as const
const nullable = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))
const flag = () => nullable(Type.Boolean())
const names = () => nullable(Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), { minItems: 1, maxItems: MOST_ENTRIES }))
const phrases = (most: number) => nullable(Type.Array(Type.String({ pattern: '\\S', maxLength: 1000 }), { maxItems: most }))
const action = () => Type.Enum([...ACTIONS])
const amount = () =>
  Type.Optional(Type.Union([Type.Number({ minimum: 0, maximum: 1e12 }), Type.String({ pattern: '^[0-9]{1,12}(\\.[0-9]{1,24})?$' })]))

const filter = Type.Object(
  { pattern: Type.String({ minLength: 1, maxLength: 100_000 }), action: action(), label: nullable(Type.String({ maxLength: 100 })) },
  CLOSED,
)
const builtin = Type.Object(
  {
    slug: Type.Enum([...BUILTIN_SLUGS]),
    action: action(),
    label: Type.Optional(Type.String({ maxLength: 100 })),
    scan_scope: Type.Optional(Type.Enum(['user_only', 'all_messages'])),
  },
  CLOSED,
)
const maxPrice = Type.Object({ prompt: amount(), completion: amount(), request: amount(), image: amount(), audio: amount() }, CLOSED)

const shared = {
  description: nullable(Type.String({ maxLength: 1000 })),
  limit_usd: nullable(Type.Number({ minimum: 0, maximum: MOST_USD })),
  reset_interval: nullable(Type.Enum([...RESETS])),
  include_byok_in_budgets: Type.Optional(Type.Boolean()),
  allowed_models: names(),
  ignored_models: names(),
  allowed_providers: names(),
  ignored_providers: names(),
  enforce_zdr: flag(),
  enforce_zdr_anthropic: flag(),
  enforce_zdr_openai: flag(),
  enforce_zdr_google: flag(),
  enforce_zdr_xai: flag(),
  enforce_zdr_other: flag(),
  enable_free_model_publication: flag(),
  enable_free_model_training: flag(),
  enable_paid_model_training: flag(),
  content_filters: nullable(Type.Array(filter, { maxItems: MOST_FILTERS })),
  content_filter_builtins: nullable(Type.Array(builtin, { maxItems: BUILTIN_SLUGS.length })),
  // What the documented service does not have.
  phrases: phrases(1000),
  allowed_phrases: phrases(200),
  action: nullable(action()),
  direction: nullable(Type.Enum([...DIRECTIONS])),
  restore: flag(),
  max_price: nullable(maxPrice),
  require_parameters: flag(),
  audit: nullable(Type.Enum(['hashes', 'full'])),
}
const name = () => Type.String({ minLength: 1, maxLength: 200 })

export const checkMakingGuardrail = checker(Type.Object({ name: name(), ...shared, workspace_id: Type.Optional(Type.String()) }, CLOSED))
export const checkGuardrailChanges = checker(Type.Object({ name: Type.Optional(name()), ...shared }, CLOSED))

const subjects = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { description, minItems: 1, maxItems: MOST_SUBJECTS })
export const checkKeyHashes = checker(Type.Object({ key_hashes: subjects('Hashes of keys.') }, CLOSED))
export const checkMembers = checker(Type.Object({ member_user_ids: subjects('Ids of members.') }, CLOSED))

/** What is there to be named in lists. */
export interface Namable {
  /** The slug of the model that a name stands for, without variant; undefined where there is none. */
  model(name: string): string | undefined
  provider(slug: string): boolean
}

export interface GuardrailBody {
  readonly name?: string
  /** Only what the body names. */
  readonly fields: JsonObject
}

/** @throws Fault 400 naming the field, also one that is unknown. */
export function makingGuardrail(body: JsonObject, there: Namable): GuardrailBody & { name: string } {
  checkMakingGuardrail(body)
  refuseOtherWorkspace(body)
  const { name: called, workspace_id: _, ...fields } = body
  return { name: nameIn(String(called), 'name'), fields: fieldsOf(fields, there) }
}

/** @throws Fault 400 naming the field, also one that is unknown. */
export function guardrailChanges(body: JsonObject, there: Namable): GuardrailBody {
  checkGuardrailChanges(body)
  const { name: called, ...fields } = body
  return { ...(typeof called === 'string' ? { name: nameIn(called, 'name') } : {}), fields: fieldsOf(fields, there) }
}

function fieldsOf({ enforce_zdr: zdr, ...body }: JsonObject, there: Namable): JsonObject {
  const fields: JsonObject = { ...body }
  // The older field stands for those of the groups that are not named beside it.
  if (zdr !== undefined) for (const each of ZDR_FIELDS) if (body[each] === undefined) fields[each] = zdr
  if (typeof fields.limit_usd === 'number' && nanoFromUsdNumber(fields.limit_usd) === undefined)
    throw badField('limit_usd', 'expected at most 9 decimals')
  for (const list of ['allowed_models', 'ignored_models'] as const)
    if (Array.isArray(fields[list])) fields[list] = models(list, fields[list], there)
  for (const list of ['allowed_providers', 'ignored_providers'] as const) checkProviders(list, fields[list], there)
  checkPatterns(fields.content_filters)
  if (Array.isArray(fields.content_filter_builtins)) fields.content_filter_builtins = builtins(fields.content_filter_builtins)
  return fields
}

function checkPatterns(filters: Json | undefined): void {
  if (!Array.isArray(filters)) return
  const sum = filters.reduce((length: number, each) => length + (isObject(each) ? String(each.pattern).length : 0), 0)
  if (sum > MOST_PATTERN) throw badField('content_filters', `expected at most ${MOST_PATTERN} characters of patterns in all`)
}

/** Lists hold the slugs of models: an alias would name nothing that is routed to. */
function models(list: string, entries: readonly Json[], there: Namable): string[] {
  return entries.map((entry, i) => {
    const named = String(entry)
    const slug = named.includes('*') ? named : there.model(named)
    if (slug === undefined) throw badField(`${list}[${i}]`, 'no such model')
    return slug
  })
}

function checkProviders(list: string, entries: Json | undefined, there: Namable): void {
  if (!Array.isArray(entries)) return
  for (const [i, entry] of entries.entries())
    if (!there.provider(String(entry).replace(/\/.*$/s, ''))) throw badField(`${list}[${i}]`, 'no such provider')
}

/** A `label` is the service's own to give: what a caller sends is let go. */
function builtins(entries: readonly Json[]): JsonObject[] {
  const seen = new Set<unknown>()
  return entries.map((entry, i) => {
    const { label: _, ...rest } = isObject(entry) ? entry : {}
    const at = `content_filter_builtins[${i}]`
    if (seen.has(rest.slug)) throw badField(`${at}.slug`, 'this filter is named twice, expected it once')
    seen.add(rest.slug)
    if (rest.scan_scope !== undefined && rest.slug !== INJECTION) throw badField(`${at}.scan_scope`, `this is a setting of ${INJECTION}`)
    return rest
  })
}

/**
 * What the fields of one guardrail must not say together.
 * @throws Fault 400 naming the field.
 */
export function checkTogether({ direction, restore, allowed_phrases: allowed, content_filter_builtins: builtin }: JsonObject): void {
  if (restore === true && direction === 'output')
    throw badField('restore', 'nothing of a request is redacted here, expected direction input or both')
  const reads = Array.isArray(builtin) && builtin.some((entry) => isObject(entry) && entry.slug === INJECTION)
  if (Array.isArray(allowed) && allowed.length > 0 && !reads)
    throw badField('allowed_phrases', `phrases are allowed to ${INJECTION}, expected it among content_filter_builtins`)
}
