/** Keys of compaction items in PostgreSQL: made under the lock of key changes, so that two processes never make the same number. */
import { sql } from 'kysely'
import { GATEWAY_ORIGIN, type Origin } from '../../core/audit-entries.ts'
import { compactionKeyAudit } from '../audited-changes.ts'
import type { CompactionKey, CompactionKeyStore } from '../compaction-keys.ts'
import { type AuditPen, appendAudit } from './audit-log.ts'
import type { Session } from './connection.ts'
import type { Connections } from './connections.ts'
import { changing } from './keys.ts'
import { type CompactionKeyTable, query } from './tables.ts'

export class PostgresCompactionKeys implements CompactionKeyStore {
  private readonly connections: Pick<Connections, 'readings' | 'changes'>
  private readonly pen: AuditPen

  constructor(connections: Pick<Connections, 'readings' | 'changes'>, pen: AuditPen) {
    this.connections = connections
    this.pen = pen
  }

  async all(now: number, first: string): Promise<CompactionKey[]> {
    const found = await this.connections.readings.run(ALL)
    if (found.length > 0) return found.map(keyFrom)
    return changing(this.connections.changes, async (session) => {
      const rows = await session.run(ALL)
      return rows.length > 0 ? rows.map(keyFrom) : [await this.make(session, { now, value: first, by: GATEWAY_ORIGIN })]
    })
  }

  add(now: number, value: string, by: Origin = GATEWAY_ORIGIN): Promise<CompactionKey> {
    return changing(this.connections.changes, (session) => this.make(session, { now, value, by }))
  }

  rewrite(number: number, from: string, to: string): Promise<boolean> {
    return changing(this.connections.changes, async (session) => {
      const writing = query.updateTable('compaction_key').set({ value: to }).where('number', '=', number).where('value', '=', from)
      const isWritten = (await session.run(writing.returning('number').compile())).length === 1
      if (isWritten) await appendAudit(session, compactionKeyAudit('rewritten', number, GATEWAY_ORIGIN), this.pen)
      return isWritten
    })
  }

  remove(number: number, by: Origin = GATEWAY_ORIGIN): Promise<boolean> {
    return changing(this.connections.changes, async (session) => {
      const newest = query.selectFrom('compaction_key').select(({ fn }) => fn.max('number').as('number'))
      const removing = query.deleteFrom('compaction_key').where('number', '=', number).where('number', '<', newest).returning('number')
      const isGone = (await session.run(removing.compile())).length === 1
      if (isGone) await appendAudit(session, compactionKeyAudit('deleted', number, by), this.pen)
      return isGone
    })
  }

  private async make(session: Session, { now, value, by }: { now: number; value: string; by: Origin }): Promise<CompactionKey> {
    const key = await made(session, now, value)
    await appendAudit(session, compactionKeyAudit('created', key.number, by), this.pen)
    return key
  }
}

const ALL = query.selectFrom('compaction_key').selectAll().orderBy('number').compile()

async function made(session: Session, now: number, value: string): Promise<CompactionKey> {
  const insert = sql<CompactionKeyTable>`
    insert into compaction_key (number, value, created_at)
    select coalesce(max(number), 0) + 1, ${value}, ${Math.floor(now)}::bigint from compaction_key returning *`
  const [row] = await session.run(insert.compile(query))
  if (!row) throw new TypeError('expected the key that was just made')
  return keyFrom(row)
}

function keyFrom({ number, value, created_at: createdAt }: CompactionKeyTable): CompactionKey {
  return { number, value, createdAt }
}
