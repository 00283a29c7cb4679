/** Bodies of the operations on guardrails, checked, as fields of a guardrail. What they do not name stays as it is. */
import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { badField } from '../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { nanoFromUsdNumber } from '../core/money-text.ts'
import { nameIn } from '../core/plain-name.ts'
import { TAKEN_FIELDS, ZDR_FIELDS } from '../guardrails/settings/fields.ts'
import { INJECTION_SLUG } from '../guardrails/settings/recognisers.ts'
import { refuseOtherWorkspace } from './key-body.ts'

const MOST_SUBJECTS = 1000
/** Characters of all patterns of one guardrail: every process compiles them while it serves, some microseconds for each. */
const MOST_PATTERN = 200_000

/** A mistyped `content_filters` must not make a guardrail without one. */
const CLOSED = { additionalProperties: false } as const
const name = () => Type.String({ minLength: 1, maxLength: 200 })

export const checkMakingGuardrail = checker(
  Type.Object({ name: name(), ...TAKEN_FIELDS, workspace_id: Type.Optional(Type.String()) }, CLOSED),
)
export const checkGuardrailChanges = checker(Type.Object({ name: Type.Optional(name()), ...TAKEN_FIELDS }, CLOSED))

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
    if (rest.scan_scope !== undefined && rest.slug !== INJECTION_SLUG)
      throw badField(`${at}.scan_scope`, `this is a setting of ${INJECTION_SLUG}`)
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
  const reads = Array.isArray(builtin) && builtin.some((entry) => isObject(entry) && entry.slug === INJECTION_SLUG)
  if (Array.isArray(allowed) && allowed.length > 0 && !reads)
    throw badField('allowed_phrases', `phrases are allowed to ${INJECTION_SLUG}, expected it among content_filter_builtins`)
}
