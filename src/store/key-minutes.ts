/**
 * The minutes in which each key was used, so that a search for the generations of a key reads these minutes alone. Written with the
 * holds: at most one row for each key and minute, where an index would have one for each generation.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { HoldRow } from '../ledger/types.ts'
import { MINUTE_MS, TICKS } from './rows.ts'
import { integer, text } from './sqlite.ts'

const MINUTE = MINUTE_MS * TICKS

/** Keys whose last minute is remembered; beyond it all are forgotten, and what is written twice changes nothing. */
const MAX_KEYS = 10_000

const FORGET = `DELETE FROM key_minute WHERE (key, minute) IN (SELECT key, seq / ${MINUTE} FROM hold WHERE seq < ?)`

/** The end of one range of the primary key for each. */
const LAST = `SELECT value AS key, (SELECT max(minute) FROM key_minute WHERE key = value) AS minute FROM json_each(?)
  WHERE EXISTS (SELECT 1 FROM key_minute WHERE key = value)`

/** Before the generations up to this sequence are removed: the minutes that end before it go with them. @throws what SQLite throws. */
export function forgetMinutes(db: DatabaseSync, last: number): void {
  db.prepare(FORGET).run(Math.floor(last / MINUTE) * MINUTE)
}

/** Of a journal that hands its generations over: it is never searched. @throws what SQLite throws. */
export function forgetAllMinutes(db: DatabaseSync): void {
  db.exec('DELETE FROM key_minute')
}

/** Of each key that has one, in one statement. @param keys identities. @throws what SQLite throws. */
export function lastMinutes(db: DatabaseSync, keys: readonly string[]): { key: string; at: number }[] {
  const found = db.prepare(LAST).all(JSON.stringify(keys))
  return found.map((row) => ({ key: text(row.key), at: integer(row.minute) * MINUTE_MS }))
}

export class KeyMinutes {
  private readonly last = new Map<string, number>()
  private readonly insert: StatementSync

  constructor(db: DatabaseSync) {
    this.insert = db.prepare('INSERT INTO key_minute (key, minute) VALUES (?, ?) ON CONFLICT DO NOTHING')
  }

  /** Within the transaction that writes the hold. @throws what SQLite throws. */
  note({ key, seq }: Pick<HoldRow, 'key' | 'seq'>): void {
    const minute = Math.floor(seq / MINUTE)
    if (this.last.get(key) === minute) return
    this.insert.run(key, minute)
    if (this.last.size >= MAX_KEYS) this.last.clear()
    this.last.set(key, minute)
  }

  /** The transaction was refused: its holds may come again. */
  refused(holds: readonly HoldRow[]): void {
    for (const { key } of holds) this.last.delete(key)
  }
}
