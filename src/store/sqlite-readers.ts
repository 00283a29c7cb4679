/** Readers of the embedded ledger, see `ledger/types.ts`. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { MAX_AHEAD } from '../core/ids.ts'
import { VERIFY_READER } from '../core/reader-names.ts'
import type { GenerationRecord, KeptSums, LedgerReaders, ReaderBatch, ReaderClaim, Unread } from '../ledger/types.ts'
import { joinRecord, NANO, TICKS } from './rows.ts'
import { IS_OPEN } from './settled-below.ts'
import { atOnce, integer, text } from './sqlite.ts'
import { holdFrom, SETTLED_COLUMNS, settlementFrom } from './sqlite-rows.ts'

/** Generations of one page, which takes less than a millisecond. */
const PAGE = 100

const NOTE = `INSERT OR IGNORE INTO ledger_reader_late (reader, seq, tag, batch)
  SELECT name, ?1, '', 0 FROM ledger_reader WHERE reaching > ?1`
const NOTE_OPEN = `INSERT OR IGNORE INTO ledger_reader_late (reader, seq, tag, batch)
  SELECT name, hold.seq, '', 0 FROM ledger_reader JOIN hold ON hold.seq < reaching WHERE ${IS_OPEN}`
/** Generations that are dated ahead of now: they come with the late ones, which keep those until the reader's bound has passed them. */
const NOTE_AHEAD = `INSERT OR IGNORE INTO ledger_reader_late (reader, seq, tag, batch)
  SELECT ?1, seq, '', 0 FROM settlement
  WHERE seq > max(?2, ifnull((SELECT max(seq) FROM ledger_reader_late WHERE reader = ?1), 0)) ORDER BY seq LIMIT ?3`
/** The `batch` of one that was read although it is dated ahead. */
const EARLY = -1
const KEEP_EARLY = `UPDATE ledger_reader_late SET batch = ${EARLY} WHERE reader = ?1 AND batch = ?2 AND seq >= ?3`
const FORGET_READ = `DELETE FROM ledger_reader_late WHERE reader = ?1 AND seq < ?3 AND batch IN (?2, ${EARLY})`
const BEGIN_READER = `INSERT OR IGNORE INTO ledger_reader (name, below, reaching, batch, begun_at, holder, held_until, seen_at, note)
  VALUES (?1, ?2, ?2, 0, 0, '', 0, 0, '')`
const LAST = 'SELECT max(seq) AS seq FROM (SELECT seq FROM settlement WHERE seq >= ? AND seq < ? ORDER BY seq LIMIT ?)'
/** Without a limit it is found in the tree: the other statement reads every row up to its limit, of 10 million for half a minute. */
const LAST_OF_ALL = 'SELECT max(seq) AS seq FROM settlement WHERE seq >= ? AND seq < ?'
const TAKE_LATE = `UPDATE ledger_reader_late SET batch = ?2 WHERE reader = ?1
  AND seq IN (SELECT seq FROM ledger_reader_late WHERE reader = ?1 AND batch >= 0 ORDER BY seq LIMIT ?3)`
const OPEN_BATCH = 'UPDATE ledger_reader SET batch = ?, begun_at = ?, reaching = ? WHERE name = ?'
const ACCEPT = 'UPDATE ledger_reader SET below = reaching, begun_at = 0, note = ? WHERE name = ? AND batch = ? AND begun_at > 0'
const LATE_PAGE = `SELECT hold.*, ${SETTLED_COLUMNS} FROM ledger_reader_late AS late JOIN hold ON hold.seq = late.seq
  JOIN settlement ON settlement.seq = late.seq WHERE late.reader = ? AND late.batch = ? AND late.seq > ? ORDER BY late.seq LIMIT ${PAGE}`
/** Those that were settled since the batch was begun wait for the next one: so this one stays as it was. */
const RANGE_PAGE = `SELECT hold.*, ${SETTLED_COLUMNS} FROM hold JOIN settlement USING (seq)
  WHERE hold.seq > ?2 AND hold.seq < ?3
    AND NOT EXISTS (SELECT 1 FROM ledger_reader_late AS late WHERE late.reader = ?1 AND late.seq = hold.seq AND late.batch <= 0)
  ORDER BY hold.seq LIMIT ${PAGE}`
const DROP_KEPT = `DELETE FROM reader_sum WHERE (reader, batch, account) IN
  (SELECT reader, batch, account FROM reader_sum WHERE reader = ?1 AND batch <> ?2 LIMIT ?3)`
const NOTE_UNREAD = `INSERT INTO carried_unread (key, payer, dollars, nano)
  SELECT key, payer, sum(cost / ${NANO}) + sum(cost % ${NANO}) / ${NANO}, sum(cost % ${NANO}) % ${NANO} FROM hold JOIN settlement USING (seq)
  WHERE hold.seq <= ?1 AND (hold.seq >= ?2 OR hold.seq IN (SELECT seq FROM ledger_reader_late WHERE reader = ?3)) GROUP BY key, payer
  ON CONFLICT (key, payer) DO UPDATE SET dollars = dollars + excluded.dollars + (nano + excluded.nano) / ${NANO}, nano = (nano + excluded.nano) % ${NANO}`
const UNREAD = `SELECT min(seq) AS oldest, count(*) AS rows FROM (
  SELECT seq FROM (SELECT seq FROM ledger_reader_late WHERE reader = ?1 AND batch >= 0 ORDER BY seq LIMIT ?3)
  UNION ALL SELECT seq FROM (SELECT seq FROM settlement WHERE seq >= ?2
    AND NOT EXISTS (SELECT 1 FROM ledger_reader_late AS late WHERE late.reader = ?1 AND late.seq = settlement.seq AND late.batch = ${EARLY})
    ORDER BY seq LIMIT ?3))`

export class SqliteReaders implements LedgerReaders {
  private readonly db: DatabaseSync
  private readonly logged: (rows: number) => void
  private readonly note: StatementSync
  /** No reader has passed a generation from here on. */
  highest: number

  /** @param logged is called with the rows that a step has written. @throws what SQLite throws. */
  constructor(db: DatabaseSync, logged: (rows: number) => void) {
    this.db = db
    this.logged = logged
    this.note = db.prepare(NOTE)
    this.highest = integer(db.prepare('SELECT ifnull(max(reaching), 0) AS seq FROM ledger_reader').get()?.seq)
  }

  /** A settlement of the transaction that is being written, below `highest`. */
  settledLate(seq: number): void {
    this.note.run(seq)
  }

  /** Before all open holds are settled, within the transaction that does it. */
  settlingOpen(): void {
    this.db.exec(NOTE_OPEN)
  }

  /** This process owns the file: no other one can hold a reader. */
  claim({ reader, since, age, most, ahead = false, now }: ReaderClaim): ReaderBatch {
    const found = this.readerState(reader)
    if (found && found.begunAt > 0) return found
    this.atOnce(() => {
      this.db.prepare(BEGIN_READER).run(reader, Math.max(0, Math.ceil(since * TICKS)))
      const { below, number } = this.readerState(reader) ?? { below: 0, number: 0 }
      const until = Math.max(0, Math.floor((now - age) * TICKS))
      if (ahead) this.db.prepare(NOTE_AHEAD).run(reader, Math.floor(now + MAX_AHEAD) * TICKS, most)
      const isAll = most === Number.MAX_SAFE_INTEGER
      const row = isAll ? this.db.prepare(LAST_OF_ALL).get(below, until) : this.db.prepare(LAST).get(below, until, most)
      const last = row?.seq
      const late = this.db.prepare(TAKE_LATE).run(reader, number + 1, most).changes
      if (typeof last !== 'number' && Number(late) === 0) return
      const reaching = typeof last === 'number' ? last + 1 : below
      this.db.prepare(OPEN_BATCH).run(number + 1, Math.floor(now), reaching, reader)
      this.highest = Math.max(this.highest, reaching)
    })
    const state = this.readerState(reader)
    if (!state) throw new TypeError('expected the reader that was made')
    return state
  }

  *pages({ reader, number, below, reaching }: ReaderBatch): Iterable<readonly GenerationRecord[]> {
    yield* this.paged(LATE_PAGE, (after) => [reader, number, after], -1)
    yield* this.paged(RANGE_PAGE, (after) => [reader, after, reaching], below - 1)
  }

  accept({ reader, number }: ReaderBatch, note: string): boolean {
    let accepted = false
    this.atOnce(() => {
      accepted = Number(this.db.prepare(ACCEPT).run(note, reader, number).changes) > 0
      if (!accepted) return
      const { below } = this.readerState(reader) ?? { below: 0 }
      this.db.prepare(KEEP_EARLY).run(reader, number, below)
      this.db.prepare(FORGET_READ).run(reader, number, below)
    })
    return accepted
  }

  reset(reader: string): void {
    this.atOnce(() => {
      this.db.prepare("UPDATE ledger_reader SET below = 0, reaching = 0, begun_at = 0, note = '' WHERE name = ?").run(reader)
      this.db.prepare('DELETE FROM ledger_reader_late WHERE reader = ?').run(reader)
    })
  }

  keep({ reader, number }: ReaderBatch, sums: readonly KeptSums[]): void {
    const insert = this.db.prepare('INSERT OR REPLACE INTO reader_sum (reader, batch, account, sums) VALUES (?, ?, ?, ?)')
    this.atOnce(() => {
      for (const each of sums) insert.run(reader, number, each.account, each.sums)
    })
  }

  kept(reader: string, batch: number, after: string, most: number): readonly KeptSums[] {
    const rows = this.db
      .prepare('SELECT account, sums FROM reader_sum WHERE reader = ? AND batch = ? AND account > ? ORDER BY account LIMIT ?')
      .all(reader, batch, after, most)
    return rows.map((row) => ({ account: text(row.account), sums: text(row.sums) }))
  }

  dropKept(reader: string, batch: number, most: number): number {
    let dropped = 0
    this.atOnce(() => {
      for (const than of ['<', '>']) dropped += Number(this.db.prepare(DROP_KEPT.replace('<>', than)).run(reader, batch, most).changes)
    })
    return dropped
  }

  /** Within the transaction that removes generations up to this sequence: keeps the sums of those that the check has not read. */
  removing(last: number): void {
    const state = this.readerState(VERIFY_READER)
    if (!state) return
    const late = this.db.prepare('SELECT count(*) AS n FROM ledger_reader_late WHERE reader = ? AND seq <= ?').get(VERIFY_READER, last)
    if (last < state.below && Number(late?.n) === 0) return
    this.db.prepare(NOTE_UNREAD).run(last, state.below, VERIFY_READER)
  }

  unread(reader: string, since: number, most: number): Unread {
    const below = this.readerState(reader)?.below ?? Math.max(0, Math.ceil(since * TICKS))
    const row = this.db.prepare(UNREAD).get(reader, below, most)
    return { oldest: typeof row?.oldest === 'number' ? Math.floor(row.oldest / TICKS) : undefined, rows: Number(row?.rows ?? 0) }
  }

  private readerState(reader: string): ReaderBatch | undefined {
    const row = this.db.prepare('SELECT below, reaching, batch, begun_at, note FROM ledger_reader WHERE name = ?').get(reader)
    if (!row) return undefined
    const [below, reaching, number, begunAt] = [integer(row.below), integer(row.reaching), integer(row.batch), integer(row.begun_at)]
    return { reader, number, begunAt, below, reaching, note: text(row.note) }
  }

  private *paged(sql: string, values: (after: number) => (string | number)[], first: number): Iterable<readonly GenerationRecord[]> {
    const statement = this.db.prepare(sql)
    let after = first
    for (;;) {
      const found = statement.all(...values(after))
      const records = found.flatMap((row) => {
        const hold = holdFrom(row)
        return hold ? [joinRecord(hold, settlementFrom(row))] : []
      })
      const last = records.at(-1)
      if (last) yield records
      if (!last || found.length < PAGE) return
      after = last.hold.seq
    }
  }

  private atOnce(work: () => void): void {
    atOnce(this.db, work)
    this.logged(1)
  }
}
