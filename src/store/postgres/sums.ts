/**
 * Sums by account as PostgreSQL keeps them. Each statement reads one page of an index, so that what it takes does not grow with the keys,
 * nor with the days that retention has carried over.
 */
import { sql } from 'kysely'
import { chargedAccounts } from '../../core/payers.ts'
import { WINDOWS, windowStarts } from '../../core/windows.ts'
import type { OpenWindows, RecordedWindows } from '../../ledger/types.ts'
import { AdaptivePage } from '../adaptive-page.ts'
import { DAY_MS, sumByAccount } from '../rows.ts'
import type { Connection } from './connection.ts'
import { query } from './tables.ts'

/** Rows of one page: to take more than 5,000 in holds the event loop for more than 5 ms. */
const PAGE = { least: 500, most: 5_000, target: 100 }

interface CarriedRow {
  key: string
  payer: string
  day: number
  cost: bigint
}

interface WindowRow {
  key: string
  /** The database's clock, milliseconds since the epoch. */
  moment: number
  day: number
  week: number
  month: number
  daily: bigint
  weekly: bigint
  monthly: bigint
}

export type WindowSums = Record<keyof OpenWindows['sums'], bigint>

export class PostgresSums {
  private readonly connection: Connection
  private readonly page = new AdaptivePage(PAGE)

  constructor(connection: Connection) {
    this.connection = connection
  }

  /** The balances, which are kept beside the generations. @throws Fault `unavailable`. */
  async spent(): Promise<Map<string, bigint>> {
    const found = new Map<string, bigint>()
    const pages = this.pages((after: string, size) =>
      sql<{ key: string; spent: bigint }>`select key, spent from balance where key > ${after} order by key limit ${size}`.compile(query),
    )
    for await (const rows of pages('', ({ key }) => key)) for (const { key, spent } of rows) if (spent > 0n) found.set(key, spent)
    return found
  }

  /** Charges of all keys together. The spending of a key counts at its payers too, so that part is left out. @throws Fault `unavailable`. */
  async spentByAll(): Promise<bigint> {
    let sum = 0n
    const pages = this.pages((after: string, size) =>
      sql<{
        key: string
        own: bigint
      }>`select key, spent - issued as own from balance where key > ${after} order by key limit ${size}`.compile(query),
    )
    for await (const rows of pages('', ({ key }) => key)) for (const { own } of rows) sum += own
    return sum
  }

  /**
   * Sums of generations that retention has removed. All rows of a key are read by one statement: that rows of days become one of their
   * month meanwhile changes no sum. @throws Fault `unavailable`.
   */
  async carried(): Promise<Map<string, bigint>> {
    const found: { key: string; payer: string | undefined; cost: bigint }[] = []
    let [after, size] = ['', this.page.size]
    for (;;) {
      const begun = performance.now()
      const sums = sql<Omit<CarriedRow, 'day'> & { rows: number }>`select key, payer, sum(cost) as cost, count(*) as rows
        from (select key, payer, cost from carried where key > ${after} order by key, payer, day limit ${size}) as page
        group by key, payer order by key, payer`
      const rows = await this.connection.run(sums.compile(query))
      const count = rows.reduce((sum, row) => sum + row.rows, 0)
      const last = rows.at(-1)?.key
      const isLast = count < size || last === undefined
      // Of the last key of a full page some rows may be missing: it begins the next one.
      const whole = isLast ? rows : rows.filter(({ key }) => key !== last)
      for (const { key, payer, cost } of whole) found.push({ key, payer: payer || undefined, cost })
      if (isLast) return sumByAccount(found)
      this.page.took(performance.now() - begun)
      const next = whole.at(-1)?.key
      size = next === undefined ? size * 2 : Math.max(size, this.page.size)
      after = next ?? after
    }
  }

  /** See `LedgerReader.removedUnread`. @throws Fault `unavailable`. */
  async removedUnread(): Promise<Map<string, bigint>> {
    const found: { key: string; payer: string | undefined; cost: bigint }[] = []
    const pages = this.pages(([key, payer]: readonly [string, string], size) =>
      sql<Omit<CarriedRow, 'day'>>`select key, payer, dollars::numeric * 1000000000 + nano as cost from carried_unread
        where (key, payer) > (${key}, ${payer}) order by key, payer limit ${size}`.compile(query),
    )
    for await (const rows of pages(['', ''], ({ key, payer }) => [key, payer] as const))
      for (const { key, payer, cost } of rows) found.push({ key, payer: payer || undefined, cost })
    return sumByAccount(found)
  }

  /** Less what was carried over: retention keeps generations longer than any window, unless their clock was wrong. @throws Fault `unavailable`. */
  async windows(): Promise<RecordedWindows> {
    const [present] = await this.connection.run(sql<{ moment: number }>`select headgate_now() as moment`.compile(query))
    const starts = windowStarts(present?.moment ?? 0)
    const carried = await this.carriedSince(starts)
    const of = new Map<string, OpenWindows>()
    let at = present?.moment ?? 0
    const pages = this.pages((after: string, size) =>
      sql<WindowRow>`select key, headgate_now() as moment, day, week, month, daily, weekly, monthly
        from balance where key > ${after} order by key limit ${size}`.compile(query),
    )
    for await (const rows of pages('', ({ key }) => key))
      for (const { key, moment, day, week, month, daily, weekly, monthly } of rows) {
        at = moment
        const less = carried.get(key)
        of.set(key, {
          starts: { daily: day, weekly: week, monthly: month },
          sums: {
            daily: daily - (day === starts.daily ? (less?.daily ?? 0n) : 0n),
            weekly: weekly - (week === starts.weekly ? (less?.weekly ?? 0n) : 0n),
            monthly: monthly - (month === starts.monthly ? (less?.monthly ?? 0n) : 0n),
          },
        })
      }
    return { at, of }
  }

  /** By account, of the windows that began then. */
  async carriedSince(starts: OpenWindows['starts']): Promise<Map<string, WindowSums>> {
    const sums = new Map<string, WindowSums>()
    const add = (account: string, day: number, cost: bigint): void => {
      const sum = sums.get(account) ?? { daily: 0n, weekly: 0n, monthly: 0n }
      for (const window of WINDOWS) if (day * DAY_MS >= starts[window]) sum[window] += cost
      sums.set(account, sum)
    }
    const first = Math.min(starts.weekly, starts.monthly) / DAY_MS
    const pages = this.pages((after: CarriedRow, size) =>
      sql<CarriedRow>`select key, payer, day, cost from carried
        where (day, key, payer) > (${after.day}::bigint, ${after.key}::text, ${after.payer}::text) order by day, key, payer limit ${size}`.compile(
        query,
      ),
    )
    for await (const rows of pages({ day: first, key: '', payer: '', cost: 0n }, (row) => row))
      for (const row of rows) for (const account of chargedAccounts(row)) add(account, row.day, row.cost)
    return sums
  }

  /** @param statement of the rows behind a position. @returns pages from a position on. */
  private pages<Position, Row>(statement: (after: Position, size: number) => Parameters<typeof this.connection.run<Row>>[0]) {
    const { connection, page } = this
    return async function* (first: Position, rowPosition: (row: Row) => Position): AsyncIterable<readonly Row[]> {
      for (let after = first; ; ) {
        const begun = performance.now()
        const { size } = page
        const rows = await connection.run(statement(after, size))
        page.took(performance.now() - begun)
        yield rows
        const last = rows.at(-1)
        if (last === undefined || rows.length < size) return
        after = rowPosition(last)
      }
    }
  }
}
