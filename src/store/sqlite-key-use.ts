/**
 * Sums of use of whole days of each key apart, over all keys: a day of many keys takes longer than the event loop has, so a page has the
 * sums of some keys. Those of the days that still change, and what is summed in memory, are of one moment for each key.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { UseGroup, UsePage, UseQuery, UseRow } from '../ledger/types.ts'
import { DAY_MS, HOUR_MS, TICKS } from './rows.ts'
import { text } from './sqlite.ts'
import type { SqliteRollups } from './sqlite-rollups.ts'
import { useFrom, useOf } from './sqlite-use-rows.ts'

/** Sums of the table that a page reads; some more, since it has whole keys. */
const SUMS = 1_000
/** Behind all keys: SQLite has a blob behind each text. */
const END = new Uint8Array()
type Bound = string | typeof END

const BOUND = 'SELECT key FROM use_by_key WHERE day = ?1 AND key > ?2 ORDER BY key LIMIT 1 OFFSET ?3'

/** @param apart absent: all that the table has. */
function rowsOf(apart: readonly UseGroup[] | undefined): string {
  const names = (['model', 'provider'] as const).filter((name) => apart?.includes(name))
  const named = (name: 'model' | 'provider'): string => `${names.includes(name) ? name : "''"} AS ${name}`
  const joined = `${apart?.includes('day') ? '?1' : '0'} AS day, ${named('model')}, '' AS endpoint, ${named('provider')}, 1 AS answered,
    sum(iif(status = 'failed' OR status = 'unknown', count, 0)) AS failed`
  const all = "?1 AS day, model, endpoint, provider, status NOT IN ('failed', 'unknown') AS answered"
  return `SELECT key, ${apart ? joined : all}, sum(count) AS requests, sum(dollars) AS dollars, sum(nano) AS nano, sum(input) AS input,
    sum(output) AS output, sum(reasoning) AS reasoning, total(saved) AS saved
    FROM use_by_key WHERE day = ?1 AND key > ?2 AND key <= ?3
    GROUP BY ${['key', ...(apart ? names : ['model', 'endpoint', 'provider', 'answered'])].join(', ')}`
}

/** `<watermark> <day> <key that was read last>`, and `open` for the days that still change. */
const PLACE = /^(\d+) (open|-?\d+) (.*)$/s

export class SqliteKeyUse {
  private readonly db: DatabaseSync
  private readonly rollups: Pick<SqliteRollups, 'below' | 'start' | 'sums'>
  private readonly size: number
  private readonly bound: StatementSync
  private readonly rows = new Map<string, StatementSync>()

  constructor(db: DatabaseSync, rollups: Pick<SqliteRollups, 'below' | 'start' | 'sums'>, size = SUMS) {
    this.db = db
    this.rollups = rollups
    this.size = size
    this.bound = db.prepare(BOUND)
  }

  /**
   * First the days from the watermark's on with what is summed in memory, then each earlier day.
   * @param after '' begins. @returns a `next` without a space, a sequence, where rows come next that are in no sum. @throws what SQLite throws.
   */
  read(query: UseQuery, after: string): UsePage {
    const [from, until] = [query.from / DAY_MS, query.until / DAY_MS]
    const place = PLACE.exec(after)
    const below = place ? Number(place[1]) : this.rollups.below
    const day = place && place[2] !== 'open' ? Number(place[2]) : undefined
    const key = place?.[3] ?? ''
    const open = Math.max(from, Math.floor(below / TICKS / DAY_MS))
    const days = day === undefined ? daysBetween(open, until) : [day]
    const isLeft = below < this.rollups.start
    // What an earlier process has left moves to the tables by and by: these are read at once, and it as it is now.
    const bound = day === undefined && isLeft ? END : this.boundOf(days, key)
    const rows = days.flatMap((each) => this.statement(query.apart).all(each, key, bound).map(useFrom))
    if (day === undefined) rows.push(...this.inMemory(query, key, bound))
    if (typeof bound === 'string') return { rows, next: `${below} ${day ?? 'open'} ${bound}` }
    const next = Math.min(day ?? open, until) - 1
    if (next >= from) return { rows, next: `${below} ${next} ` }
    return isLeft ? { rows, next: String(Math.max(below, query.from * TICKS) - 1) } : { rows }
  }

  /** The last key of a page that begins behind `key`. */
  private boundOf(days: readonly number[], key: string): Bound {
    let bound: Bound = END
    for (const day of days) {
      const found = this.bound.get(day, key, this.size - 1)
      if (!found) continue
      const last = text(found.key)
      if (typeof bound !== 'string' || order(last, bound) < 0) bound = last
    }
    return bound
  }

  private statement(apart: readonly UseGroup[] | undefined): StatementSync {
    const name = apart?.join() ?? 'all'
    const known = this.rows.get(name)
    if (known) return known
    const made = this.db.prepare(rowsOf(apart))
    this.rows.set(name, made)
    return made
  }

  private inMemory({ from, until }: UseQuery, key: string, bound: Bound): UseRow[] {
    const rows: UseRow[] = []
    for (const sum of this.rollups.sums()) {
      const at = sum.hour * HOUR_MS
      if (at < from || at >= until || order(sum.key, key) <= 0) continue
      if (typeof bound !== 'string' || order(sum.key, bound) <= 0) rows.push(useOf(sum, true))
    }
    return rows
  }
}

function daysBetween(from: number, until: number): number[] {
  return Array.from({ length: Math.max(0, until - from) }, (_, at) => from + at)
}

/** As SQLite has texts, which is by their bytes: JavaScript has characters beyond 65,535 before some others. */
function order(a: string, b: string): number {
  if (HIGH.test(a) || HIGH.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return a < b ? -1 : a > b ? 1 : 0
}
const HIGH = /[\ud800-\uffff]/
