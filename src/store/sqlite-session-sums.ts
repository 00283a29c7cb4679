/**
 * Sums by session and hour that are kept beside the generations, so that no list of sessions reads single generations. The table has the
 * sums of all hours below one; those of later hours are here, complete, and reach the table once their hour is over: so each session is
 * written once an hour. A sum is written whole, never added to one of an hour that is not over, so that a crash in between does no harm.
 * What an earlier process has left of these hours is read from its rows, a page at a time.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { COUNT_COLUMNS } from '../core/ledger-counts.ts'
import { addRow, noSums, sumValues } from '../core/row-counts.ts'
import type { HoldOwner, SettleRow } from '../ledger/types.ts'
import { HOUR_MS, NANO, type OwnedRow, TICKS } from './rows.ts'
import { HAS_SESSION } from './search-index.ts'
import { atOnce, integer, text } from './sqlite.ts'
import { fact, MAX_TOKENS, parseUse, SAVED } from './use-facts.ts'

export const HOUR_TICKS = HOUR_MS * TICKS
/** Milliseconds after its end for which the sums of an hour stay here: nearly all are settled then. */
const AGE = 600_000
/** Sums that are held here, about 20 MB; beyond, the oldest hour reaches the table early, and what is settled of it later is written at once. */
const MAX_SUMS = 50_000

const NUMBERS = ['count', 'failed', 'dollars', 'nano', ...COUNT_COLUMNS, 'saved'] as const
const COLUMNS = ['hour', 'key', 'session', 'models', ...NUMBERS, 'first', 'last']
const INSERT = `INSERT INTO session_use (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})`
const ADD = `${INSERT} ON CONFLICT (hour, key, session) DO UPDATE SET
  models = (SELECT json_group_array(value) FROM (SELECT value FROM json_each(models) UNION SELECT value FROM json_each(excluded.models))),
  ${NUMBERS.filter((name) => name !== 'dollars' && name !== 'nano')
    .map((name) => `${name} = ${name} + excluded.${name}`)
    .join(', ')},
  dollars = dollars + excluded.dollars + (nano + excluded.nano) / ${NANO}, nano = (nano + excluded.nano) % ${NANO},
  first = min(first, excluded.first), last = max(last, excluded.last)`
const REPLACE = INSERT.replace('INSERT', 'INSERT OR REPLACE')
const REMOVE = `DELETE FROM session_use WHERE (hour, key, session) IN
  (SELECT hour, key, session FROM session_use WHERE hour >= ? AND hour <= ? LIMIT ?)`
const PAGE = 'SELECT count(*) AS count, max(seq) AS last FROM (SELECT seq FROM hold WHERE seq >= ? AND seq < ? ORDER BY seq LIMIT ?)'
/** The generations of one page that name a session, by model. */
const SUMS = `SELECT hold.seq / ${HOUR_TICKS} AS hour, key, ${fact('session_id', "''")} AS session, ${fact('model', 'hold.model')} AS model,
    count(*) AS count, sum(status IN ('failed', 'unknown')) AS failed, sum(cost / ${NANO}) AS dollars, sum(cost % ${NANO}) AS nano,
    ${COUNT_COLUMNS.map((name) => `sum(min(${name}, ${MAX_TOKENS})) AS ${name}`).join(', ')},
    total(${SAVED}) AS saved, min(hold.seq) AS first, max(hold.seq) AS last
  FROM hold JOIN settlement USING (seq) WHERE hold.seq >= ? AND hold.seq <= ? AND ${HAS_SESSION.sqlite} GROUP BY 1, 2, 3, 4`

type NumberName = (typeof NUMBERS)[number]

/** The sum of the generations of one session that were admitted in one hour. */
export interface SessionSum extends Record<NumberName, number> {
  readonly key: string
  readonly session: string
  readonly models: string[]
  /** Sequences. */
  first: number
  last: number
}

type Hour = Map<string, SessionSum>

/** An hour on its way to the table. */
interface Flush {
  readonly hour: number
  /** The table may still have rows of earlier sums of this hour. */
  stale: boolean
  readonly left: Set<SessionSum>
}

export class SqliteSessionSums {
  /** The table has exactly the settled generations of the hours (since the epoch) below this one. */
  below: number
  /** Of later hours, those below this sequence are summed here, and those from `start` on: the others are still to be read. */
  private read: number
  /** Infinity until `roll` is called first: a journal that hands its rows to a store of record must not gather sums. */
  private start = Number.POSITIVE_INFINITY
  private readonly hours = new Map<number, Hour>()
  private size = 0
  private flush: Flush | undefined
  private readonly db: DatabaseSync
  private readonly page: StatementSync
  private readonly sums: StatementSync
  private readonly add: StatementSync
  private readonly replace: StatementSync
  private readonly remove: StatementSync
  private readonly raise: StatementSync

  /** @throws what SQLite throws. */
  constructor(db: DatabaseSync) {
    this.db = db
    this.below = integer(db.prepare('SELECT hour FROM session_below').get()?.hour)
    this.read = this.below * HOUR_TICKS
    this.page = db.prepare(PAGE)
    this.sums = db.prepare(SUMS)
    this.add = db.prepare(ADD)
    this.replace = db.prepare(REPLACE)
    this.remove = db.prepare(REMOVE)
    this.raise = db.prepare('UPDATE session_below SET hour = ?')
  }

  /**
   * Writes what the table needs of the settlements of a batch, within its transaction.
   * @returns those that are summed here, once that is committed.
   */
  write(rows: readonly OwnedRow[]): readonly Settled[] {
    const here: Settled[] = []
    const late = new Map<number, Hour>()
    for (const [row, owner] of rows) {
      if (!owner || (row.seq >= this.read && row.seq < this.start)) continue
      const use = row.use ?? parseUse(row.facts)
      if (use.session === '') continue
      const settled = { row, owner, session: use.session, model: use.model || owner.model, saved: use.saved }
      if (row.seq < this.below * HOUR_TICKS) count(late, settled)
      else here.push(settled)
    }
    for (const [hour, of] of late) for (const sum of of.values()) this.add.run(hour, ...sumColumns(sum))
    return here
  }

  /** @param settled what `write` has returned. */
  committed(settled: readonly Settled[]): void {
    for (const each of settled) this.count(each)
  }

  /**
   * Reads what an earlier process has left, then writes the hours that are over; a part of it.
   * @param now milliseconds since the epoch. @param most generations, or sums. @param last the highest sequence of a hold. @returns less than
   * `most` where nothing is left to do. @throws what SQLite throws; then nothing has changed.
   */
  roll(now: number, most: number, last: number): number {
    if (this.start === Number.POSITIVE_INFINITY) this.start = Math.max(this.read, last + 1)
    const flush = this.flush ?? this.due(now)
    if (flush) {
      this.writeHour(flush, most)
      return this.flush || this.due(now) || this.read < this.start ? most : 0
    }
    if (this.read < this.start) {
      const count = this.readPage(most)
      return count < most && this.due(now) ? most : count
    }
    // Retention has removed all generations of these hours.
    const oldest = this.db.prepare('SELECT min(seq) AS seq FROM hold').get()?.seq
    const hour = typeof oldest === 'number' ? Math.floor(oldest / HOUR_TICKS) : this.below
    return Number(this.remove.run(0, Math.min(hour, this.below) - 1, most).changes)
  }

  /** Forgets the sums from an hour on, so that `roll` makes them anew. @throws what SQLite throws; then nothing has changed. */
  rebuild(hour: number): void {
    const below = Math.min(hour, this.below)
    this.raise.run(below)
    this.below = below
    this.read = below * HOUR_TICKS
    this.start = Number.POSITIVE_INFINITY
    this.hours.clear()
    this.size = 0
    this.flush = undefined
  }

  /** The sums of an hour that is not below the watermark. */
  *of(hour: number): Iterable<SessionSum> {
    yield* this.hours.get(hour)?.values() ?? []
  }

  /** The sum of one session of an hour that is not below the watermark. */
  findSum(hour: number, key: string, session: string): SessionSum | undefined {
    return this.hours.get(hour)?.get(sessionKey(key, session))
  }

  /** The hours, not below the watermark, of which some generations are still to be read: from one to before the other. */
  get unsummed(): { readonly first: number; readonly end: number } | undefined {
    if (this.read >= this.start) return undefined
    return { first: Math.floor(this.read / HOUR_TICKS), end: Math.ceil(this.start / HOUR_TICKS) }
  }

  /** The first hour from this one on that has sums here. */
  hourFrom(hour: number): number | undefined {
    const later = [...this.hours.keys()].filter((each) => each >= hour)
    return later.length === 0 ? undefined : Math.min(...later)
  }

  private due(now: number): Flush | undefined {
    const hour = this.hourFrom(this.below)
    if (hour === undefined) return undefined
    const end = (hour + 1) * HOUR_TICKS
    if (end > this.read && this.read < this.start) return undefined
    if (end > (now - AGE) * TICKS && this.size <= MAX_SUMS) return undefined
    this.flush = { hour, stale: true, left: new Set(this.hours.get(hour)?.values()) }
    return this.flush
  }

  private writeHour(flush: Flush, most: number): void {
    const { hour, left } = flush
    if (flush.stale) {
      if (Number(this.remove.run(this.below, hour, most).changes) >= most) return
      flush.stale = false
    }
    const part: SessionSum[] = []
    for (const sum of left) if (part.push(sum) >= most) break
    const isLast = part.length === left.size
    atOnce(this.db, () => {
      for (const sum of part) this.replace.run(hour, ...sumColumns(sum))
      if (isLast) this.raise.run(hour + 1)
    })
    for (const sum of part) left.delete(sum)
    if (isLast) {
      this.below = hour + 1
      this.size -= this.hours.get(hour)?.size ?? 0
      this.hours.delete(hour)
      this.flush = undefined
    }
  }

  private readPage(most: number): number {
    const found = this.page.get(this.read, this.start, most)
    const count = integer(found?.count)
    const last = count < most ? this.start - 1 : integer(found?.last)
    for (const row of this.sums.all(this.read, last)) {
      if (row.session === '') continue
      const hour = hourIn(this.hours, integer(row.hour))
      const before = hour.size
      const sum = sumIn(hour, text(row.key), text(row.session), integer(row.first))
      this.size += hour.size - before
      addModel(sum, text(row.model))
      for (const name of NUMBERS) sum[name] += Number(row[name])
      sum.last = Math.max(sum.last, integer(row.last))
      sum.first = Math.min(sum.first, integer(row.first))
    }
    this.read = last + 1
    return count
  }

  private count(settled: Settled): void {
    const hour = hourIn(this.hours, Math.floor(settled.row.seq / HOUR_TICKS))
    const before = hour.size
    const sum = add(hour, settled)
    this.size += hour.size - before
    // What has been written of it is no longer all.
    if (this.flush && this.hours.get(this.flush.hour) === hour) this.flush.left.add(sum)
  }
}

interface Settled {
  readonly row: SettleRow
  readonly owner: HoldOwner
  readonly session: string
  readonly model: string
  readonly saved: number
}

function count(hours: Map<number, Hour>, settled: Settled): void {
  add(hourIn(hours, Math.floor(settled.row.seq / HOUR_TICKS)), settled)
}

function hourIn(hours: Map<number, Hour>, hour: number): Hour {
  let sums = hours.get(hour)
  if (!sums) {
    sums = new Map()
    hours.set(hour, sums)
  }
  return sums
}

const sessionKey = (key: string, session: string): string => `${key.length} ${key}${session}`

function sumIn(hour: Hour, key: string, session: string, seq: number): SessionSum {
  const name = sessionKey(key, session)
  let sum = hour.get(name)
  if (!sum) {
    const none = { count: 0, failed: 0, dollars: 0, nano: 0, ...noSums(), saved: 0 }
    sum = { key, session, models: [], ...none, first: seq, last: seq }
    hour.set(name, sum)
  }
  return sum
}

function add(hour: Hour, { row, owner, session, model, saved }: Settled): SessionSum {
  const sum = sumIn(hour, owner.key, session, row.seq)
  addModel(sum, model)
  sum.count++
  if (row.status === 'failed' || row.status === 'unknown') sum.failed++
  sum.dollars += Math.floor(row.cost / NANO)
  sum.nano += row.cost % NANO
  addRow(sum, row, MAX_TOKENS)
  sum.saved += saved
  if (row.seq < sum.first) sum.first = row.seq
  if (row.seq > sum.last) sum.last = row.seq
  return sum
}

function addModel({ models }: SessionSum, model: string): void {
  if (!models.includes(model)) models.push(model)
}

/** All but the hour; cost with a rest below a billion. */
function sumColumns({ key, session, models, count, failed, dollars, nano, ...sum }: SessionSum): (string | number)[] {
  const cost = [dollars + Math.floor(nano / NANO), nano % NANO]
  return [key, session, JSON.stringify(models), count, failed, ...cost, ...sumValues(sum), sum.saved, sum.first, sum.last]
}
