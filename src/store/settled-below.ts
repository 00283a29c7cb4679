/**
 * Below which sequence the embedded store has no open generation, so that a start looks for what a crash has left open among the
 * latest rows only. Raised beside the work; a hold that comes below it lowers it again, in the transaction that writes the hold.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { TICKS } from './rows.ts'
import { integer } from './sqlite.ts'

/** Holds that no settlement follows. Both subqueries are found in the trees. */
export const IS_OPEN = 'hold.seq >= (SELECT seq FROM settled_below) AND hold.seq NOT IN (SELECT seq FROM settlement)'

/** Milliseconds: of younger generations many still run, and holds are written in another order than they were numbered. */
const AGE = 60_000

const PAGE = `SELECT count(*) AS count, max(seq) AS last, min(iif(settled IS NULL, seq, NULL)) AS open FROM (
  SELECT hold.seq AS seq, settlement.seq AS settled FROM hold LEFT JOIN settlement USING (seq)
  WHERE hold.seq >= ? AND hold.seq < ? ORDER BY hold.seq LIMIT ?)`
const LOWEST_OPEN = `SELECT min(seq) AS seq FROM hold
  WHERE seq IN (SELECT value FROM json_each(?)) AND seq NOT IN (SELECT seq FROM settlement)`

export class SettledBelow {
  private readonly db: DatabaseSync
  private readonly page: StatementSync
  private readonly write: StatementSync
  /** The mark: no generation below it is open. */
  seq: number

  /** @throws what SQLite throws. */
  constructor(db: DatabaseSync) {
    this.db = db
    this.page = db.prepare(PAGE)
    this.write = db.prepare('UPDATE settled_below SET seq = ?')
    this.seq = integer(db.prepare('SELECT seq FROM settled_below').get()?.seq)
  }

  /**
   * Writes a lower mark for holds that came below it, behind the settlements of their batch and within its transaction.
   * @returns the mark, which holds once that is committed; the same as before where none of them is open.
   */
  lower(late: readonly number[]): number {
    const lowest = this.db.prepare(LOWEST_OPEN).get(JSON.stringify(late))?.seq
    if (typeof lowest !== 'number') return this.seq
    this.write.run(lowest)
    return lowest
  }

  /**
   * Raises the mark past generations that are settled by now.
   * @param now milliseconds since the epoch. @param most rows that are read. @param last the highest sequence of a hold.
   * @returns less than `most` where nothing is left to do. @throws what SQLite throws; then nothing has changed.
   */
  advance(now: number, most: number, last: number): number {
    const until = Math.min(last + 1, Math.floor((now - AGE) * TICKS))
    if (this.seq >= until) return 0
    const row = this.page.get(this.seq, until, most)
    const count = integer(row?.count)
    const open = typeof row?.open === 'number' ? row.open : undefined
    this.raise(open ?? (count < most ? until : integer(row?.last) + 1))
    return open === undefined ? count : 0
  }

  /** Nothing is open any more: at the start, when what was left open has been settled. @throws what SQLite throws. */
  raise(seq: number): void {
    if (seq <= this.seq) return
    this.write.run(seq)
    this.seq = seq
  }
}
