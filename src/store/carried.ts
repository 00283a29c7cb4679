/** The balance carried over: old generations leave the embedded store, their sums by key and day stay. */
import type { DatabaseSync } from 'node:sqlite'
import { oldestCounted, windowStarts } from '../core/windows.ts'
import { ADD_CARRIED, type ChargedSums, takeOff } from './charged.ts'
import { forgetMinutes } from './key-minutes.ts'
import { DAY_MS, TICKS } from './rows.ts'
import { integer, text } from './sqlite.ts'
import type { SqliteReaders } from './sqlite-readers.ts'
import type { SqliteRollups } from './sqlite-rollups.ts'

const LAST_OF_BATCH = 'SELECT count(*) AS count, max(seq) AS last FROM (SELECT seq FROM settlement WHERE seq < ? ORDER BY seq LIMIT ?)'
const REMOVE_HOLDS = 'DELETE FROM hold WHERE seq <= ? AND seq IN (SELECT seq FROM settlement WHERE seq <= ?)'
const REMOVE_SETTLEMENTS = 'DELETE FROM settlement WHERE seq <= ?'

/** Sums and readers that must have counted generations before these are removed. */
export interface KeptSums {
  readonly charged: ChargedSums
  readonly rollups: SqliteRollups
  readonly readers: SqliteReaders
}

/** @returns under which day a sum is kept: its own as long as a window may count it, then the first of its month. */
function folder(now: number): (day: number) => number {
  const open = openDay(now)
  return (day) => (day < open ? dayMonth(day) : day)
}

const openDay = (now: number): number => Math.floor(oldestCounted(now) / DAY_MS)
const dayMonth = (day: number): number => windowStarts(day * DAY_MS).monthly / DAY_MS

const LAST_OF_PAGE = 'SELECT key FROM carried WHERE key > ? ORDER BY key LIMIT 1 OFFSET ?'
const OF_PAGE = 'SELECT key, payer, day, count, dollars, nano FROM carried WHERE key > ?1 AND (?2 IS NULL OR key <= ?2) AND day < ?3'
const REMOVE_SUM = 'DELETE FROM carried WHERE key = ? AND payer = ? AND day = ?'

/**
 * Makes one row of each key's days of a month that no window counts any more, of about `most` rows at once, in the order of the keys; from
 * the beginning again when windows have passed since. @returns `most`, or 0 where nothing is left to do. @throws what SQLite throws.
 */
export function foldCarried(db: DatabaseSync, charged: ChargedSums, now: number, most: number): number {
  const state = db.prepare('SELECT day, key FROM carried_folded').get()
  const [done, after, open] = [integer(state?.day), text(state?.key), openDay(now)]
  if (done >= open) return 0
  const end = db.prepare(LAST_OF_PAGE).get(after, most - 1)?.key
  const last = end === undefined ? null : text(end)
  const rows = db.prepare(OF_PAGE).all(after, last, open)
  charged.atOnce(() => {
    const [remove, carry] = [db.prepare(REMOVE_SUM), db.prepare(ADD_CARRIED)]
    for (const row of rows) {
      const [key, payer, day] = [text(row.key), text(row.payer), integer(row.day)]
      if (day === dayMonth(day)) continue
      remove.run(key, payer, day)
      carry.run(key, payer, dayMonth(day), integer(row.count), integer(row.dollars), integer(row.nano))
    }
    db.prepare('UPDATE carried_folded SET day = ?, key = ?').run(last === null ? open : done, last ?? '')
  })
  return last === null ? 0 : most
}

/**
 * Removes the oldest settled generations that were admitted before a moment, in one transaction; open ones stay.
 * @param before milliseconds since the epoch. @param most generations of one call.
 * @returns how many were removed. @throws whatever SQLite throws; then nothing has been removed.
 */
export function pruneGenerations(
  db: DatabaseSync,
  { charged, rollups, readers, now }: KeptSums & { readonly now: number },
  before: number,
  most: number,
): number {
  const batch = db.prepare(LAST_OF_BATCH).get(before * TICKS, most)
  const count = Number(batch?.count ?? 0)
  if (count === 0) return 0
  const last = Number(batch?.last)
  const sums = rollups.addingUpTo(last)
  charged.atOnce(() => {
    sums.write()
    readers.removing(last)
    takeOff(db, { where: 'seq <= ?', value: last }, folder(now))
    forgetMinutes(db, last)
    db.prepare(REMOVE_HOLDS).run(last, last)
    db.prepare(REMOVE_SETTLEMENTS).run(last)
  })
  sums.committed()
  return count
}
