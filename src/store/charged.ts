/**
 * Sums of the settled generations that the embedded store has, by key, payer and day of the charge, so that neither the
 * start nor a look at what was spent reads all rows. The table has the settlements below a watermark; those above it are
 * summed here, and after a crash from their rows. So a settlement seldom writes a page of the table.
 */

import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { COUNT_COLUMNS } from '../core/ledger-counts.ts'
import type { DatedCharges, DayCharge, HoldOwner, KeyCharges, SettleRow } from '../ledger/types.ts'
import { chargedAt, DAY_MS, NANO, TICKS } from './rows.ts'
import { IS_OPEN } from './settled-below.ts'
import { atOnce, bigInteger, integer, text } from './sqlite.ts'
import type { SqliteReaders } from './sqlite-readers.ts'
import type { SqliteRollups } from './sqlite-rollups.ts'

/** The sums are written when they have this many settlements, or when there are this many of them: about a millisecond. */
const MAX_SETTLEMENTS = 1_000
const MAX_SUMS = 200
/** Rows of a table that a page of sums reads. */
const PAGE_ROWS = 500

interface Sum {
  readonly key: string
  readonly payer: string
  readonly day: number
  count: number
  dollars: number
  /** Below a billion. */
  nano: number
}

const add = (table: 'charged' | 'carried'): string => `INSERT INTO ${table} (key, payer, day, count, dollars, nano)
  VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key, payer, day) DO UPDATE SET count = count + excluded.count,
    dollars = dollars + excluded.dollars + (nano + excluded.nano) / ${NANO}, nano = (nano + excluded.nano) % ${NANO}`
export const ADD_CARRIED = add('carried')
const TAKE_OFF = `UPDATE charged SET count = count - ?1, dollars = dollars - ?2 - (nano < ?3), nano = nano - ?3 + ${NANO} * (nano < ?3)
  WHERE key = ?4 AND payer = ?5 AND day = ?6`
const DROP_EMPTY = 'DELETE FROM charged WHERE key = ? AND payer = ? AND day = ? AND count = 0'
/** Sums of settled generations. @param where which. */
const sumsQuery = (where: string): string => `SELECT key, payer, iif(at > 0, at, seq / ${TICKS}) / ${DAY_MS} AS day, count(*) AS count,
    sum(cost / ${NANO}) + sum(cost % ${NANO}) / ${NANO} AS dollars, sum(cost % ${NANO}) % ${NANO} AS nano
  FROM hold JOIN settlement USING (seq) WHERE ${where} GROUP BY key, payer, day`
/** Holds without a settlement are charged at their floor, on the day of their admission. */
const ADD_OPEN = `INSERT INTO charged (key, payer, day, count, dollars, nano)
  SELECT key, payer, seq / ${TICKS} / ${DAY_MS} AS day, count(*), sum(floor / ${NANO}) + sum(floor % ${NANO}) / ${NANO}, sum(floor % ${NANO}) % ${NANO}
  FROM hold WHERE ${IS_OPEN} GROUP BY key, payer, day
  ON CONFLICT (key, payer, day) DO UPDATE SET count = count + excluded.count,
    dollars = dollars + excluded.dollars + (nano + excluded.nano) / ${NANO}, nano = (nano + excluded.nano) % ${NANO}`
const RECONCILE = `INSERT INTO settlement (seq, status, cost, ${COUNT_COLUMNS.join(', ')}, estimated, facts)
  SELECT seq, 'unknown', floor, ${COUNT_COLUMNS.map(() => 0).join(', ')}, 1, '{}' FROM hold WHERE ${IS_OPEN}`
const OPEN_BELOW = `SELECT seq FROM hold WHERE seq < ? AND ${IS_OPEN}`
/** In the order of the primary key, so that nothing is sorted, and read once: a start reads them all. */
const CHARGES = ['charged', 'carried'].map(
  (table) => `SELECT key, payer, sum(dollars) AS dollars, sum(nano) AS nano,
    group_concat(day || ' ' || dollars || ' ' || nano) FILTER (WHERE day >= ?) AS days FROM ${table} GROUP BY key, payer`,
)
const RAISE_WATERMARK = 'UPDATE charged_below SET seq = ?'

class Sums {
  /** Settlements in all of them. */
  count = 0
  private readonly byName = new Map<string, Sum>()
  /** The sum that was added to last: nearly always it is the next one too. */
  private latest: Sum | undefined

  get size(): number {
    return this.byName.size
  }

  values(): Iterable<Readonly<Sum>> {
    return this.byName.values()
  }

  /** @param nano what is charged beside the whole dollars, below 2^53. */
  add(of: Pick<Sum, 'key' | 'payer' | 'day'>, count: number, dollars: number, nano: number): void {
    const sum = this.openSum(of)
    const rest = sum.nano + (nano % NANO)
    sum.dollars += dollars + Math.floor(nano / NANO) + Math.floor(rest / NANO)
    sum.nano = rest % NANO
    sum.count += count
    this.count += count
  }

  clear(): void {
    if (this.count === 0) return
    this.count = 0
    this.byName.clear()
    this.latest = undefined
  }

  private openSum({ key, payer, day }: Pick<Sum, 'key' | 'payer' | 'day'>): Sum {
    const { latest } = this
    if (latest && latest.day === day && latest.key === key && latest.payer === payer) return latest
    const name = `${day} ${key} ${payer}`
    let sum = this.byName.get(name)
    if (!sum) {
      sum = { key, payer, day, count: 0, dollars: 0, nano: 0 }
      this.byName.set(name, sum)
    }
    this.latest = sum
    return sum
  }
}

export class ChargedSums {
  private readonly db: DatabaseSync
  private readonly insert: StatementSync
  private readonly raise: StatementSync
  /** Holds that were refused since their number was taken: what settles them may name another owner than the row's. */
  private readonly taken = new Set<number>()
  /** The table has exactly the settlements below this sequence. */
  private watermark: number
  /** Highest sequence of a settlement so far. */
  private highest: number
  /** Committed settlements from the watermark on. */
  private readonly recent = new Sums()
  /** Settlements of the transaction that is being written, from the watermark on and below it. */
  private readonly batch = new Sums()
  private readonly late = new Sums()
  /** The transaction that is being written raises the watermark. */
  private raising = false

  /** @throws what SQLite throws. */
  constructor(db: DatabaseSync) {
    this.db = db
    this.insert = db.prepare(add('charged'))
    this.raise = db.prepare(RAISE_WATERMARK)
    this.watermark = integer(db.prepare('SELECT seq FROM charged_below').get()?.seq)
    this.highest = Math.max(this.watermark - 1, integer(db.prepare('SELECT ifnull(max(seq), 0) AS seq FROM settlement').get()?.seq))
    for (const row of db.prepare(sumsQuery('seq >= ?')).iterate(this.watermark)) {
      const of = { key: text(row.key), payer: text(row.payer), day: integer(row.day) }
      this.recent.add(of, integer(row.count), integer(row.dollars), integer(row.nano))
    }
  }

  /** A hold of the batch whose number another one has. */
  numberTaken(seq: number): void {
    this.taken.add(seq)
  }

  /** A settlement of the batch that is being written. @param find reads its hold. @returns whose it is. */
  settle(row: SettleRow, find: (seq: number) => HoldOwner | undefined): HoldOwner | undefined {
    const doubted = this.taken.size > 0 && this.taken.has(row.seq)
    const owner = (doubted ? undefined : row.owner) ?? find(row.seq)
    if (row.seq > this.highest) this.highest = row.seq
    if (!owner) return undefined
    const sums = row.seq < this.watermark ? this.late : this.batch
    sums.add({ key: owner.key, payer: owner.payer ?? '', day: Math.floor(chargedAt(row) / DAY_MS) }, 1, 0, row.cost)
    return owner
  }

  /** Writes what the table needs of the batch, within its transaction. */
  write(): void {
    const { recent, batch, late } = this
    if (recent.count + batch.count >= MAX_SETTLEMENTS || recent.size + batch.size >= MAX_SUMS) {
      this.put(batch)
      this.writeRecent()
    }
    this.put(late)
  }

  /** The batch is committed, or was refused: then its settlements come again. */
  ended(committed: boolean): void {
    if (committed && !this.raising) for (const sum of this.batch.values()) this.recent.add(sum, sum.count, sum.dollars, sum.nano)
    this.batch.clear()
    this.late.clear()
    this.raised(committed)
  }

  /** Runs it in one transaction, with all settlements in the table. @throws what it throws, with nothing done. */
  atOnce(work: () => void): void {
    try {
      atOnce(this.db, () => {
        this.writeRecent()
        work()
      })
    } catch (thrown) {
      this.raised(false)
      throw thrown
    }
    this.raised(true)
  }

  /** Settles all open holds at their floor. @throws what SQLite throws; then nothing was settled. */
  settleOpen(rollups: Pick<SqliteRollups, 'below' | 'add'>, readers: Pick<SqliteReaders, 'settlingOpen'>): void {
    this.highest = Math.max(this.highest, integer(this.db.prepare('SELECT ifnull(max(seq), 0) AS seq FROM hold').get()?.seq))
    this.atOnce(() => {
      this.db.exec(ADD_OPEN)
      const late = this.db.prepare(OPEN_BELOW).all(rollups.below)
      readers.settlingOpen()
      this.db.exec(RECONCILE)
      rollups.add(late.map(({ seq }) => integer(seq)))
    })
  }

  /** Before the file is closed: the next start reads no rows. What cannot be written it reads. */
  close(): void {
    if (this.recent.count === 0) return
    try {
      this.atOnce(() => {})
    } catch {}
  }

  /** By key and payer, maybe in several parts. @param first since the epoch: days from this one on come apart. */
  *charges(first: number): Iterable<DatedCharges> {
    for (const sql of CHARGES) {
      const statement = this.db.prepare(sql)
      statement.setReadBigInts(true)
      for (const row of statement.iterate(first)) yield { ...rowCharges(row), days: row.days === null ? [] : parseDays(text(row.days)) }
    }
    for (const { key, payer, day, dollars, nano } of this.recent.values()) {
      const cost = BigInt(dollars) * BigInt(NANO) + BigInt(nano)
      yield { key, payer: payer || undefined, cost, days: day >= first ? [{ day: day * DAY_MS, cost }] : [] }
    }
  }

  /**
   * The same in pages, in the order of the keys, each of which takes less than a millisecond. What is charged in between may be in it or not.
   * @param of the generations that have been removed, or all.
   */
  *pages(of: 'removed' | 'all'): Iterable<readonly KeyCharges[]> {
    const tables = of === 'all' ? ['charged', 'carried'] : ['carried']
    const ends = tables.map((table) =>
      this.db.prepare(`SELECT key FROM ${table} WHERE key > ? ORDER BY key LIMIT 1 OFFSET ${PAGE_ROWS - 1}`),
    )
    const rows = tables.map((table) => `SELECT key, payer, dollars, nano FROM ${table} WHERE key > ?1 AND key <= ?2`).join(' UNION ALL ')
    const sums = `SELECT key, payer, sum(dollars) AS dollars, sum(nano) AS nano FROM (${rows}) GROUP BY key, payer`
    const page = this.db.prepare(sums)
    const rest = this.db.prepare(sums.replaceAll(' AND key <= ?2', ''))
    page.setReadBigInts(true)
    rest.setReadBigInts(true)
    for (let after = ''; ; ) {
      const found = ends.flatMap((end) => end.get(after)?.key ?? []).map(text)
      const last = found.length > 0 ? found.reduce((a, b) => (compareKeys(a, b) <= 0 ? a : b)) : undefined
      const charges = (last === undefined ? rest.all(after) : page.all(after, last)).map(rowCharges)
      // What is not in the table yet is read in the same turn as what is.
      if (of === 'all')
        for (const { key, payer, dollars, nano } of this.recent.values())
          if (compareKeys(key, after) > 0 && (last === undefined || compareKeys(key, last) <= 0))
            charges.push({ key, payer: payer || undefined, cost: BigInt(dollars) * BigInt(NANO) + BigInt(nano) })
      yield charges
      if (last === undefined) return
      after = last
    }
  }

  /** Within a transaction. */
  private writeRecent(): void {
    this.raising = true
    this.put(this.recent)
    this.raise.run(this.highest + 1)
  }

  private raised(committed: boolean): void {
    if (committed && this.raising) {
      this.watermark = this.highest + 1
      this.recent.clear()
    }
    this.raising = false
  }

  private put(sums: Sums): void {
    for (const { key, payer, day, count, dollars, nano } of sums.values()) this.insert.run(key, payer, day, count, dollars, nano)
  }
}

/**
 * Takes generations off the sums that are about to be deleted, within the caller's transaction.
 * @param keep their sums stay as carried over, under the day that it returns.
 */
export function takeOff(db: DatabaseSync, rows: { where: string; value: number | string }, keep?: (day: number) => number): void {
  const carry = db.prepare(ADD_CARRIED)
  const less = db.prepare(TAKE_OFF)
  const drop = db.prepare(DROP_EMPTY)
  for (const row of db.prepare(sumsQuery(rows.where)).all(rows.value)) {
    const [key, payer, day] = [text(row.key), text(row.payer), integer(row.day)]
    const [count, dollars, nano] = [integer(row.count), integer(row.dollars), integer(row.nano)]
    if (keep) carry.run(key, payer, keep(day), count, dollars, nano)
    less.run(count, dollars, nano, key, payer, day)
    drop.run(key, payer, day)
  }
}

/** Of the generations that have been removed, by key and payer: in the order of the primary key nothing is sorted. */
export function* removedCharges(db: DatabaseSync): Iterable<KeyCharges> {
  const statement = db.prepare('SELECT key, payer, sum(dollars) AS dollars, sum(nano) AS nano FROM carried GROUP BY key, payer')
  statement.setReadBigInts(true)
  for (const row of statement.iterate()) yield rowCharges(row)
}

/** As `CHARGES` has them. */
function parseDays(listed: string): DayCharge[] {
  return listed.split(',').map((each) => {
    const [day = '', dollars = '', nano = ''] = each.split(' ')
    return { day: Number(day) * DAY_MS, cost: BigInt(dollars) * BigInt(NANO) + BigInt(nano) }
  })
}

function rowCharges(row: Record<string, SQLOutputValue>): KeyCharges {
  return { key: text(row.key), payer: text(row.payer) || undefined, cost: bigInteger(row.dollars) * BigInt(NANO) + bigInteger(row.nano) }
}

/** As SQLite compares texts: byte by byte. */
const compareKeys = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** Of the removed ones those that the check of the ledger had not read. */
export function* removedUnread(db: DatabaseSync): Iterable<KeyCharges> {
  const statement = db.prepare('SELECT key, payer, dollars, nano FROM carried_unread')
  statement.setReadBigInts(true)
  for (const row of statement.all()) yield rowCharges(row)
}
