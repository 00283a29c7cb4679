/**
 * Sums of the settled generations that the embedded store has, by key, payer and day of the charge: written in the same
 * transaction as the rows, so that neither the start nor a look at what was spent reads all rows.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { HoldOwner, KeyCharges, SettleRow } from '../ledger/types.ts'
import { chargedAt, DAY_MS, TICKS } from './rows.ts'
import { bigInteger, integer, text } from './sqlite.ts'

/** Sums are kept in whole dollars and a rest, for SQLite's integers end at 9.2e18 nano-dollars and its sums throw there. */
export const NANO = 1_000_000_000

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
const TAKE_OFF = `UPDATE charged SET count = count - ?1, dollars = dollars - ?2 - (nano < ?3), nano = nano - ?3 + ${NANO} * (nano < ?3)
  WHERE key = ?4 AND payer = ?5 AND day = ?6`
const DROP_EMPTY = 'DELETE FROM charged WHERE key = ? AND payer = ? AND day = ? AND count = 0'
/** Sums of settled generations. @param where which. */
const sumsOf = (where: string): string => `SELECT key, payer, iif(at > 0, at, seq / ${TICKS}) / ${DAY_MS} AS day, count(*) AS count,
    sum(cost / ${NANO}) + sum(cost % ${NANO}) / ${NANO} AS dollars, sum(cost % ${NANO}) % ${NANO} AS nano
  FROM hold JOIN settlement USING (seq) WHERE ${where} GROUP BY key, payer, day`
/** Holds without a settlement are charged at their floor, on the day of their admission. */
const ADD_OPEN = `INSERT INTO charged (key, payer, day, count, dollars, nano)
  SELECT key, payer, seq / ${TICKS} / ${DAY_MS} AS day, count(*), sum(floor / ${NANO}) + sum(floor % ${NANO}) / ${NANO}, sum(floor % ${NANO}) % ${NANO}
  FROM hold WHERE seq NOT IN (SELECT seq FROM settlement) GROUP BY key, payer, day
  ON CONFLICT (key, payer, day) DO UPDATE SET count = count + excluded.count,
    dollars = dollars + excluded.dollars + (nano + excluded.nano) / ${NANO}, nano = (nano + excluded.nano) % ${NANO}`
const RECONCILE = `INSERT INTO settlement (seq, status, cost, input, output, cached, cache_write, reasoning, estimated, facts)
  SELECT seq, 'unknown', floor, 0, 0, 0, 0, 0, 1, '{}' FROM hold WHERE seq NOT IN (SELECT seq FROM settlement)`

export class ChargedSums {
  private readonly db: DatabaseSync
  private readonly insert: StatementSync
  /** Holds that were refused since their number was taken: what settles them may name another owner than the row's. */
  private readonly taken = new Set<number>()
  private readonly batch = new Map<string, Sum>()
  /** The sum of the batch that was added to last: nearly always it is the next one too. */
  private latest: Sum | undefined

  constructor(db: DatabaseSync) {
    this.db = db
    this.insert = db.prepare(add('charged'))
  }

  /** A hold of the batch whose number another one has. */
  numberTaken(seq: number): void {
    this.taken.add(seq)
  }

  /** A settlement of the batch that is being written. @param find reads its hold. */
  settle(row: SettleRow, find: () => HoldOwner | undefined): void {
    const doubted = this.taken.size > 0 && this.taken.delete(row.seq)
    const owner = (doubted ? undefined : row.owner) ?? find()
    if (!owner) return
    const { key, payer = '' } = owner
    const day = Math.floor(chargedAt(row) / DAY_MS)
    const sum = this.sumOf(key, payer, day)
    sum.count++
    const nano = sum.nano + (row.cost % NANO)
    sum.dollars += Math.floor(row.cost / NANO) + Math.floor(nano / NANO)
    sum.nano = nano % NANO
  }

  private sumOf(key: string, payer: string, day: number): Sum {
    const { latest } = this
    if (latest && latest.day === day && latest.key === key && latest.payer === payer) return latest
    const name = `${day} ${key} ${payer}`
    let sum = this.batch.get(name)
    if (!sum) {
      sum = { key, payer, day, count: 0, dollars: 0, nano: 0 }
      this.batch.set(name, sum)
    }
    this.latest = sum
    return sum
  }

  /** Writes the sums of the batch, within its transaction. */
  write(): void {
    for (const { key, payer, day, count, dollars, nano } of this.batch.values()) this.insert.run(key, payer, day, count, dollars, nano)
  }

  /** The batch is committed, or was refused: then its settlements come again. */
  ended(): void {
    this.batch.clear()
    this.latest = undefined
  }

  /** Settles all open holds at their floor. @throws what SQLite throws; then nothing was settled. */
  settleOpen(): void {
    atOnce(this.db, () => {
      this.db.exec(ADD_OPEN)
      this.db.exec(RECONCILE)
    })
  }
}

/**
 * Takes generations off the sums that are about to be deleted, within the caller's transaction.
 * @param keep true: their sums stay as carried over.
 */
export function takeOff(db: DatabaseSync, rows: { where: string; value: number | string }, keep: boolean): void {
  const carry = db.prepare(add('carried'))
  const less = db.prepare(TAKE_OFF)
  const drop = db.prepare(DROP_EMPTY)
  for (const row of db.prepare(sumsOf(rows.where)).all(rows.value)) {
    const [key, payer, day] = [text(row.key), text(row.payer), integer(row.day)]
    const [count, dollars, nano] = [integer(row.count), integer(row.dollars), integer(row.nano)]
    if (keep) carry.run(key, payer, day, count, dollars, nano)
    less.run(count, dollars, nano, key, payer, day)
    drop.run(key, payer, day)
  }
}

/** Runs it in one transaction. @throws what it throws, with nothing done. */
export function atOnce(db: DatabaseSync, work: () => void): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    work()
    db.exec('COMMIT')
  } catch (thrown) {
    if (db.isOpen && db.isTransaction) db.exec('ROLLBACK')
    throw thrown
  }
}

const ALL = 'SELECT key, payer, dollars, nano FROM charged UNION ALL SELECT key, payer, dollars, nano FROM carried'

/** Sums by key and payer. @param of the generations that have been removed, or all. */
export function* chargesOf(db: DatabaseSync, of: 'removed' | 'all'): Iterable<KeyCharges> {
  const from = of === 'all' ? `(${ALL})` : 'carried'
  const statement = db.prepare(`SELECT key, payer, sum(dollars) AS dollars, sum(nano) AS nano FROM ${from} GROUP BY key, payer`)
  statement.setReadBigInts(true)
  for (const row of statement.all())
    yield { key: text(row.key), payer: text(row.payer) || undefined, cost: bigInteger(row.dollars) * BigInt(NANO) + bigInteger(row.nano) }
}
