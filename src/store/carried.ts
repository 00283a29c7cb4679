/** The balance carried over: old generations leave the embedded store, their sums by key and day stay. */
import type { DatabaseSync } from 'node:sqlite'
import { DAY_MS, TICKS } from './rows.ts'
import { integer, text } from './sqlite.ts'

const MOST = Number.MAX_SAFE_INTEGER

const LAST_OF_BATCH = 'SELECT count(*) AS count, max(seq) AS last FROM (SELECT seq FROM settlement WHERE seq < ? ORDER BY seq LIMIT ?)'
const CARRY = `INSERT INTO carried (key, day, count, cost)
  SELECT key, iif(at > 0, at, seq / ${TICKS}) / ${DAY_MS} AS day, count(*), CAST(min(total(cost), ${MOST}) AS INTEGER)
  FROM hold JOIN settlement USING (seq) WHERE seq <= ? GROUP BY key, day
  ON CONFLICT (key, day) DO UPDATE SET count = count + excluded.count, cost = min(cost + excluded.cost, ${MOST})`
const REMOVE_HOLDS = 'DELETE FROM hold WHERE seq <= ? AND seq IN (SELECT seq FROM settlement WHERE seq <= ?)'
const REMOVE_SETTLEMENTS = 'DELETE FROM settlement WHERE seq <= ?'

/**
 * Removes the oldest settled generations that were admitted before a moment, in one transaction; open ones stay.
 * @param before milliseconds since the epoch. @param most generations of one call.
 * @returns how many were removed. @throws whatever SQLite throws; then nothing has been removed.
 */
export function pruneGenerations(db: DatabaseSync, before: number, most: number): number {
  const batch = db.prepare(LAST_OF_BATCH).get(before * TICKS, most)
  const count = integer(batch?.count)
  if (count === 0) return 0
  const last = integer(batch?.last)
  db.exec('BEGIN IMMEDIATE')
  try {
    db.prepare(CARRY).run(last)
    db.prepare(REMOVE_HOLDS).run(last, last)
    db.prepare(REMOVE_SETTLEMENTS).run(last)
    db.exec('COMMIT')
  } catch (thrown) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw thrown
  }
  return count
}

/** Nano-dollars per key whose generations have been removed. */
export function carriedSums(db: DatabaseSync): Map<string, number> {
  const sums = new Map<string, number>()
  for (const row of db.prepare(`SELECT key, CAST(min(total(cost), ${MOST}) AS INTEGER) AS cost FROM carried GROUP BY key`).all())
    sums.set(text(row.key), integer(row.cost))
  return sums
}
