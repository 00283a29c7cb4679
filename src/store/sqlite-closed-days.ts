/**
 * Coarser sums of use of days that are over: of all keys, and of each key by model and by provider, so that a month of many keys is no
 * half a million sums to add up. They are made once, a part of a day at a time, when the watermark of `sqlite-rollups.ts` has passed the
 * day; a generation that is settled later is added with its settlement.
 */
import type { DatabaseSync } from 'node:sqlite'
import { DAY_MS, HOUR_MS, NANO, TICKS } from './rows.ts'
import { integer, Statements, text } from './sqlite.ts'
import { KEY_PARTS, type KeyPart } from './use-facts.ts'

const TABLES = ['use_by_day', ...KEY_PARTS.map((part) => `use_by_key_${part}`)]
const PLAIN = ['count', 'failed', 'input', 'output', 'cached', 'cache_write', 'reasoning', 'saved'] as const
const COLUMNS = ['count', 'failed', 'dollars', 'nano', 'input', 'output', 'cached', 'cache_write', 'reasoning', 'saved'] as const
/** Behind all keys: SQLite has a blob behind each text. */
const END = new Uint8Array()

const COST = `sum(dollars) + sum(nano) / ${NANO}, sum(nano) % ${NANO}`
const TOKENS = 'sum(input), sum(output), sum(cached), sum(cache_write), sum(reasoning), total(saved)'

const closeKeys = (part: KeyPart): string => `INSERT INTO use_by_key_${part} (day, key, ${part}, ${COLUMNS.join(', ')})
  SELECT day, key, ${part}, sum(count), sum(iif(status IN ('failed', 'unknown'), count, 0)), ${COST}, ${TOKENS}
  FROM use_by_key WHERE day = ?1 AND key > ?2 AND key <= ?3 GROUP BY key, ${part}`

const CLOSE_DAY = `INSERT INTO use_by_day (day, model, endpoint, provider, status, count, dollars, nano, input, output, cached, cache_write, reasoning, saved)
  SELECT ?1, model, endpoint, provider, status, sum(count), ${COST}, ${TOKENS}
  FROM use_by_hour WHERE hour >= ?1 * ${DAY_MS / HOUR_MS} AND hour < (?1 + 1) * ${DAY_MS / HOUR_MS} GROUP BY model, endpoint, provider, status`

/** Keys of the day that is being closed have their sums up to the one that was closed last. */
const addLate = (part: KeyPart): string => `INSERT INTO use_by_key_${part} (day, key, ${part}, ${COLUMNS.join(', ')})
  SELECT ?, ?, ?, ${COLUMNS.map(() => '?').join(', ')} FROM use_closed AS c WHERE ?1 < c.day OR (?1 = c.day AND ?2 <= c.key)
  ON CONFLICT (day, key, ${part}) DO UPDATE SET ${PLAIN.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')},
    dollars = dollars + excluded.dollars + (nano + excluded.nano) / ${NANO}, nano = (nano + excluded.nano) % ${NANO}`

/** A sum of one key; `cost` has a rest below a billion. */
export interface KeySum extends Readonly<Record<KeyPart | 'key' | 'status', string>> {
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

  /** Whether some keys of the day are closed: then what comes late is added. */
  hasBegun(day: number): boolean {
    return day < this.day || (day === this.day && this.key !== '')
  }

  /** Adds a late sum where its key is closed; within the caller's transaction. */
  add(day: number, sum: KeySum): void {
    const failed = sum.status === 'failed' || sum.status === 'unknown' ? sum.count : 0
    for (const part of KEY_PARTS)
      this.statements.of(addLate(part)).run(day, sum.key, sum[part], sum.count, failed, ...sum.cost, ...sum.tokens, sum.saved)
  }

  /**
   * The next part to be closed: about `most` sums by key, and those of all keys at the end of the day.
   * @param below the watermark. @returns what belongs in a transaction, and what is to be done once it is committed; undefined where no day is over.
   */
  next(below: number, most: number): { write(): void; committed(): void } | undefined {
    const { key } = this
    const first = key === '' ? this.statements.of('SELECT min(day) AS day FROM use_by_key WHERE day >= ?').get(this.day)?.day : this.day
    if (typeof first !== 'number' || (first + 1) * DAY_MS * TICKS > below) return undefined
    const bound = this.statements
      .of('SELECT key FROM use_by_key WHERE day = ? AND key > ? ORDER BY key LIMIT 1 OFFSET ?')
      .get(first, key, most - 1)
    const last = bound && text(bound.key)
    const [day, closed] = last === undefined ? [first + 1, ''] : [first, last]
    return {
      write: () => {
        for (const part of KEY_PARTS) this.statements.of(closeKeys(part)).run(first, key, last ?? END)
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

  /** Removes the oldest day where it is before this one. */
  forget(before: number): void {
    for (const table of TABLES)
      this.statements.of(`DELETE FROM ${table} WHERE day < ? AND day = (SELECT min(day) FROM ${table})`).run(before)
  }
}
