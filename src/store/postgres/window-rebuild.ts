/**
 * Computes the windows of balances anew that a clock which was ahead has opened (docs/decisions/0011): from the generations of the month,
 * in pages of the primary key and beside those that come in. A reader of the ledger (`ledger/types.ts`) keeps apart what has come since a
 * page was read; the little that came last is added under the locks of the balances.
 */
import { sql } from 'kysely'
import { randomTag } from '../../core/ids.ts'
import { payersColumn } from '../../core/payers.ts'
import { WINDOW_READER } from '../../core/reader-names.ts'
import { windowStarts } from '../../core/windows.ts'
import type { OpenWindows, ReaderBatch } from '../../ledger/types.ts'
import { AdaptivePage } from '../adaptive-page.ts'
import { DAY_MS, TICKS } from '../rows.ts'
import type { Connection } from './connection.ts'
import type { PostgresReaders } from './readers.ts'
import type { PostgresSums, WindowSums } from './sums.ts'
import { query } from './tables.ts'

/** Milliseconds for which no other process begins the same. */
const HELD = 120_000
/** Milliseconds before the month: a charge counts at its settlement, and a process whose clock is behind admits it earlier still. */
const MARGIN = 7 * DAY_MS
/** Milliseconds: the batch has generations that are dated ahead of now as well. */
const AHEAD = 400 * DAY_MS
const PAGE = { least: 1_000, most: 20_000, target: 200 }
/** Generations that may be left for the step under the locks, and batches after which there may be more. */
const FEW = 2_000
const MAX_BATCHES = 10
/** Balances of one step. */
const BALANCES = 500

interface SumRow extends WindowSums {
  account: string
}

/** Sums to which the pages are added. */
interface Addition {
  readonly starts: OpenWindows['starts']
  readonly sums: Map<string, WindowSums>
  readonly renew: () => Promise<void>
}

export interface WindowRebuildParts {
  readonly connection: Connection
  readonly readers: PostgresReaders
  readonly sums: PostgresSums
}

export class WindowRebuild {
  private readonly parts: WindowRebuildParts
  private readonly page = new AdaptivePage(PAGE)

  constructor(parts: WindowRebuildParts) {
    this.parts = parts
  }

  /** @returns the balances for which it was done; 0 also while another process does it. @throws Fault `unavailable`. */
  async run(): Promise<number> {
    const { connection, readers } = this.parts
    const [found] = await connection.run(
      sql<{ moment: number; ahead: boolean }>`select headgate_now() as moment,
        exists (select 1 from balance_shard where day > (select headgate_window('daily', headgate_now()))) as ahead`.compile(query),
    )
    if (!found?.ahead) return 0
    const starts = windowStarts(found.moment)
    const holder = randomTag()
    let claimed = performance.now()
    const claim = () => {
      claimed = performance.now()
      return readers.claim({
        reader: WINDOW_READER,
        holder,
        holdFor: HELD,
        since: Math.min(starts.weekly, starts.monthly) - MARGIN,
        age: -AHEAD,
        most: Number.MAX_SAFE_INTEGER,
        now: found.moment,
      })
    }
    /** A long batch stays this process's own. */
    const renew = async (): Promise<void> => {
      if (performance.now() - claimed > HELD / 4) await claim()
    }
    await this.forget()
    if (!(await claim())) return 0
    try {
      const sums = await this.parts.sums.carriedSince(starts)
      for (let batches = 0; batches < MAX_BATCHES; batches++) {
        const batch = await claim()
        if (!batch || batch.begunAt === 0) break
        const count = await this.addBatch(batch, { starts, sums, renew })
        if (!(await readers.accept(batch, ''))) return 0
        if (count < FEW) break
      }
      return await this.apply(starts, sums)
    } finally {
      await this.forget(holder)
    }
  }

  /** Ends the reader: its own, or one whose process is gone. */
  private async forget(holder = ''): Promise<void> {
    await this.parts.connection.run(
      sql`with gone as (
          delete from ledger_reader where name = ${WINDOW_READER} and (holder = ${holder} or held_until < headgate_now()) returning name
        ) delete from ledger_reader_late using gone where reader = gone.name`.compile(query),
    )
  }

  /** @returns the generations of the batch. */
  private async addBatch(batch: ReaderBatch, to: Addition): Promise<number> {
    const late = sql`generation g join ledger_reader_late l on l.seq = g.seq and l.tag = g.tag
      where l.reader = ${WINDOW_READER} and l.batch = ${batch.number}::bigint`
    const range = sql`generation g where g.seq >= ${batch.below}::bigint and g.seq < ${batch.reaching}::bigint
      and not exists (select 1 from ledger_reader_late l where l.reader = ${WINDOW_READER} and l.seq = g.seq and l.tag = g.tag and l.batch = 0)`
    return (await this.addPages(late, -1, to)) + (await this.addPages(range, batch.below - 1, to))
  }

  private async addPages(from: ReturnType<typeof sql>, first: number, { starts, sums, renew }: Addition): Promise<number> {
    let [seq, tag, all] = [first, '', 0]
    for (;;) {
      await renew()
      const begun = performance.now()
      const { size } = this.page
      const { daily, weekly, monthly } = starts
      const rows = await this.parts.connection.run(
        sql<SumRow & { count: number; last: number; tags: string }>`with page as materialized (
            select g.seq, g.tag, g.key, g.payer, g.cost::numeric as cost, case when g.at > 0 then g.at else g.seq / ${TICKS}::bigint end as moment
            from ${from} and (g.seq, g.tag) > (${seq}::bigint, ${tag}::text) order by g.seq, g.tag limit ${size}
          ), charge as (
            select key as account, cost, moment from page
            union all select p.account, cost, moment from page, unnest(${sql.raw(payersColumn('page.payer'))}) as p (account)
          ), ends as (select seq, tag from page order by seq desc, tag desc limit 1)
          select '' as account, (select count(*) from page) as count, seq as last, tag as tags, 0::numeric as daily, 0::numeric as weekly, 0::numeric as monthly from ends
          union all select account, 0, 0, '', coalesce(sum(cost) filter (where moment >= ${daily}::bigint), 0),
            coalesce(sum(cost) filter (where moment >= ${weekly}::bigint), 0), coalesce(sum(cost) filter (where moment >= ${monthly}::bigint), 0)
          from charge where moment >= ${Math.min(weekly, monthly)}::bigint group by account`.compile(query),
      )
      this.page.took(performance.now() - begun)
      const end = rows.find(({ account }) => account === '')
      for (const { account, ...row } of rows) if (account !== '') addTo(sums, account, row)
      if (!end) return all
      all += end.count
      if (end.count < size) return all
      seq = end.last
      tag = end.tags
    }
  }

  /** Those that are ahead still, some at once. @returns how many; 0 where a window has ended meanwhile: then it begins anew. */
  private async apply(starts: OpenWindows['starts'], sums: ReadonlyMap<string, WindowSums>): Promise<number> {
    const { connection } = this.parts
    let done = 0
    for (;;) {
      const found = await connection.run(
        sql<{
          key: string
        }>`select distinct key from balance_shard where day > ${starts.daily}::bigint order by key limit ${BALANCES}`.compile(query),
      )
      if (found.length === 0) return done
      const accounts = found.map(({ key }) => key)
      const column = (window: keyof WindowSums) => sql`${accounts.map((account) => String(sums.get(account)?.[window] ?? 0n))}::numeric[]`
      const [row] = await connection.run(
        sql<{
          count: number
        }>`select headgate_renew_windows(${accounts}::text[], ${column('daily')}, ${column('weekly')}, ${column('monthly')},
          ${starts.daily}::bigint, ${starts.weekly}::bigint, ${starts.monthly}::bigint, ${WINDOW_READER}) as count`.compile(query),
      )
      if (!row || row.count <= 0) return done
      done += row.count
    }
  }
}

function addTo(sums: Map<string, WindowSums>, account: string, { daily, weekly, monthly }: WindowSums): void {
  const sum = sums.get(account) ?? { daily: 0n, weekly: 0n, monthly: 0n }
  sums.set(account, { daily: sum.daily + daily, weekly: sum.weekly + weekly, monthly: sum.monthly + monthly })
}
