/**
 * Sums of use that are kept beside the generations, by hour and by day and key, so that no page of an operator reads single
 * generations. The tables have the settled generations below a watermark; later ones are summed here as they are settled, and reach
 * the tables some minutes after. What an earlier process has left above the watermark, by a crash or before there were sums, is read
 * from its rows a page at a time.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { COUNT_COLUMNS } from '../core/ledger-counts.ts'
import { addRow, noSums, sumValues } from '../core/row-counts.ts'
import type { HoldOwner, SettleRow } from '../ledger/types.ts'
import { DAY_MS, HOUR_MS, NANO, type OwnedRow, TICKS } from './rows.ts'
import { atOnce, integer, text } from './sqlite.ts'
import { SqliteClosedDays } from './sqlite-closed-days.ts'
import { fact, MAX_TOKENS, parseUse, SAVED } from './use-facts.ts'

const PAGE = 'SELECT count(*) AS count, max(seq) AS last FROM (SELECT seq FROM hold WHERE seq >= ? AND seq < ? ORDER BY seq LIMIT ?)'

const NAMES = ['model', 'endpoint', 'provider', 'status'] as const
const SUMS = ['count', 'dollars', 'nano', ...COUNT_COLUMNS, 'saved'] as const

/** Milliseconds for which generations are summed here: nearly all are settled then, and each later one costs a statement of its own. */
const AGE = 600_000
/** Sequences of one bucket: 4 seconds. */
const BUCKET = TICKS * 4096
/** Sums that are held here, about 10 MB; beyond, the oldest reach the tables earlier. */
const MAX_SUMS = 20_000

/** @param where which generations. */
const sumsQuery = (where: string): string => `
  SELECT hold.seq / ${TICKS} / ${HOUR_MS} AS hour, key, ${fact('model', 'hold.model')} AS model, ${fact('endpoint', 'hold.endpoint')} AS endpoint,
    ${fact('provider', "''")} AS provider, status, count(*) AS count, sum(cost / ${NANO}) AS dollars, sum(cost % ${NANO}) AS nano,
    ${COUNT_COLUMNS.map((name) => `sum(min(${name}, ${MAX_TOKENS})) AS ${name}`).join(', ')}, total(${SAVED}) AS saved
  FROM hold JOIN settlement USING (seq) WHERE ${where} GROUP BY 1, 2, 3, 4, 5, 6`

function add(table: string, key: readonly string[]): string {
  const columns = [...key, ...NAMES, ...SUMS]
  const plain = SUMS.filter((name) => name !== 'dollars' && name !== 'nano').map((name) => `${name} = ${name} + excluded.${name}`)
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
    ON CONFLICT (${[...key, ...NAMES].join(', ')}) DO UPDATE SET ${plain.join(', ')},
      dollars = dollars + excluded.dollars + (nano + excluded.nano) / ${NANO}, nano = (nano + excluded.nano) % ${NANO}`
}

type SumName = (typeof SUMS)[number]

/** Fields that the generations of one sum have in common. */
interface SumKey {
  readonly hour: number
  readonly key: string
  readonly model: string
  readonly endpoint: string
  readonly provider: string
  readonly status: string
}

/** The sum of some generations of one hour, key, model, endpoint, provider and status. */
export interface UseSum extends SumKey, Record<SumName, number> {}

export class SqliteRollups {
  /** The tables have exactly the settled generations below this sequence. */
  below: number
  /**
   * Generations from this sequence on are summed here; those between `below` and it are still to be read. Infinity until `begin` is called
   * first: a journal that hands its rows to a store of record is read for no sums, and must not gather any.
   */
  start = Number.POSITIVE_INFINITY
  /** Called for each settlement that is committed, before any other work: what reads the sums page by page learns so what has changed meanwhile. */
  readonly watchers = new Set<(row: SettleRow, owner: HoldOwner | undefined) => void>()
  private highest: number
  private readonly recent = new Map<number, Map<string, UseSum>>()
  private size = 0
  /** The sum that was added to last, and its bucket: nearly always it is the next one too. */
  private latest: UseSum | undefined
  private latestBucket = -1
  private readonly db: DatabaseSync
  private readonly days: SqliteClosedDays
  private readonly page: StatementSync
  private readonly ofRange: StatementSync
  private readonly ofNamed: StatementSync
  private readonly addHour: StatementSync
  private readonly addKey: StatementSync
  private addDay: StatementSync | undefined
  private readonly raise: StatementSync
  private readonly oldest: readonly StatementSync[]

  /** @param last the highest sequence in the database. @throws what SQLite throws. */
  constructor(db: DatabaseSync, last: number) {
    this.db = db
    this.days = new SqliteClosedDays(db)
    this.below = integer(db.prepare('SELECT seq FROM use_below').get()?.seq)
    this.highest = Math.max(this.below - 1, last)
    this.page = db.prepare(PAGE)
    this.ofRange = db.prepare(sumsQuery('hold.seq >= ? AND hold.seq <= ?'))
    this.ofNamed = db.prepare(sumsQuery('hold.seq IN (SELECT value FROM json_each(?))'))
    this.addHour = db.prepare(add('use_by_hour', ['hour']))
    this.addKey = db.prepare(add('use_by_key', ['day', 'key']))
    this.raise = db.prepare('UPDATE use_below SET seq = ?')
    const forget = (table: string, column: string): StatementSync =>
      db.prepare(`DELETE FROM ${table} WHERE ${column} < ?1 AND ${column} = (SELECT min(${column}) FROM ${table})`)
    this.oldest = [forget('use_by_key', 'day'), forget('use_by_hour', 'hour')]
  }

  /** Days before this one have their coarser sums, see `sqlite-closed-days.ts`. */
  get closed(): number {
    return this.days.day
  }

  /** A batch of settlements is committed: those that are not in the tables are summed here. */
  committed(settled: readonly OwnedRow[]): void {
    for (const watcher of this.watchers) for (const [row, owner] of settled) watcher(row, owner)
    for (const [row, owner] of settled) if (row.seq >= this.below && row.seq >= this.start && owner) this.count(row, owner)
  }

  /** Adds settled generations below the watermark that are not in the tables; within the caller's transaction. */
  add(seqs: readonly number[]): void {
    this.put(sumsFrom(this.ofNamed.iterate(JSON.stringify(seqs))))
  }

  /** Gathers sums of later generations, if that has not begun. @param last the highest sequence of a hold. */
  begin(last: number): void {
    if (this.start !== Number.POSITIVE_INFINITY) return
    this.start = Math.max(this.below, last + 1)
    this.highest = Math.max(this.highest, last)
  }

  /**
   * Adds to the tables what an earlier process has left, then what has been summed here for some minutes, then closes days; a part of it
   * in one transaction.
   * @param now milliseconds since the epoch. @param most generations, or sums. @param last the highest sequence of a hold. @returns less than `most` where nothing is left to do.
   * @throws what SQLite throws; then nothing has changed.
   */
  roll(now: number, most: number, last: number): number {
    this.begin(last)
    if (this.below < this.start) {
      const page = this.page.get(this.below, this.start, most)
      const count = integer(page?.count)
      this.addRows(count < most ? this.start - 1 : integer(page?.last))
      if (count >= most) return count
    }
    const due: number[] = []
    let count = 0
    let more = false
    for (const [bucket, sums] of [...this.recent].sort(([a], [b]) => a - b)) {
      if (this.size - count <= MAX_SUMS && (bucket + 1) * BUCKET > (now - AGE) * TICKS) break
      more = count >= most
      if (more) break
      due.push(bucket)
      count += sums.size
    }
    const newest = due.at(-1)
    if (newest !== undefined) this.flush(due, (newest + 1) * BUCKET - 1)
    return more || this.closeDays(most) ? most : 0
  }

  /** @returns whether there was something to close. */
  private closeDays(most: number): boolean {
    const part = this.days.next(this.below, most)
    if (!part) return false
    atOnce(this.db, part.write)
    part.committed()
    return true
  }

  /**
   * Has all generations up to this sequence in the tables, by a transaction of the caller's.
   * @returns what belongs within it, and what is to be done once it is committed.
   */
  addingUpTo(last: number): { write(): void; committed(): void } {
    if (last < this.below) return { write: () => {}, committed: () => {} }
    const ownLast = Math.max(last, this.highest)
    const below = (last < this.start ? last : ownLast) + 1
    return {
      write: () => {
        if (this.below < this.start) this.put(sumsFrom(this.ofRange.iterate(this.below, Math.min(last, this.start - 1))))
        if (last >= this.start) this.put(this.sums())
        this.raise.run(below)
      },
      committed: () => {
        this.below = below
        if (last < this.start) return
        this.recent.clear()
        this.latest = undefined
        this.size = 0
      },
    }
  }

  /** Before the file is closed: the next start reads no rows. What cannot be written it reads. */
  close(): void {
    if (this.below < this.start || this.recent.size === 0) return
    try {
      this.flush([...this.recent.keys()], this.highest)
    } catch {}
  }

  /**
   * Forgets the sums of the days whose generations are all there, so that `roll` makes them anew.
   * @returns the first of these days, since the epoch. @throws what SQLite throws; then nothing has changed.
   */
  rebuild(): number {
    const row = this.db
      .prepare('SELECT (SELECT min(seq) FROM hold) AS oldest, EXISTS (SELECT 1 FROM carried WHERE count > 0) AS carried')
      .get()
    // Retention may have removed a part of the oldest day; where nothing is left, nothing can be made anew.
    const removed = row?.oldest === null || row?.carried === 1
    const day = Math.floor(Number(row?.oldest ?? this.below) / TICKS / DAY_MS) + (removed ? 1 : 0)
    const below = Math.min(day * DAY_MS * TICKS, Math.max(this.below, this.highest + 1))
    const reopened = this.days.reopen(day)
    atOnce(this.db, () => {
      reopened.write()
      this.db.prepare('DELETE FROM use_by_key WHERE day >= ?').run(day)
      this.db.prepare('DELETE FROM use_by_hour WHERE hour >= ?').run((day * DAY_MS) / HOUR_MS)
      this.raise.run(below)
    })
    reopened.committed()
    this.below = below
    this.start = Number.POSITIVE_INFINITY
    this.recent.clear()
    this.latest = undefined
    this.size = 0
    return day
  }

  /** Sums that are not in the tables yet, without those that an earlier process has left. */
  *sums(): Iterable<UseSum> {
    for (const sums of this.recent.values()) yield* sums.values()
  }

  /** Removes the oldest day and the oldest hour, where they began before a moment. @returns whether there was one. */
  forget(before: number): boolean {
    const bounds = [Math.floor(before / DAY_MS), Math.floor(before / HOUR_MS)]
    this.days.forget(bounds[0] ?? 0)
    return this.oldest.map((statement, i) => Number(statement.run(bounds[i] ?? 0).changes) > 0).includes(true)
  }

  private count(row: SettleRow, owner: HoldOwner): void {
    const { model, endpoint, provider, saved } = row.use ?? parseUse(row.facts)
    const bucket = Math.floor(row.seq / BUCKET)
    let sums = this.recent.get(bucket)
    if (!sums) {
      sums = new Map()
      this.recent.set(bucket, sums)
    }
    if (row.seq > this.highest) this.highest = row.seq
    const hour = Math.floor(row.seq / TICKS / HOUR_MS)
    const of = { hour, key: owner.key, model: model || owner.model, endpoint: endpoint || owner.endpoint, provider, status: row.status }
    let sum = this.latest
    if (this.latestBucket !== bucket || !sum || !isSameSum(sum, of)) {
      const before = sums.size
      sum = sumIn(sums, of)
      this.size += sums.size - before
      this.latest = sum
      this.latestBucket = bucket
    }
    sum.count++
    sum.dollars += Math.floor(row.cost / NANO)
    sum.nano += row.cost % NANO
    addRow(sum, row, MAX_TOKENS)
    sum.saved += saved
  }

  private addRows(last: number): void {
    atOnce(this.db, () => {
      this.put(sumsFrom(this.ofRange.iterate(this.below, last)))
      this.raise.run(last + 1)
    })
    this.below = last + 1
  }

  /** @param last the watermark is raised beyond it: no bucket with a lower sequence stays. */
  private flush(buckets: readonly number[], last: number): void {
    const sums = buckets.flatMap((bucket) => [...(this.recent.get(bucket)?.values() ?? [])])
    const below = Math.max(this.below, last + 1)
    atOnce(this.db, () => {
      this.put(sums)
      this.raise.run(below)
    })
    this.below = below
    for (const bucket of buckets) this.recent.delete(bucket)
    this.latest = undefined
    this.size -= sums.length
  }

  private put(sums: Iterable<UseSum>): void {
    const hours = new Map<string, UseSum>()
    const days = new Map<string, UseSum>()
    for (const sum of sums) {
      addTo(hours, { ...sum, key: '' })
      addTo(days, { ...sum, hour: Math.floor((sum.hour * HOUR_MS) / DAY_MS) })
    }
    for (const sum of hours.values()) this.addHour.run(sum.hour, ...sumColumns(sum))
    for (const sum of days.values()) {
      this.addKey.run(sum.hour, sum.key, ...sumColumns(sum))
      if (this.days.hasBegun(sum.hour)) this.putLate(sum.hour, sum)
    }
  }

  /** Of a day that is closed, or that is being closed. */
  private putLate(day: number, sum: UseSum): void {
    const { key, model, provider, status, count, dollars, nano, saved } = sum
    const cost = [dollars + Math.floor(nano / NANO), nano % NANO] as const
    this.days.add(day, { key, model, provider, status, count, cost, tokens: sumValues(sum), saved })
    this.addDay ??= this.db.prepare(add('use_by_day', ['day']))
    if (day < this.days.day) this.addDay.run(day, ...sumColumns(sum))
  }
}

function addTo(sums: Map<string, UseSum>, more: UseSum): void {
  const sum = sumIn(sums, more)
  for (const each of SUMS) sum[each] += more[each]
}

function isSameSum(sum: SumKey, of: SumKey): boolean {
  return (
    sum.hour === of.hour &&
    sum.key === of.key &&
    sum.model === of.model &&
    sum.endpoint === of.endpoint &&
    sum.provider === of.provider &&
    sum.status === of.status
  )
}

/** The sum of these generations; one of zeros where there is none yet. */
function sumIn(sums: Map<string, UseSum>, { hour, key, model, endpoint, provider, status }: SumKey): UseSum {
  const name = `${hour}\n${key}\n${model}\n${endpoint}\n${provider}\n${status}`
  let sum = sums.get(name)
  if (!sum) {
    const none = { count: 0, dollars: 0, nano: 0, ...noSums(), saved: 0 }
    sum = { hour, key, model, endpoint, provider, status, ...none }
    sums.set(name, sum)
  }
  return sum
}

function* sumsFrom(rows: Iterable<Record<string, unknown>>): Iterable<UseSum> {
  for (const row of rows)
    yield {
      hour: Number(row.hour),
      key: text(row.key as string),
      model: text(row.model as string),
      endpoint: text(row.endpoint as string),
      provider: text(row.provider as string),
      status: text(row.status as string),
      ...(Object.fromEntries(SUMS.map((name) => [name, Number(row[name])])) as Record<SumName, number>),
    }
}

/** Cost with a rest below a billion, as the tables have it. */
function sumColumns({ model, endpoint, provider, status, dollars, nano, ...sum }: UseSum): (string | number)[] {
  const cost = [dollars + Math.floor(nano / NANO), nano % NANO]
  return [model, endpoint, provider, status, sum.count, ...cost, ...sumValues(sum), sum.saved]
}
