/** Numbers of the holds in the embedded store: what is open, and what is dated ahead of now. */
import type { DatabaseSync } from 'node:sqlite'
import { type DrawnNumbers, MAX_AHEAD } from '../core/ids.ts'
import type { HoldRow } from '../ledger/types.ts'
import { TICKS } from './rows.ts'
import { IS_OPEN } from './settled-below.ts'
import { integer, text } from './sqlite.ts'

const OPEN = `SELECT seq, tag, key, floor FROM hold WHERE ${IS_OPEN} ORDER BY seq`
const DRAWN = 'SELECT (SELECT ifnull(max(seq), 0) FROM hold WHERE seq < ?1) AS last, (SELECT min(seq) FROM hold WHERE seq >= ?1) AS ahead'

export function* openHolds(db: DatabaseSync): Iterable<Pick<HoldRow, 'seq' | 'tag' | 'key' | 'floor'>> {
  for (const row of db.prepare(OPEN).iterate())
    yield { seq: integer(row.seq), tag: text(row.tag), key: text(row.key), floor: integer(row.floor) }
}

/** @param now milliseconds since the epoch. @param to the highest number. */
export function drawnNumbers(db: DatabaseSync, now: number, to: number): DrawnNumbers {
  const found = db.prepare(DRAWN).get((Math.floor(now) + MAX_AHEAD) * TICKS)
  const from = found?.ahead
  return { last: integer(found?.last), ahead: typeof from === 'number' ? { from, to } : undefined }
}
