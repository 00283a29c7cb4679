/** The balance carried over: old generations leave the embedded store, their sums by key and day stay. */
import type { DatabaseSync } from 'node:sqlite'
import { type ChargedSums, takeOff } from './charged.ts'
import { forgetMinutes } from './key-minutes.ts'
import { TICKS } from './rows.ts'
import type { SqliteRollups } from './sqlite-rollups.ts'

const LAST_OF_BATCH = 'SELECT count(*) AS count, max(seq) AS last FROM (SELECT seq FROM settlement WHERE seq < ? ORDER BY seq LIMIT ?)'
const REMOVE_HOLDS = 'DELETE FROM hold WHERE seq <= ? AND seq IN (SELECT seq FROM settlement WHERE seq <= ?)'
const REMOVE_SETTLEMENTS = 'DELETE FROM settlement WHERE seq <= ?'

/** What has to have the generations before they go. */
export interface KeptSums {
  readonly charged: ChargedSums
  readonly rollups: SqliteRollups
}

/**
 * Removes the oldest settled generations that were admitted before a moment, in one transaction; open ones stay.
 * @param before milliseconds since the epoch. @param most generations of one call.
 * @returns how many were removed. @throws whatever SQLite throws; then nothing has been removed.
 */
export function pruneGenerations(db: DatabaseSync, { charged, rollups }: KeptSums, before: number, most: number): number {
  const batch = db.prepare(LAST_OF_BATCH).get(before * TICKS, most)
  const count = Number(batch?.count ?? 0)
  if (count === 0) return 0
  const last = Number(batch?.last)
  const sums = rollups.addingUpTo(last)
  charged.atOnce(() => {
    sums.write()
    takeOff(db, { where: 'seq <= ?', value: last }, true)
    forgetMinutes(db, last)
    db.prepare(REMOVE_HOLDS).run(last, last)
    db.prepare(REMOVE_SETTLEMENTS).run(last)
  })
  sums.committed()
  return count
}
