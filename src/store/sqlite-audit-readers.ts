/** Readers of the audit log in the embedded store, see `audit-readers.ts`. */
import type { DatabaseSync } from 'node:sqlite'
import type { AuditRow } from '../core/audit-entries.ts'
import { Fault } from '../core/faults.ts'
import type { ReaderBatch, ReaderClaim, Unread } from '../ledger/types.ts'
import type { AuditLogStore } from './audit-log.ts'
import { AUDIT_READER_PAGE, type AuditReaders, isSetBack } from './audit-readers.ts'
import { atOnce, integer, Statements, text } from './sqlite.ts'

const BEGIN = `INSERT OR IGNORE INTO ledger_reader (name, below, reaching, batch, begun_at, holder, held_until, seen_at, note)
  VALUES (?, 1, 1, 0, 0, '', 0, 0, '')`
const STATE = 'SELECT below, reaching, batch, begun_at, note FROM ledger_reader WHERE name = ?'
const OPEN = 'UPDATE ledger_reader SET batch = ?, begun_at = ?, reaching = ? WHERE name = ?'
const ACCEPT = `UPDATE ledger_reader SET below = reaching, begun_at = 0,
  note = ifnull((SELECT hash FROM audit_entry WHERE sequence = reaching - 1), note) WHERE name = ? AND batch = ? AND begun_at > 0`
const RESET = "UPDATE ledger_reader SET below = 1, reaching = 1, begun_at = 0, note = '' WHERE name = ?"
const HASH = 'SELECT hash FROM audit_entry WHERE sequence = ?'
const UNREAD = 'SELECT min(at) AS oldest, count(*) AS rows FROM (SELECT at FROM audit_entry WHERE sequence >= ? ORDER BY sequence LIMIT ?)'

export class SqliteAuditReaders implements AuditReaders {
  setBack: ((reader: string) => void) | undefined
  private readonly db: DatabaseSync
  private readonly log: Pick<AuditLogStore, 'page' | 'head'>
  private readonly statements: Statements

  constructor(db: DatabaseSync, log: Pick<AuditLogStore, 'page' | 'head'>) {
    this.db = db
    this.log = log
    this.statements = new Statements(db)
  }

  /** This process owns the file: no other one can hold a reader. */
  claim({ reader, most, now }: ReaderClaim): ReaderBatch {
    return this.guarded(() =>
      atOnce(this.db, () => {
        this.statements.of(BEGIN).run(reader)
        const { sequence: last } = this.head()
        const before = this.state(reader)
        const hash = this.statements.of(HASH).get(before.below - 1)?.hash
        if (isSetBack({ ...before, found: typeof hash === 'string' ? hash : undefined, last })) {
          this.statements.of(RESET).run(reader)
          this.setBack?.(reader)
        }
        const { below, number, begunAt } = this.state(reader)
        if (begunAt === 0 && last >= below)
          this.statements.of(OPEN).run(number + 1, Math.floor(now), Math.min(last + 1, below + most), reader)
        return this.state(reader)
      }),
    )
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

  accept({ reader, number }: ReaderBatch): boolean {
    return this.guarded(() => Number(this.statements.of(ACCEPT).run(reader, number).changes) > 0)
  }

  unread(reader: string, _since: number, most: number): Unread {
    return this.guarded(() => {
      const from = this.unreadFrom([reader])
      const { oldest, rows } = this.statements.of(UNREAD).get(from, most) ?? {}
      return { oldest: typeof oldest === 'number' ? oldest : undefined, rows: Number(rows ?? 0) }
    })
  }

  unreadFrom(readers: readonly string[]): number {
    return Math.min(...readers.map((reader) => Number(this.statements.of(STATE).get(reader)?.below ?? 1)))
  }

  private head(): { sequence: number } {
    const row = this.statements.of('SELECT max(sequence) AS sequence FROM audit_head').get()
    return { sequence: integer(row?.sequence) }
  }

  private state(reader: string): ReaderBatch {
    const row = this.statements.of(STATE).get(reader) ?? {}
    const [below, reaching, number, begunAt] = [integer(row.below), integer(row.reaching), integer(row.batch), integer(row.begun_at)]
    return { reader, number, begunAt, below, reaching, note: text(row.note) }
  }

  private guarded<T>(work: () => T): T {
    try {
      return work()
    } catch (cause) {
      if (cause instanceof Fault) throw cause
      throw new Fault('unavailable', { message: 'The audit log cannot be read', cause })
    }
  }
}
