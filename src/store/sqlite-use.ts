/** Sums of use by day, model, endpoint and provider, as SQLite computes them: a page takes a few milliseconds. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { BY_DAY } from '../core/ledger-counts.ts'
import type { UsePage, UseQuery, UseRow } from '../ledger/types.ts'
import { AdaptivePage } from './adaptive-page.ts'
import { DAY_MS, HOUR_MS, NANO, TICKS } from './rows.ts'
import { integer } from './sqlite.ts'
import { SqliteKeyUse } from './sqlite-key-use.ts'
import type { SqliteRollups } from './sqlite-rollups.ts'
import { toUseRow, useFrom } from './sqlite-use-rows.ts'
import { fact, SAVED } from './use-facts.ts'

/** Generations of one page, and milliseconds that it should take. */
const PAGE = { least: 100, most: 2_000, target: 1 }

const END_OF_PAGE = 'SELECT count(*) AS count, max(seq) AS last FROM (SELECT seq FROM hold WHERE seq > ? AND seq < ? ORDER BY seq LIMIT ?)'

const SUMS = BY_DAY.map(({ column }) => `sum(${column}) AS ${column}`).join(', ')

/** @param grouped the column by which the rows of one sum stand apart as well, or none. */
const sumsQuery = (keys: string, grouped = ''): string => `
  SELECT hold.seq / ${TICKS} / ${DAY_MS} AS day, ${fact('model', 'hold.model')} AS model, ${fact('endpoint', 'hold.endpoint')} AS endpoint,
    ${fact('provider', "''")} AS provider, status NOT IN ('failed', 'unknown') AS answered, count(*) AS requests,
    sum(cost / ${NANO}) AS dollars, sum(cost % ${NANO}) AS nano,
    ${SUMS}, total(${SAVED}) AS saved${grouped}
  FROM hold JOIN settlement USING (seq) WHERE hold.seq > ?1 AND hold.seq <= ?2 ${keys} GROUP BY 1, 2, 3, 4, 5${grouped}`

/** Of one day, as the tables of sums have it. */
const rollupQuery = (from: string, grouped = ''): string => `
  SELECT ?1 AS day, model, endpoint, provider, status NOT IN ('failed', 'unknown') AS answered, sum(count) AS requests,
    sum(dollars) AS dollars, sum(nano) AS nano, ${SUMS}, total(saved) AS saved${grouped}
  FROM ${from} GROUP BY 2, 3, 4, 5${grouped}`

const DAY_OF_ALL = rollupQuery(`use_by_hour WHERE hour >= ?1 * ${DAY_MS / HOUR_MS} AND hour < (?1 + 1) * ${DAY_MS / HOUR_MS}`)
const CLOSED_DAY = rollupQuery('use_by_day WHERE day = ?1')
const DAY_OF_KEYS = rollupQuery('use_by_key WHERE day = ?1 AND key IN (SELECT value FROM json_each(?2))')
/** `<watermark> <day>`. */
const PLACE = /^(\d+) (-?\d+)$/
const DAY_BY_KEYS = rollupQuery('use_by_key WHERE day = ?1 AND key IN (SELECT value FROM json_each(?2))', ', key')
/** The last parameter is null for all keys. */
const SUMS_BY_KEY = sumsQuery('AND (?3 IS NULL OR hold.key IN (SELECT value FROM json_each(?3)))', ', hold.key')

export class SqliteUse {
  private readonly endOfPage: StatementSync
  private readonly sums: StatementSync
  private readonly sumsOfKeys: StatementSync
  private readonly dayOfAll: StatementSync
  private readonly closedDay: StatementSync
  private readonly dayOfKeys: StatementSync
  private sumsByKey: StatementSync | undefined
  private dayByKeys: StatementSync | undefined
  private eachKey: SqliteKeyUse | undefined
  private readonly db: DatabaseSync
  private readonly rollups: Pick<SqliteRollups, 'below' | 'start' | 'sums' | 'closed'>
  private readonly page = new AdaptivePage(PAGE)

  constructor(db: DatabaseSync, rollups: Pick<SqliteRollups, 'below' | 'start' | 'sums' | 'closed'>) {
    this.db = db
    this.rollups = rollups
    this.endOfPage = db.prepare(END_OF_PAGE)
    this.sums = db.prepare(sumsQuery(''))
    this.sumsOfKeys = db.prepare(sumsQuery('AND hold.key IN (SELECT value FROM json_each(?3))'))
    this.dayOfAll = db.prepare(DAY_OF_ALL)
    this.closedDay = db.prepare(CLOSED_DAY)
    this.dayOfKeys = db.prepare(DAY_OF_KEYS)
  }

  /**
   * Of whole days first what is summed in memory, with the days of the tables from the watermark's on, in one step, since these change;
   * then each earlier day of the tables. Last, the rows that are in neither, as they were when the first page was read.
   * @param after '' begins; `PLACE` where a day comes next; else the sequence of the last row. @throws what SQLite throws.
   */
  read(query: UseQuery, after: string): UsePage {
    if (!isWholeDays(query)) return this.readPage(query, after, (first, last) => this.useRows(first, last, query))
    if (after !== '' && !after.includes(' '))
      return this.readPage({ ...query, until: Math.min(query.until, this.rollups.start / TICKS) }, after, (first, last) =>
        this.useRows(first, last, query),
      )
    if (query.byKey && !query.keys) {
      this.eachKey ??= new SqliteKeyUse(this.db, this.rollups)
      return this.eachKey.read(query, after)
    }
    const [from, until] = [query.from / DAY_MS, query.until / DAY_MS]
    const place = PLACE.exec(after)
    const below = place ? Number(place[1]) : this.rollups.below
    const day = place ? Number(place[2]) : undefined
    const open = Math.max(from, Math.floor(below / TICKS / DAY_MS))
    const rows = day === undefined ? this.inMemory(query) : this.dayRows(day, query)
    if (day === undefined) for (let each = open; each < until; each++) rows.push(...this.dayRows(each, query))
    const next = Math.min(day ?? open, until) - 1
    if (next >= from) return { rows, next: `${below} ${next}` }
    return below < this.rollups.start ? { rows, next: String(Math.max(below, query.from * TICKS) - 1) } : { rows }
  }

  private useRows(first: number, last: number, { keys, byKey }: UseQuery): UseRow[] {
    if (byKey) {
      this.sumsByKey ??= this.db.prepare(SUMS_BY_KEY)
      return this.sumsByKey.all(first, last, keys ? JSON.stringify(keys) : null).map(useFrom)
    }
    const found = keys ? this.sumsOfKeys.all(first, last, JSON.stringify(keys)) : this.sums.all(first, last)
    return found.map(useFrom)
  }

  /** As the tables have it. @param day since the epoch. */
  private dayRows(day: number, { keys, byKey }: UseQuery): UseRow[] {
    if (byKey && keys) {
      this.dayByKeys ??= this.db.prepare(DAY_BY_KEYS)
      return this.dayByKeys.all(day, JSON.stringify(keys)).map(useFrom)
    }
    if (keys) return this.dayOfKeys.all(day, JSON.stringify(keys)).map(useFrom)
    return (day < this.rollups.closed ? this.closedDay : this.dayOfAll).all(day).map(useFrom)
  }

  private inMemory({ from, until, keys, byKey }: UseQuery): UseRow[] {
    const wanted = keys && new Set(keys)
    const rows: UseRow[] = []
    for (const sum of this.rollups.sums()) {
      const at = sum.hour * HOUR_MS
      if (at >= from && at < until && (!wanted || wanted.has(sum.key))) rows.push(toUseRow(sum, byKey))
    }
    return rows
  }

  /** @param sums of the generations behind the first sequence, up to the second one. */
  private readPage<R>(
    { from, until }: Pick<UseQuery, 'from' | 'until'>,
    after: string,
    sums: (first: number, last: number) => R[],
  ): { rows: R[]; next?: string } {
    const begun = performance.now()
    const first = after === '' ? Math.max(0, Math.ceil(from * TICKS)) - 1 : Number(after)
    const { size } = this.page
    const end = this.endOfPage.get(first, until * TICKS, size)
    const count = integer(end?.count)
    if (count === 0) return { rows: [] }
    const last = integer(end?.last)
    const rows = sums(first, last)
    this.page.took(performance.now() - begun)
    return count < size ? { rows } : { rows, next: String(last) }
  }
}

const isWholeDays = ({ from, until }: UseQuery): boolean => from % DAY_MS === 0 && until % DAY_MS === 0
