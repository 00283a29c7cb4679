/**
 * Coarser sums of use of days that are over: of all keys, and of each key by model, by provider and by both, so that a month of many keys
 * is no half a million sums to add up. Those by both are kept as running sums too: there a day has what was used from the first day of its
 * run of days on, and the difference of two days is what was used between them. All are made once, a part of a day at a time, when the watermark of
 * `sqlite-rollups.ts` has passed the day; a generation that is settled later is added with its settlement.
 */
import type { DatabaseSync } from 'node:sqlite'
import { COUNT_COLUMNS } from '../core/ledger-counts.ts'
import { DAY_MS, HOUR_MS, NANO, TICKS } from './rows.ts'
import { integer, Statements, text } from './sqlite.ts'
import { KEY_PARTS, KEY_SUMS, RUN_DAYS } from './use-facts.ts'

const RUNNING = 'use_by_key_running'
const TABLES = ['use_by_day', RUNNING, ...KEY_PARTS.map(([part]) => `use_by_key_${part}`)]
const COUNTED = COUNT_COLUMNS.join(', ')
const PLAIN = ['count', 'failed', ...COUNT_COLUMNS, 'saved'] as const
const COLUMNS = ['count', 'failed', 'dollars', 'nano', ...COUNT_COLUMNS, 'saved'] as const
/** Behind all keys: SQLite has a blob behind each text. */
const END = new Uint8Array()

const COST = `sum(dollars) + sum(nano) / ${NANO}, sum(nano) % ${NANO}`
const TOKENS = `${COUNT_COLUMNS.map((name) => `sum(${name})`).join(', ')}, total(saved)`

const closeKeys = (
  part: string,
  names: readonly string[],
): string => `INSERT INTO use_by_key_${part} (day, key, ${[...names, ...COLUMNS].join(', ')})
  SELECT day, key, ${names.join(', ')}, sum(count), sum(iif(status IN ('failed', 'unknown'), count, 0)), ${COST}, ${TOKENS}
  FROM use_by_key WHERE day = ?1 AND key > ?2 AND key <= ?3 GROUP BY key, ${names.join(', ')}`

/** The day before, in the same run. */
const DAY_BEFORE = `${RUNNING} WHERE day = ?1 - 1 AND ?1 % ${RUN_DAYS} > 0`
const OF_KEYS = 'AND key > ?2 AND key <= ?3'
const SUMMED = `key, model, provider, count, dollars, nano, ${COUNTED}, saved`

const CLOSE_RUNNING = `INSERT INTO ${RUNNING} (day, key, model, provider, ${COLUMNS.join(', ')})
  SELECT ?1, key, model, provider, sum(count), sum(failed), ${COST}, ${TOKENS} FROM (
    SELECT ${SUMMED}, iif(status IN ('failed', 'unknown'), count, 0) AS failed FROM use_by_key WHERE day = ?1 ${OF_KEYS}
    UNION ALL SELECT ${SUMMED}, failed FROM ${DAY_BEFORE} ${OF_KEYS}
  ) GROUP BY key, model, provider`

/** A day without use is closed too where its run has sums. */
const FIRST_TO_CLOSE = `SELECT CASE WHEN EXISTS (SELECT 1 FROM ${DAY_BEFORE}) THEN ?1 ELSE (SELECT min(day) FROM use_by_key WHERE day >= ?1) END AS day`

/** The last key of a part, both of the day's own sums and of the running ones. */
const LAST_OF_PART = `SELECT min(key) AS key FROM (
  SELECT * FROM (SELECT key FROM use_by_key WHERE day = ?1 AND key > ?2 ORDER BY key LIMIT 1 OFFSET ?3)
  UNION ALL SELECT * FROM (SELECT key FROM ${DAY_BEFORE} AND key > ?2 ORDER BY key LIMIT 1 OFFSET ?3))`

const CLOSE_DAY = `INSERT INTO use_by_day (day, model, endpoint, provider, status, count, dollars, nano, ${COUNTED}, saved)
  SELECT ?1, model, endpoint, provider, status, sum(count), ${COST}, ${TOKENS}
  FROM use_by_hour WHERE hour >= ?1 * ${DAY_MS / HOUR_MS} AND hour < (?1 + 1) * ${DAY_MS / HOUR_MS} GROUP BY model, endpoint, provider, status`

/** Keys of the day that is being closed have their sums up to the one that was closed last. */
const addLate = (table: string, names: readonly string[]): string => `INSERT INTO ${table} (day, key, ${[...names, ...COLUMNS].join(', ')})
  SELECT ?, ?, ${[...names, ...COLUMNS].map(() => '?').join(', ')} FROM use_closed AS c WHERE ?1 < c.day OR (?1 = c.day AND ?2 <= c.key)
  ON CONFLICT (day, key, ${names.join(', ')}) DO UPDATE SET ${PLAIN.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')},
    dollars = dollars + excluded.dollars + (nano + excluded.nano) / ${NANO}, nano = (nano + excluded.nano) % ${NANO}`

/** A sum of one key; `cost` has a rest below a billion. */
export interface KeySum extends Readonly<Record<'key' | 'model' | 'provider' | 'status', string>> {
  readonly count: number
  readonly cost: readonly [dollars: number, nano: number]
  readonly tokens: readonly number[]
  readonly saved: number
}

export class SqliteClosedDays {
  /** Days before this one are closed, since the epoch. */
  day: number
  /** Of that day, the key that was closed last. */
  private key: string
  private readonly db: DatabaseSync
  private readonly statements: Statements

  /** @throws what SQLite throws. */
  constructor(db: DatabaseSync) {
    this.db = db
    this.statements = new Statements(db)
    const row = db.prepare('SELECT day, key FROM use_closed').get()
    this.day = integer(row?.day)
    this.key = text(row?.key)
  }

  /** True if some keys of the day are closed: late generations are then added to their sums. */
  hasBegun(day: number): boolean {
    return day < this.day || (day === this.day && this.key !== '')
  }

  /** Adds a late sum where its key is closed; within the caller's transaction. */
  add(day: number, sum: KeySum): void {
    const failed = sum.status === 'failed' || sum.status === 'unknown' ? sum.count : 0
    const values = [sum.count, failed, ...sum.cost, ...sum.tokens, sum.saved]
    for (const [part, names] of KEY_PARTS)
      this.statements.of(addLate(`use_by_key_${part}`, names)).run(day, sum.key, ...names.map((name) => sum[name]), ...values)
    const running = this.statements.of(addLate(RUNNING, KEY_SUMS.both))
    const next = day - (day % RUN_DAYS) + RUN_DAYS
    for (let each = day; each < next && each <= this.day; each++) running.run(each, sum.key, sum.model, sum.provider, ...values)
  }

  /**
   * The next part to be closed: about `most` sums by key, and those of all keys at the end of the day.
   * @param below the watermark. @returns what belongs in a transaction, and what is to be done once it is committed; undefined where no day is over.
   */
  next(below: number, most: number): { write(): void; committed(): void } | undefined {
    const { key } = this
    const first = key === '' ? this.statements.of(FIRST_TO_CLOSE).get(this.day)?.day : this.day
    if (typeof first !== 'number' || (first + 1) * DAY_MS * TICKS > below) return undefined
    const bound = this.statements.of(LAST_OF_PART).get(first, key, most - 1)?.key
    const last = typeof bound === 'string' ? bound : undefined
    const [day, closed] = last === undefined ? [first + 1, ''] : [first, last]
    return {
      write: () => {
        for (const [part, names] of KEY_PARTS) this.statements.of(closeKeys(part, names)).run(first, key, last ?? END)
        this.statements.of(CLOSE_RUNNING).run(first, key, last ?? END)
        if (last === undefined) this.statements.of(CLOSE_DAY).run(first)
        this.statements.of('UPDATE use_closed SET day = ?, key = ?').run(day, closed)
      },
      committed: () => {
        this.day = day
        this.key = closed
      },
    }
  }

  /** Forgets the sums from a day on, as `next` does: they are closed anew. */
  reopen(from: number): { write(): void; committed(): void } {
    const [day, key] = this.day < from ? [this.day, this.key] : [from, '']
    return {
      write: () => {
        for (const table of TABLES) this.db.prepare(`DELETE FROM ${table} WHERE day >= ?`).run(from)
        this.statements.of('UPDATE use_closed SET day = ?, key = ?').run(day, key)
      },
      committed: () => {
        this.day = day
        this.key = key
      },
    }
  }

  /** Removes the oldest day where it is before this one; of a run that goes on beyond it none is removed. */
  forget(before: number): void {
    for (const table of TABLES)
      this.statements
        .of(`DELETE FROM ${table} WHERE day < ? AND day = (SELECT min(day) FROM ${table})`)
        .run(table === RUNNING ? before - (before % RUN_DAYS) : before)
  }
}
