/**
 * An entry of the audit log and its chain: who changed what, from where, and what it was before and after. Each entry has the hash of the
 * one before it, so that one that is edited, removed or put elsewhere no longer fits (docs/audit.md).
 */
import { hash } from 'node:crypto'
import type { AuditKey } from './audit-keys.ts'
import type { Json, JsonObject } from './json.ts'

/** Kinds of those that change something. */
export const ACTOR_KINDS = [
  'management_key',
  'key',
  'member',
  'identity_provider',
  'admin_token',
  'command_line',
  'configuration',
  'gateway',
  'visitor',
] as const
export type ActorKind = (typeof ACTOR_KINDS)[number]

export interface Actor {
  readonly kind: ActorKind
  /** Identity of a key or member, account of a command line, name of a configuration file; null where the kind says all. */
  readonly id: string | null
  readonly name: string | null
}

/** The actor of a change, and the address of the client that it came from. */
export interface Origin {
  readonly actor: Actor
  /** Null where no connection was involved. */
  readonly address: string | null
}

/** Changes without a request: the upkeep of the gateway itself. */
export const GATEWAY_ORIGIN: Origin = { actor: { kind: 'gateway', id: null, name: null }, address: null }

/** Every action, with the moment at which it is entered and the meaning of its subject. docs/audit.md is generated from them. */
export const AUDIT_ACTIONS = {
  'key.created': ['A key was added to the store.', 'identity of the key'],
  'key.changed': ['A key got another name, limit or policy, or was disabled or enabled.', 'identity of the key'],
  'key.rotated': ['A key got a new secret.', 'identity of the key'],
  'key.deleted': ['A key was removed.', 'identity of the key'],
  'sign_in_code.created': ['A key consented to a key for an application.', 'identity of the key that consents'],
  'session.opened': ['A sign-in to the control room.', '`operator`, `manager` or `person`'],
  'session.refused': ['A sign-in to the control room that was refused.', 'control room'],
  'session.ended': ['A session of the control room was signed out, here or by its issuer.', '`operator`, `manager` or `person`'],
  'guardrail.created': ['A guardrail was made.', 'id of the guardrail'],
  'guardrail.changed': ['A guardrail was changed.', 'id of the guardrail'],
  'guardrail.deleted': ['A guardrail was removed, and its assignments before it.', 'id of the guardrail'],
  'guardrail.assigned': ['A guardrail was assigned, or another one in its place.', 'identity of the key, or id of the workspace'],
  'guardrail.unassigned': ['An assignment of a guardrail was removed.', 'identity of the key, or id of the workspace'],
  'ledger.entry_added': ['A correction, refund or write-off was added to the ledger.', 'identity of the key'],
  'compaction_key.created': ['A key of compaction items was made.', 'number of the key'],
  'compaction_key.rewritten': ['A key of compaction items is encrypted in the store in another way.', 'number of the key'],
  'compaction_key.deleted': ['A key of compaction items was removed.', 'number of the key'],
  'byok_key.created': ['A key of a provider was brought.', 'id of the entry'],
  'byok_key.changed': ['An entry with a key of a provider was changed, disabled or enabled.', 'id of the entry'],
  'byok_key.rotated': ['An entry got another key of the provider.', 'id of the entry'],
  'byok_key.rewrapped': ['A key of a provider is encrypted in the store with another key of the operator.', 'id of the entry'],
  'byok_key.deleted': ['A key of a provider was removed.', 'id of the entry'],
  'organization.created': ['An organization was made.', 'id of the organization'],
  'organization.changed': ['An organization got another name or limit, or was disabled or enabled.', 'id of the organization'],
  'organization.deleted': ['An organization was removed.', 'id of the organization'],
  'workspace.created': ['A workspace was made.', 'id of the workspace'],
  'workspace.changed': ['A workspace got another name, limit or default, or was disabled or enabled.', 'id of the workspace'],
  'workspace.deleted': ['A workspace was removed.', 'id of the workspace'],
  'member.created': ['A person or service account was added to a workspace or organization.', 'id of the member'],
  'member.changed': ['A member got another name, role or limit, or was disabled or enabled.', 'id of the member'],
  'member.deleted': ['A member was removed, alone or with its workspace or organization.', 'id of the member'],
  'event.redelivered': ['Deliveries of an event were begun again.', 'number of the event'],
  'event_receiver.disabled': ['A receiver of events answered 410 and gets none.', 'name of the receiver'],
  'event_receiver.enabled': ['A receiver of events gets them again.', 'name of the receiver'],
  'configuration.loaded': ['A process started with this configuration.', 'name of the file'],
  'configuration.reloaded': ['A changed configuration is in force.', 'name of the file'],
  'configuration.refused': ['A changed configuration was not taken: the former one stays.', 'name of the file'],
  'audit_log.pruned': ['Retention removed the oldest entries of this log.', 'sequence of the last one that was removed'],
} as const satisfies Readonly<Record<string, readonly [text: string, subject: string]>>

export type AuditAction = keyof typeof AUDIT_ACTIONS

/** A change as it is entered. */
export interface AuditChange {
  readonly action: AuditAction
  readonly subject: string
  /** The fields that changed, as they were; null where there was nothing. */
  readonly before: JsonObject | null
  /** The same as they are now; null where nothing is left. */
  readonly after: JsonObject | null
  readonly reason?: string | null
}

export interface NewAuditEntry extends AuditChange, Origin {
  /** Milliseconds since the epoch; a clock may go back, the sequence does not. */
  readonly at: number
}

/** The end of the chain. */
export interface AuditHead {
  /** 0 where there is no entry. */
  readonly sequence: number
  readonly hash: string
}

/** An entry as it stands in a store. */
export interface AuditRow {
  readonly sequence: number
  readonly at: number
  /** Id of the actor, or its kind where it has none. */
  readonly actor: string
  readonly action: string
  readonly subject: string
  /** The entry without its hash, as canonical JSON. */
  readonly entry: string
  /** SHA-256 of that text, or its HMAC by the key that the text names, hex. */
  readonly hash: string
}

export const NO_ENTRY: AuditHead = { sequence: 0, hash: '0'.repeat(64) }

/** Characters of a text within an entry, and of one field of `before` and `after` as JSON: of a longer one its hash is kept. */
const MAX_TEXT_LENGTH = 1_000
const MAX_FIELD_LENGTH = 2_000

/** The next rows of the chain. @param key undefined: their hashes are keyed with nothing. */
export function chain(head: AuditHead, entries: readonly NewAuditEntry[], key: AuditKey | undefined): AuditRow[] {
  let last = head
  return entries.map((entry) => {
    const row = nextRow(last, entry, key)
    last = row
    return row
  })
}

function nextRow(head: AuditHead, added: NewAuditEntry, key: AuditKey | undefined): AuditRow {
  const { at, actor, address, action, subject, before, after, reason = null } = added
  const sequence = head.sequence + 1
  const id = actor.id === null ? null : short(actor.id)
  const named = short(subject)
  const entry = canonicalJson({
    ...{ sequence, at: new Date(at).toISOString(), action, subject: named, address, previous: head.hash },
    actor: { kind: actor.kind, id, name: actor.name === null ? null : short(actor.name) },
    before: before && bounded(before),
    after: after && bounded(after),
    reason: reason === null ? null : short(reason),
    ...(key ? { key: key.id } : {}),
  })
  return { sequence, at: Math.floor(at), actor: id ?? actor.kind, action, subject: named, entry, hash: entryHash(entry, key) }
}

export const entryHash = (entry: string, key: AuditKey | undefined): string => (key ? key.sign(entry) : hash('sha256', entry))

/** PostgreSQL's text knows no NUL. */
const short = (text: string): string => text.slice(0, MAX_TEXT_LENGTH).toWellFormed().replaceAll('\0', '\ufffd')

function bounded(fields: JsonObject): JsonObject {
  const entries = Object.entries(fields).map(([name, value = null]): [string, Json] => {
    const text = canonicalJson(value)
    return [name, text.length > MAX_FIELD_LENGTH ? digested(value) : (JSON.parse(text) as Json)]
  })
  return Object.fromEntries(entries)
}

/** Stands in the place of a value that is too long for an entry: two of the same value are alike. */
function digested(value: Json): JsonObject {
  const text = canonicalJson(value)
  return { sha256: hash('sha256', text), characters: text.length }
}

/** The fields in which two states differ, as each has them. @returns undefined where they are alike. */
export function differences(before: JsonObject, after: JsonObject): Pick<AuditChange, 'before' | 'after'> | undefined {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const changed = names.filter((name) => canonicalJson(before[name] ?? null) !== canonicalJson(after[name] ?? null))
  if (changed.length === 0) return undefined
  const part = (state: JsonObject): JsonObject => Object.fromEntries(changed.map((name) => [name, state[name] ?? null]))
  return { before: part(before), after: part(after) }
}

/** The one text of a value: members in the order of their names, no blanks (RFC 8785). Halves of characters become U+FFFD. */
export function canonicalJson(value: Json): string {
  if (typeof value === 'string') return JSON.stringify(value.toWellFormed())
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const members = Object.entries(value).flatMap(([name, each]): [string, string][] =>
    each === undefined ? [] : [[name.toWellFormed(), canonicalJson(each)]],
  )
  members.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`
}
