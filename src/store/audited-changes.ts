/** The audit entries of changes of the store. It writes each in the transaction of its change, and none where nothing has changed. */
import { createHmac } from 'node:crypto'
import { type AuditAction, canonicalJson, differences, type Origin } from '../core/audit-entries.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { NewEntry } from '../core/ledger-entries.ts'
import type { Level } from '../core/levels.ts'
import type { UntimedEntry } from './audit-log.ts'
import type { StoredByokKey } from './byok-keys.ts'
import type { AssignmentKind, StoredGuardrail } from './guardrails.ts'

/** A key as its entries need it. */
interface AuditedKey {
  readonly identity: string
  readonly hash: string
  readonly label: string
  readonly name: string
  readonly role: string
  readonly disabled: boolean
  readonly limit: number | null
  readonly limitReset: string | null
  readonly expiresAt: number | null
  readonly creator: string | null
  readonly includeByokInLimit: boolean
  readonly passThrough: boolean
  readonly parent?: string | undefined
  readonly place?: { readonly workspace?: string; readonly member?: string } | undefined
  readonly allowedModels: readonly string[] | undefined
  readonly provider: object | undefined
  readonly limits: object
  readonly providerIds?: readonly string[]
  readonly defaultMaxOutput?: number | undefined
  readonly errorCode?: string | undefined
  readonly captureContent?: boolean
  readonly tags?: object | undefined
  readonly previous?: { readonly hash: string; readonly until: number } | undefined
  readonly consent?: {
    readonly by: string
    readonly code?: object
    readonly session?: { readonly until: number; readonly role: string }
  }
}

/**
 * Of keys, and of the codes and sessions that stand among them. A code that is exchanged or too old, and a session that renews or ends by
 * itself, are no changes: the exchange makes a key, and that has its entry.
 */
export function keyAudit(before: AuditedKey | undefined, after: AuditedKey | undefined, by: Origin): UntimedEntry[] {
  const key = after ?? before
  if (!key) return []
  if (key.consent?.session) return sessionAudit(before, after, by)
  if (key.consent?.code) return before ? [] : [{ ...by, ...codeAudit(key) }]
  const states = { before: before ? keyFields(before) : null, after: after ? keyFields(after) : null }
  const subject = key.identity
  if (!before) return [{ ...by, action: 'key.created', subject, ...states }]
  if (!after) return [{ ...by, action: 'key.deleted', subject, ...states }]
  const changed = differences(keyFields(before), keyFields(after))
  return changed ? [{ ...by, action: before.hash === after.hash ? 'key.changed' : 'key.rotated', subject, ...changed }] : []
}

function sessionAudit(before: AuditedKey | undefined, after: AuditedKey | undefined, by: Origin): UntimedEntry[] {
  const { session } = (after ?? before)?.consent ?? {}
  if (!session || (before && after) || (!after && by.actor.kind === 'gateway')) return []
  const state = { until: new Date(session.until).toISOString() }
  return [{ ...by, action: after ? 'session.opened' : 'session.ended', subject: session.role, before: null, after: after ? state : null }]
}

function codeAudit({ name, limit, limitReset, expiresAt, consent }: AuditedKey): Omit<UntimedEntry, 'actor' | 'address'> {
  const after = { name, limit_nano: limit, limit_reset: limitReset, expires_at: timeText(expiresAt) }
  return { action: 'sign_in_code.created', subject: consent?.by ?? '', before: null, after }
}

const timeText = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

/** A key without its secret, whose hash and mask tell one secret from the next. */
function keyFields(key: AuditedKey): JsonObject {
  return {
    name: key.name,
    label: key.label,
    hash: key.hash,
    role: key.role,
    disabled: key.disabled,
    limit_nano: key.limit,
    limit_reset: key.limitReset,
    expires_at: timeText(key.expiresAt),
    creator: key.creator,
    include_byok_in_limit: key.includeByokInLimit,
    pass_through: key.passThrough,
    parent: key.parent ?? null,
    workspace: key.place?.workspace ?? null,
    member: key.place?.member ?? null,
    issued_by: key.consent?.by ?? null,
    allowed_models: plainJson(key.allowedModels),
    provider: plainJson(key.provider),
    limits: plainJson(key.limits),
    provider_ids: plainJson(key.providerIds),
    default_max_output: key.defaultMaxOutput ?? null,
    error_code: key.errorCode ?? null,
    capture_content: key.captureContent ?? false,
    tags: plainJson(key.tags),
    previous_hash: key.previous?.hash ?? null,
    previous_ends_at: timeText(key.previous?.until ?? null),
  }
}

const plainJson = (value: unknown): Json => JSON.parse(JSON.stringify(value ?? null)) as Json

/** Fields of a guardrail that hold no texts to look for: those may be what must not be said. Of any other its keyed hash is kept. */
const SHOWN_FIELDS: ReadonlySet<string> = new Set([
  ...['description', 'limit_usd', 'reset_interval', 'include_byok_in_budgets', 'allowed_models', 'ignored_models', 'allowed_providers'],
  ...['ignored_providers', 'enforce_zdr', 'enforce_zdr_anthropic', 'enforce_zdr_openai', 'enforce_zdr_google', 'enforce_zdr_xai'],
  ...['enforce_zdr_other', 'enable_free_model_publication', 'enable_free_model_training', 'enable_paid_model_training'],
  ...['content_filter_builtins', 'action', 'direction', 'restore', 'max_price', 'require_parameters', 'audit'],
])

/** The origin of a change, and the secret of the store that hashes of confidential values are keyed with. */
export interface GuardrailOrigin {
  readonly by: Origin
  readonly secret: string
}

export function guardrailAudit(
  before: Pick<StoredGuardrail, 'name' | 'fields'> | undefined,
  after: StoredGuardrail,
  { by, secret }: GuardrailOrigin,
): UntimedEntry[] {
  if (!before) return [{ ...by, action: 'guardrail.created', subject: after.id, before: null, after: guardrailFields(after, secret) }]
  const changed = differences(guardrailFields(before, secret), guardrailFields(after, secret))
  return changed ? [{ ...by, action: 'guardrail.changed', subject: after.id, ...changed }] : []
}

/** @param assignments that went with it: each has an entry of its own. */
export function guardrailRemoval(
  guardrail: Pick<StoredGuardrail, 'id' | 'name' | 'fields'>,
  assignments: readonly AssignedSubject[],
  { by, secret }: GuardrailOrigin,
): UntimedEntry[] {
  return [
    ...assignments.flatMap((each) => assignmentAudit(each, { before: guardrail.id, after: undefined }, by)),
    { ...by, action: 'guardrail.deleted', subject: guardrail.id, before: guardrailFields(guardrail, secret), after: null },
  ]
}

function guardrailFields({ name, fields }: Pick<StoredGuardrail, 'name' | 'fields'>, secret: string): JsonObject {
  const shown = Object.entries(fields).map(([field, value = null]): [string, Json] => [
    field,
    SHOWN_FIELDS.has(field) || value === null ? value : keyedDigest(value, secret),
  ])
  return { name, ...Object.fromEntries(shown) }
}

/** Stands in the place of a short, confidential text, which could be guessed from a plain hash. Two of the same value are alike. */
function keyedDigest(value: Json, secret: string): JsonObject {
  const text = canonicalJson(value)
  return { hmac_sha256: createHmac('sha256', secret).update(text).digest('hex'), characters: text.length }
}

export interface AssignedSubject {
  readonly kind: AssignmentKind
  readonly subject: string
}

/** @param states ids of the guardrails that were and are assigned. */
export function assignmentAudit(
  { kind, subject }: AssignedSubject,
  { before, after }: { before: string | undefined; after: string | undefined },
  by: Origin,
): UntimedEntry[] {
  if (before === after) return []
  const action: AuditAction = after === undefined ? 'guardrail.unassigned' : 'guardrail.assigned'
  const state = (guardrail: string | undefined) => (guardrail === undefined ? null : { kind, guardrail })
  return [{ ...by, action, subject, before: state(before), after: state(after) }]
}

export function entryAudit({ id, key, generation, kind, amount, settles, reason }: NewEntry, by: Origin): UntimedEntry[] {
  const after = {
    entry: id,
    kind,
    amount_nano: amount,
    settles: settles ?? null,
    generation: generation ? `${generation.seq}.${generation.tag}` : null,
  }
  return [{ ...by, action: 'ledger.entry_added', subject: key, before: null, after, reason }]
}

/** Of a key of a provider: neither the key nor its encrypted form, of which only the mask is shown. */
export function byokKeyAudit(before: StoredByokKey | undefined, after: StoredByokKey | undefined, by: Origin): UntimedEntry[] {
  const key = after ?? before
  if (!key) return []
  const states = { before: before ? byokFields(before) : null, after: after ? byokFields(after) : null }
  const entry = { ...by, subject: key.id }
  if (!before) return [{ ...entry, action: 'byok_key.created', ...states }]
  if (!after) return [{ ...entry, action: 'byok_key.deleted', ...states }]
  const changed = differences(byokFields(before), byokFields(after))
  if (before.encrypted !== after.encrypted) return [{ ...entry, action: 'byok_key.rotated', ...(changed ?? { before: null, after: null }) }]
  return changed ? [{ ...entry, action: 'byok_key.changed', ...changed }] : []
}

function byokFields({ provider, terms }: StoredByokKey): JsonObject {
  return {
    provider,
    name: terms.name,
    label: terms.label,
    is_fallback: terms.isFallback,
    disabled: terms.disabled,
    allowed_models: plainJson(terms.allowedModels),
    allowed_user_ids: plainJson(terms.allowedUsers),
    allowed_api_key_hashes: plainJson(terms.allowedKeys),
  }
}

export function levelAudit(before: Level | undefined, after: Level | undefined, by: Origin): UntimedEntry[] {
  const level = after ?? before
  if (!level) return []
  const states = { before: before ? levelFields(before) : null, after: after ? levelFields(after) : null }
  const entry = { ...by, subject: level.id }
  if (!before) return [{ ...entry, action: `${level.kind}.created`, ...states }]
  if (!after) return [{ ...entry, action: `${level.kind}.deleted`, ...states }]
  const changed = differences(levelFields(before), levelFields(after))
  return changed ? [{ ...entry, action: `${level.kind}.changed`, ...changed }] : []
}

function levelFields({ parent, fields: { limits, rates, createdBy: _, ...fields } }: Level): JsonObject {
  const nano = Object.entries(limits).map(([window, { limit }]) => [window, limit])
  return { parent, ...(plainJson(fields) as JsonObject), limits_nano: Object.fromEntries(nano), rates: plainJson(rates) }
}

export function compactionKeyAudit(verb: 'created' | 'rewritten' | 'deleted', number: number, by: Origin): UntimedEntry[] {
  const state = { number }
  const states = { before: verb === 'created' ? null : state, after: verb === 'deleted' ? null : state }
  return [{ ...by, action: `compaction_key.${verb}`, subject: String(number), ...states }]
}

export function redeliveryAudit(
  event: number,
  { receiver, count }: { receiver: string | null; count: number },
  by: Origin,
): UntimedEntry[] {
  if (count === 0) return []
  return [{ ...by, action: 'event.redelivered', subject: String(event), before: null, after: { receiver, deliveries: count } }]
}

/** @param before and after: when the receiver was disabled; null where it takes events. */
export function receiverAudit(
  name: string,
  { before, after }: { before: number | null; after: number | null },
  by: Origin,
): UntimedEntry[] {
  if ((before === null) === (after === null)) return []
  const action: AuditAction = after === null ? 'event_receiver.enabled' : 'event_receiver.disabled'
  const state = (disabledAt: number | null) => ({ disabled_at: timeText(disabledAt) })
  return [{ ...by, action, subject: name, before: state(before), after: state(after) }]
}
