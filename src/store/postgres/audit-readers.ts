/** Readers of the audit log in PostgreSQL, see `../audit-readers.ts`: one process at a time has a reader, by the clock of the database. */
import { sql } from 'kysely'
import type { AuditRow } from '../../core/audit-entries.ts'
import type { ReaderBatch, ReaderClaim, Unread } from '../../ledger/types.ts'
import type { AuditLogStore } from '../audit-log.ts'
import { AUDIT_READER_PAGE, type AuditReaders, isSetBack } from '../audit-readers.ts'
import type { Session } from './connection.ts'
import type { Connections } from './connections.ts'
import { query } from './tables.ts'

interface ReaderRow {
  below: number
  reaching: number
  batch: number
  begun_at: number
  note: string
  is_free: boolean
  last: number
  found: string | null
}

export class PostgresAuditReaders implements AuditReaders {
  setBack: ((reader: string) => void) | undefined
  private readonly connections: Pick<Connections, 'readings'>
  private readonly log: Pick<AuditLogStore, 'page'>

  constructor(connections: Pick<Connections, 'readings'>, log: Pick<AuditLogStore, 'page'>) {
    this.connections = connections
    this.log = log
  }

  async claim({ reader, holder, holdFor, most }: ReaderClaim): Promise<ReaderBatch | undefined> {
    let isSet = false
    const claimed = await this.connections.readings.transaction(async (session) => {
      const insert = sql`insert into ledger_reader (name, below, reaching, batch, begun_at, holder, held_until, seen_at, note)
        values (${reader}, 1, 1, 0, 0, '', 0, headgate_now(), '') on conflict do nothing`
      await session.run(insert.compile(query))
      const before = await lockedReader(session, reader, holder)
      if (!before?.is_free) return undefined
      isSet = isSetBack({ ...before, found: before.found ?? undefined })
      const below = isSet ? 1 : before.below
      const isOpen = before.begun_at > 0 && !isSet
      const hasMore = before.last >= below
      const reaching = isOpen ? before.reaching : hasMore ? Math.min(before.last + 1, below + most) : below
      const number = isOpen || !hasMore ? before.batch : before.batch + 1
      const update = sql<{
        begun_at: number
        note: string
      }>`update ledger_reader set below = ${below}::bigint, reaching = ${reaching}::bigint,
        batch = ${number}::bigint, begun_at = case when ${isOpen} then begun_at when ${hasMore} then headgate_now() else 0 end,
        holder = ${holder}, held_until = headgate_now() + ${Math.ceil(holdFor)}::bigint, seen_at = headgate_now(),
        note = case when ${isSet} then '' else note end
        where name = ${reader} returning begun_at, note`
      const [row] = await session.run(update.compile(query))
      return row && { reader, number, begunAt: row.begun_at, below, reaching, note: row.note }
    })
    if (isSet) this.setBack?.(reader)
    return claimed
  }

  async *pages({ below, reaching }: ReaderBatch): AsyncIterable<readonly AuditRow[]> {
    for (let after = below - 1; after < reaching - 1; ) {
      const rows = await this.log.page({ after, limit: AUDIT_READER_PAGE })
      const last = rows.at(-1)
      if (!last) return
      yield rows.filter(({ sequence }) => sequence < reaching)
      after = last.sequence
    }
  }

  async accept({ reader, number }: ReaderBatch): Promise<boolean> {
    const statement = sql<{ name: string }>`update ledger_reader r set below = r.reaching, begun_at = 0,
      note = coalesce((select hash from audit_entry where sequence = r.reaching - 1), r.note)
      where r.name = ${reader} and r.batch = ${number}::bigint and r.begun_at > 0 returning r.name`
    return (await this.connections.readings.run(statement.compile(query))).length > 0
  }

  async unread(reader: string, _since: number, most: number): Promise<Unread> {
    const statement = sql<{ oldest: number | null; rows: number }>`select min(at) as oldest, count(*) as rows from (
      select at from audit_entry where sequence >= coalesce((select below from ledger_reader where name = ${reader}), 1)
      order by sequence limit ${most}) as unread`
    const [row] = await this.connections.readings.run(statement.compile(query))
    return { oldest: row?.oldest ?? undefined, rows: row?.rows ?? 0 }
  }

  async unreadFrom(readers: readonly string[]): Promise<number> {
    const statement = sql<{ name: string; below: number }>`select name, below from ledger_reader where name = any (${[...readers]}::text[])`
    const rows = await this.connections.readings.run(statement.compile(query))
    return Math.min(...readers.map((reader) => rows.find(({ name }) => name === reader)?.below ?? 1))
  }
}

async function lockedReader(session: Session, reader: string, holder: string): Promise<ReaderRow | undefined> {
  const statement = sql<ReaderRow>`select r.below, r.reaching, r.batch, r.begun_at, r.note,
      (r.holder in (${holder}, '') or r.held_until <= headgate_now()) as is_free,
      (select max(sequence) from audit_head) as last, (select hash from audit_entry where sequence = r.below - 1) as found
    from ledger_reader r where r.name = ${reader} for update of r`
  const [row] = await session.run(statement.compile(query))
  return row
}
