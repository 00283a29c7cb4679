/** API keys in PostgreSQL; each change is numbered, so that every process receives it. */
import { sql } from 'kysely'
import { GATEWAY_ORIGIN, type Origin } from '../../core/audit-entries.ts'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { plainName } from '../../core/plain-name.ts'
import { keyAudit } from '../audited-changes.ts'
import { keyEvents } from '../key-events.ts'
import { policyFrom, policyText } from '../key-policy.ts'
import { roleColumns, storedRole } from '../key-roles.ts'
import { isThere, type KeyRecord, type KeyStore, type StoredKey } from '../keys.ts'
import { foundBy, hashesBy } from '../rotated-keys.ts'
import { type AuditPen, appendAudit } from './audit-log.ts'
import type { Connection, Prepared, Session } from './connection.ts'
import type { Connections } from './connections.ts'
import { addEvents } from './events.ts'
import { LOCKS } from './locks.ts'
import { KEY_COLUMNS, type KeyTable, query, storable } from './tables.ts'

/** Keys of one statement of a list of all. */
const LIST_PAGE = 1_000

const COLUMNS = KEY_COLUMNS.join(', ')
/** Two look-ups by an index: of the secrets that keys have, and of those that they had. */
const FIND: Prepared = {
  name: 'headgate_keys_by_secret',
  text: `SELECT ${COLUMNS} FROM api_key WHERE hash = ANY ($1) UNION ALL SELECT ${COLUMNS} FROM api_key WHERE previous_hash = ANY ($1)`,
}

/** Two ranges of one index: those without an end, and those that end later. */
const ISSUED: Prepared = {
  name: 'headgate_issued_keys',
  text: `SELECT ${COLUMNS} FROM api_key WHERE issuer = $1 AND expires_at IS NULL
    UNION ALL SELECT ${COLUMNS} FROM api_key WHERE issuer = $1 AND expires_at > $2`,
}
const AFTER: Prepared = { name: 'headgate_keys_after', text: `SELECT ${COLUMNS} FROM api_key WHERE hash > $1 ORDER BY hash LIMIT $2` }

/** Changes that are remembered; a process that is further behind forgets all that it knew. */
const MAX_CHANGES = 10_000

type Change = Omit<KeyTable, 'identity' | 'created_at'>

interface NotedChange {
  readonly before: StoredKey | undefined
  readonly after: StoredKey | undefined
  readonly by: Origin | undefined
}

export class PostgresKeys implements KeyStore {
  private readonly connections: Omit<Connections, 'money'>
  private readonly pen: AuditPen
  private readonly clock: Clock

  constructor(connections: Omit<Connections, 'money'>, pen: AuditPen & { readonly clock: Clock }) {
    this.connections = connections
    this.pen = pen
    this.clock = pen.clock
  }

  async find(hash: string): Promise<StoredKey | undefined> {
    const [key] = await this.findMany([hash])
    return key
  }

  async findMany(hashes: readonly string[]): Promise<StoredKey[]> {
    const rows = await this.connections.lookUps.call<KeyTable>(FIND, [hashes])
    return foundBy(hashes, rows.map(keyFrom))
  }

  put(key: KeyRecord, by?: Origin): Promise<StoredKey> {
    return this.write(key, { by, isNew: false })
  }

  add(key: KeyRecord, by?: Origin): Promise<StoredKey> {
    return this.write(key, { by, isNew: true })
  }

  private async write(key: KeyRecord, { by, isNew }: { by: Origin | undefined; isNew: boolean }): Promise<StoredKey> {
    const row = this.keyRow(key)
    return this.changing(async (session) => {
      if (isNew && (await opensSome(session, key.hash))) throw isThere()
      const [before] = await session.run(query.selectFrom('api_key').selectAll().where('hash', '=', key.hash).forUpdate().compile())
      const written = query
        .insertInto('api_key')
        .values({ ...row, identity: key.hash, created_at: row.updated_at })
        .onConflict((conflict) => conflict.column('hash').doUpdateSet(row))
        .returningAll()
      const [kept] = await session.run(written.compile())
      if (!kept) throw new Fault('unavailable', { message: 'The key store cannot be written' })
      const change = { before: before && keyFrom(before), after: keyFrom(kept) }
      await noteChanges(session, hashesBy(change.before, change.after))
      await this.note(session, { ...change, by })
      const { after } = change
      return after
    })
  }

  async change(hash: string, how: (key: StoredKey) => KeyRecord, by?: Origin): Promise<StoredKey | undefined> {
    return this.changing(async (session) => {
      const [found] = await session.run(query.selectFrom('api_key').selectAll().where('hash', '=', hash).forUpdate().compile())
      if (!found) return undefined
      const before = keyFrom(found)
      const row = this.keyRow(how(before))
      const [kept] = await session.run(query.updateTable('api_key').set(row).where('hash', '=', hash).returningAll().compile())
      const after = kept && keyFrom(kept)
      await noteChanges(session, hashesBy(before, after))
      if (!after) return undefined
      await this.note(session, { before, after, by })
      return after
    })
  }

  async remove(hash: string, by?: Origin): Promise<boolean> {
    return this.changing(async (session) => {
      const [gone] = await session.run(query.deleteFrom('api_key').where('hash', '=', hash).returningAll().compile())
      if (!gone) return false
      const before = keyFrom(gone)
      await noteChanges(session, hashesBy(before))
      await this.note(session, { before, after: undefined, by })
      return true
    })
  }

  async list(): Promise<StoredKey[]> {
    const found: StoredKey[] = []
    for (;;) {
      const page = await this.listAfter(found.at(-1)?.hash ?? '', LIST_PAGE)
      found.push(...page)
      if (page.length < LIST_PAGE) break
    }
    return found.sort((a, b) => a.createdAt - b.createdAt || (a.hash < b.hash ? -1 : 1))
  }

  async issuedBy(by: string, now: number): Promise<StoredKey[]> {
    return (await this.connections.readings.call<KeyTable>(ISSUED, [by, Math.floor(now)])).map(keyFrom)
  }

  async listAfter(hash: string, most: number): Promise<StoredKey[]> {
    return (await this.connections.readings.call<KeyTable>(AFTER, [hash, most])).map(keyFrom)
  }

  private changing<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return changing(this.connections.changes, work)
  }

  /** The events of a change and its entry in the audit log, in its transaction. */
  private async note(session: Session, { before, after, by = GATEWAY_ORIGIN }: NotedChange): Promise<void> {
    await addEvents(session, keyEvents(before, after, this.clock.now(), by.actor))
    await appendAudit(session, keyAudit(before, after, by), this.pen)
  }

  private keyRow(key: KeyRecord): Change {
    return {
      hash: key.hash,
      name: storable(key.name),
      label: key.label,
      credit_limit: key.limit,
      disabled: key.disabled,
      ...roleColumns(key),
      policy: policyText(key),
      limit_reset: key.limitReset,
      include_byok: key.includeByokInLimit,
      issuer: key.consent?.by ?? null,
      creator: key.creator === null ? null : storable(key.creator),
      previous_hash: key.previous?.hash ?? null,
      updated_at: Math.floor(this.clock.now()),
    }
  }
}

/**
 * Changes come one after the other: their numbers then rise in the order of their commits, and a process that has
 * seen one number has seen all below it.
 */
export function changing<T>(connection: Connection, work: (session: Session) => Promise<T>): Promise<T> {
  return connection.transaction(async (session) => {
    await session.run(sql`select pg_advisory_xact_lock(${LOCKS.program}::int, ${LOCKS.keys}::int)`.compile(query))
    return work(session)
  })
}

async function opensSome(session: Session, hash: string): Promise<boolean> {
  const named = query.selectFrom('api_key').select('hash').where('hash', '=', hash)
  const rotated = query.selectFrom('api_key').select('hash').where('previous_hash', '=', hash)
  return (await session.run(named.unionAll(rotated).compile())).length > 0
}

/** Numbers what has changed. Inside `changing` only. */
export async function noteChanges(session: Session, hashes: readonly string[]): Promise<void> {
  const last = sql<number>`(select coalesce(max(number), 0) from key_change)`
  for (const hash of hashes) await session.run(sql`insert into key_change (number, hash) select ${last} + 1, ${hash}`.compile(query))
  await session.run(sql`delete from key_change where number <= ${last} - ${MAX_CHANGES}::bigint`.compile(query))
}

function keyFrom(row: KeyTable): StoredKey {
  return {
    identity: row.identity,
    hash: row.hash,
    label: row.label,
    name: plainName(row.name),
    disabled: row.disabled,
    limit: row.credit_limit,
    limitReset: row.limit_reset,
    ...policyFrom(row.policy),
    includeByokInLimit: row.include_byok,
    creator: row.creator === null ? null : plainName(row.creator),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...storedRole(row),
  }
}
