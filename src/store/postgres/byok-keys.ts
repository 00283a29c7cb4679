/** Keys of providers that teams have brought, in PostgreSQL; each change is numbered among those of keys, so that every process receives it. */
import { GATEWAY_ORIGIN, type Origin } from '../../core/audit-entries.ts'
import type { UntimedEntry } from '../audit-log.ts'
import { byokKeyAudit } from '../audited-changes.ts'
import { BYOK_KEYS_CHANGED, type ByokKeyStore, type ByokTerms, type StoredByokKey } from '../byok-keys.ts'
import { type AuditPen, appendAudit } from './audit-log.ts'
import type { Session } from './connection.ts'
import type { Connections } from './connections.ts'
import { changing, noteChanges } from './keys.ts'
import { type ByokKeyTable, query, storable } from './tables.ts'

const ALL = query.selectFrom('byok_key').selectAll().orderBy('created_at').orderBy('id').compile()

export class PostgresByokKeys implements ByokKeyStore {
  private readonly connections: Pick<Connections, 'changes'>
  private readonly pen: AuditPen

  constructor(connections: Pick<Connections, 'changes'>, pen: AuditPen) {
    this.connections = connections
    this.pen = pen
  }

  /** On the connection of changes: what comes into force must not wait behind what callers read. */
  async all(): Promise<StoredByokKey[]> {
    return (await this.connections.changes.run(ALL)).map(keyFrom)
  }

  put(key: StoredByokKey, seen: number, by: Origin = GATEWAY_ORIGIN): Promise<boolean> {
    const { id, version, provider, encrypted, createdAt, updatedAt } = key
    const row = { version, encrypted, terms: storable(JSON.stringify(key.terms)), updated_at: updatedAt }
    const insert = query
      .insertInto('byok_key')
      .values({ ...row, id, provider, created_at: createdAt })
      .onConflict((conflict) => conflict.doNothing())
    const update = query.updateTable('byok_key').set(row).where('id', '=', id).where('version', '=', seen)
    return this.changing(async (session) => {
      const [before] = await session.run(query.selectFrom('byok_key').selectAll().where('id', '=', id).compile())
      const written = await session.run(seen === 0 ? insert.returning('id').compile() : update.returning('id').compile())
      return written.length === 1 ? byokKeyAudit(before && keyFrom(before), key, by) : undefined
    })
  }

  rewrap(id: string, from: string, to: string, by: Origin = GATEWAY_ORIGIN): Promise<boolean> {
    const update = query.updateTable('byok_key').set({ encrypted: to }).where('id', '=', id).where('encrypted', '=', from)
    return this.changing(async (session) => {
      const written = await session.run(update.returning('id').compile())
      return written.length === 1 ? [{ ...by, action: 'byok_key.rewrapped', subject: id, before: null, after: null }] : undefined
    })
  }

  remove(id: string, by: Origin = GATEWAY_ORIGIN): Promise<boolean> {
    return this.changing(async (session) => {
      const [gone] = await session.run(query.deleteFrom('byok_key').where('id', '=', id).returningAll().compile())
      return gone && byokKeyAudit(keyFrom(gone), undefined, by)
    })
  }

  /** @param work returns the entries of the audit log; undefined where it has changed nothing. @returns false then. */
  private changing(work: (session: Session) => Promise<readonly UntimedEntry[] | undefined>): Promise<boolean> {
    return changing(this.connections.changes, async (session) => {
      const entries = await work(session)
      if (!entries) return false
      await noteChanges(session, [BYOK_KEYS_CHANGED])
      await appendAudit(session, entries, this.pen)
      return true
    })
  }
}

function keyFrom({ terms, created_at: createdAt, updated_at: updatedAt, ...row }: ByokKeyTable): StoredByokKey {
  return { ...row, terms: JSON.parse(terms) as ByokTerms, createdAt, updatedAt }
}
