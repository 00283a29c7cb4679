/** GET /v1/audit: the audit log. */
import { AUDIT_ACTIONS, type AuditAction, type AuditHead, type AuditRow, NO_ENTRY } from '../core/audit-entries.ts'
import type { AuditKeys } from '../core/audit-keys.ts'
import { badField } from '../core/faults.ts'
import { isObject, type JsonObject, parseJson } from '../core/json.ts'
import type { AuditLogStore } from '../store/audit-log.ts'
import { allKeys, type KeySource } from './key-entry.ts'
import { choice, cursor, integer, shortText, time } from './parameters.ts'
import { type ApiReply, ok } from './reply.ts'

/** Dependencies of the list. */
export interface AuditReading extends Pick<KeySource, 'configured' | 'store'> {
  readonly auditLog: Pick<AuditLogStore, 'page'>
}

export interface AuditSource extends Pick<KeySource, 'configured' | 'store'> {
  readonly auditLog: Pick<AuditLogStore, 'page' | 'head'>
  readonly auditKeys: AuditKeys
}

const MAX_PAGE_LENGTH = 500
const USUAL_PAGE = 50
const MAX_NAME_LENGTH = 1_000

const actions = Object.keys(AUDIT_ACTIONS) as AuditAction[]

const byActor = shortText(
  'actor',
  'Only changes of this actor: name or hash of a key, its `id`, or its kind where it has none, such as `admin_token`.',
  MAX_NAME_LENGTH,
  'admin_token',
)
const ofAction = choice('action', 'Only these.', actions, 'key.created')
const ofSubject = shortText('subject', 'Only changes of this: name or hash of a key, id of a guardrail, ….', MAX_NAME_LENGTH)
const since = time('since', 'From this time (UTC) on.')
const until = time('until', 'Before this time (UTC).')
const order = choice('order', '`newest` for the newest first.', ['oldest', 'newest'], 'newest')
const rows = integer('limit', 'Entries per page at most; 50 without it.', { least: 1, most: MAX_PAGE_LENGTH, example: USUAL_PAGE })
export const AUDIT_QUERY = [byActor, ofAction, ofSubject, since, until, order, cursor, rows]

/** @param query with `AUDIT_QUERY`. @throws Fault 400 naming the query parameter. */
export async function listAuditEntries(query: URLSearchParams, source: AuditReading): Promise<ApiReply> {
  const limit = rows.read(query) ?? USUAL_PAGE
  const actor = byActor.read(query)
  const subject = ofSubject.read(query)
  const found = await source.auditLog.page({
    after: cursor.read(query) ?? 0,
    newestFirst: order.read(query) === 'newest',
    limit,
    actor: actor === undefined ? undefined : await keyIdentity(actor, source),
    action: ofAction.read(query),
    subject: subject === undefined ? undefined : await keyIdentity(subject, source),
    since: since.read(query),
    until: until.read(query),
  })
  const last = found.at(-1)
  return ok({ data: found.map(entryView), next_cursor: found.length < limit || !last ? null : String(last.sequence) })
}

/** A key is entered under its identity, which a new secret leaves as it is. */
async function keyIdentity(named: string, source: AuditReading): Promise<string> {
  const keys = await allKeys(source)
  return keys.find(({ hash, name }) => hash === named || name === named)?.identity ?? named
}

/** The entry as it was hashed, and its hash. */
function entryView({ sequence, entry, hash }: AuditRow): JsonObject {
  const fields = parseJson(entry)
  // An entry that was edited behind the gateway's back is shown as what it is.
  return isObject(fields) ? { ...fields, hash } : { sequence, damaged: true, hash }
}

export const receiptText = ({ sequence, hash }: AuditHead): string => `${sequence}:${hash}`

/** @throws Fault 400. */
export function parseReceipt(text: string): AuditHead {
  const [, sequence, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? []
  if (sequence === undefined || hash === undefined) throw badField('expect', 'expected a receipt of an earlier check, such as 12:5f2c…')
  return Number(sequence) === 0 ? NO_ENTRY : { sequence: Number(sequence), hash }
}
