/** Bodies of the operations on guardrails, checked, as fields of a guardrail. Fields that a body does not name stay as they are. */
import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { badField } from '../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { nanoFromUsdNumber } from '../core/money-text.ts'
import { nameIn } from '../core/plain-name.ts'
import { TAKEN_FIELDS, ZDR_FIELDS } from '../guardrails/settings/fields.ts'
import { INJECTION_SLUG } from '../guardrails/settings/recognisers.ts'
import { refuseOtherWorkspace } from './key-body.ts'

const MAX_SUBJECTS = 1000
/** Characters of all patterns of one guardrail: every process compiles them while it serves, some microseconds for each. */
const MAX_PATTERN_CHARACTERS = 200_000

/** Refuses unknown fields: a mistyped `content_filters` must not make a guardrail without one. */
const CLOSED = { additionalProperties: false } as const
const name = () => Type.String({ minLength: 1, maxLength: 200 })

export const checkMakingGuardrail = checker(
  Type.Object({ name: name(), ...TAKEN_FIELDS, workspace_id: Type.Optional(Type.String()) }, CLOSED),
)
export const checkGuardrailChanges = checker(Type.Object({ name: Type.Optional(name()), ...TAKEN_FIELDS }, CLOSED))

const subjects = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { description, minItems: 1, maxItems: MAX_SUBJECTS })
export const checkKeyHashes = checker(Type.Object({ key_hashes: subjects('Hashes of keys.') }, CLOSED))
export const checkWorkspaces = checker(Type.Object({ workspace_ids: subjects('Ids or slugs of workspaces.') }, CLOSED))
export const checkOrganizations = checker(Type.Object({ organization_ids: subjects('Ids or slugs of organizations.') }, CLOSED))
export const checkMembers = checker(Type.Object({ member_user_ids: subjects('Ids of members.') }, CLOSED))

/** Names that the lists of a guardrail may contain. */
export interface KnownNames {
  /** The slug of the model that a name stands for, without variant; undefined where there is none. */
  model(name: string): string | undefined
  provider(slug: string): boolean
}

export interface GuardrailBody {
  readonly name?: string
  /** Only the fields that the body names. */
  readonly fields: JsonObject
}

/** @throws Fault 400 naming the field, also one that is unknown. */
export function makingGuardrail(body: JsonObject, there: KnownNames): GuardrailBody & { name: string } {
  checkMakingGuardrail(body)
  refuseOtherWorkspace(body)
  const { name: called, workspace_id: _, ...fields } = body
  return { name: nameIn(String(called), 'name'), fields: readFields(fields, there) }
}

/** @throws Fault 400 naming the field, also one that is unknown. */
export function guardrailChanges(body: JsonObject, there: KnownNames): GuardrailBody {
  checkGuardrailChanges(body)
  const { name: called, ...fields } = body
  return { ...(typeof called === 'string' ? { name: nameIn(called, 'name') } : {}), fields: readFields(fields, there) }
}

function readFields({ enforce_zdr: zdr, ...body }: JsonObject, there: KnownNames): JsonObject {
  const fields: JsonObject = { ...body }
  // The older field `enforce_zdr` sets each field of a group that the body does not name.
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
  if (sum > MAX_PATTERN_CHARACTERS)
    throw badField('content_filters', `expected at most ${MAX_PATTERN_CHARACTERS} characters of patterns in all`)
}

/** Replaces names of models by their slugs: routing compares slugs, so an alias would match nothing. */
function models(list: string, entries: readonly Json[], there: KnownNames): string[] {
  return entries.map((entry, i) => {
    const named = String(entry)
    const slug = named.includes('*') ? named : there.model(named)
    if (slug === undefined) throw badField(`${list}[${i}]`, 'no such model')
    return slug
  })
}

function checkProviders(list: string, entries: Json | undefined, there: KnownNames): void {
  if (!Array.isArray(entries)) return
  for (const [i, entry] of entries.entries())
    if (!there.provider(String(entry).replace(/\/.*$/s, ''))) throw badField(`${list}[${i}]`, 'no such provider')
}

/** Checks the entries. Their `label` is set by the gateway: the one that a caller sends is ignored. */
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
 * Refuses fields that contradict each other.
 * @throws Fault 400 naming the field.
 */
export function checkTogether({ direction, restore, allowed_phrases: allowed, content_filter_builtins: builtin }: JsonObject): void {
  if (restore === true && direction === 'output')
    throw badField('restore', 'only redactions in requests can be restored, expected direction input or both')
  const reads = Array.isArray(builtin) && builtin.some((entry) => isObject(entry) && entry.slug === INJECTION_SLUG)
  if (Array.isArray(allowed) && allowed.length > 0 && !reads)
    throw badField('allowed_phrases', `needs ${INJECTION_SLUG} among content_filter_builtins`)
}
