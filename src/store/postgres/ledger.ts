/** The ledger of all processes, as PostgreSQL keeps it. */
import { sql } from 'kysely'
import { parseGenerationId } from '../../core/ids.ts'
import type { GenerationRecord, LedgerReader } from '../../ledger/types.ts'
import { DAY_MS, recordOf, TICKS } from '../rows.ts'
import type { Connection } from './connection.ts'
import { type GenerationTable, LOCKS, query } from './tables.ts'

const PAGE = 500
const CAP = Number.MAX_SAFE_INTEGER

export class PostgresLedger implements LedgerReader {
  private readonly connection: Connection

  constructor(connection: Connection) {
    this.connection = connection
  }

  async find(id: string): Promise<GenerationRecord | undefined> {
    const parsed = parseGenerationId(id)
    if (!parsed || !Number.isSafeInteger(parsed.seq)) return undefined
    const found = query.selectFrom('generation').selectAll().where('seq', '=', parsed.seq).where('tag', '=', parsed.tag)
    const [row] = await this.connection.run(found.compile())
    return row && recordFrom(row)
  }

  async *export(since = 0): AsyncIterable<GenerationRecord> {
    let [seq, tag] = [Math.max(0, Math.ceil(since * TICKS)), '']
    for (;;) {
      const after = sql<boolean>`(seq, tag) > (${seq}, ${tag})`
      const page = query.selectFrom('generation').selectAll().where(after).orderBy('seq').orderBy('tag').limit(PAGE)
      const rows = await this.connection.run(page.compile())
      for (const row of rows) yield recordFrom(row)
      const last = rows.at(-1)
      if (last === undefined || rows.length < PAGE) return
      seq = last.seq
      tag = last.tag
    }
  }

  /** The balances, which are kept beside the generations: that the two agree is for `ledger verify` to find out. */
  async spent(): Promise<Map<string, number>> {
    const rows = await this.connection.run(query.selectFrom('balance').select(['key', 'spent']).where('spent', '>', 0).compile())
    return new Map(rows.map((row) => [row.key, row.spent]))
  }

  async carried(): Promise<Map<string, number>> {
    const sums = sql<{ key: string; cost: number }>`select key, least(sum(cost), ${CAP})::bigint as cost from carried group by key`
    return new Map((await this.connection.run(sums.compile(query))).map((row) => [row.key, row.cost]))
  }

  /**
   * Removes the oldest generations that were admitted before a moment; their sums by key and day stay.
   * @param before milliseconds since the epoch. @param most generations of one call.
   * @returns how many were removed; 0 also while another process does the same. @throws Fault `unavailable`.
   */
  async prune(before: number, most: number): Promise<number> {
    const statement = sql<{ count: number }>`
      with mine as materialized (
        select pg_try_advisory_xact_lock(${LOCKS.program}::int, ${LOCKS.retention}::int) as got
      ), old as (
        select seq, tag from generation, mine where got and seq < ${Math.floor(before * TICKS)} order by seq, tag limit ${most}
      ), gone as (
        delete from generation g using old where g.seq = old.seq and g.tag = old.tag
        returning g.key, g.cost, (case when g.at > 0 then g.at else g.seq / ${TICKS}::bigint end) / ${DAY_MS}::bigint as day
      ), kept as (
        insert into carried (key, day, count, cost)
        select key, day, count(*), least(sum(cost), ${CAP})::bigint from gone group by key, day order by key, day
        on conflict (key, day) do update
        set count = carried.count + excluded.count, cost = least(carried.cost + excluded.cost, ${CAP})
      )
      select count(*) as count from gone`
    const [row] = await this.connection.run(statement.compile(query))
    return row?.count ?? 0
  }
}

function recordFrom(row: GenerationTable): GenerationRecord {
  const { seq, tag, key, model, endpoint, hold, floor, status, cost, at, input, output, cached, reasoning, estimated, facts } = row
  const settled = { seq, status, cost, at, input, output, cached, cacheWrite: row.cache_write, reasoning, estimated, facts }
  return recordOf({ seq, tag, key, model, endpoint, hold, floor }, settled)
}
