/** A charge-back on PostgreSQL: all statements of one transaction see the same snapshot, and rows come through a cursor. */
import { type RawBuilder, sql } from 'kysely'
import { BY_DAY } from '../../core/ledger-counts.ts'
import { dayCountsFrom } from '../../core/row-counts.ts'
import { type ChargeGroup, type ChargeQuery, type ChargeStatement, ChargeSums, FACT_GROUPS, KEPT_GROUPS } from '../../ledger/charge-sums.ts'
import { DAY_MS, TICKS } from '../rows.ts'
import type { Connection, Session } from './connection.ts'
import { chargedEntries } from './entries.ts'
import { factColumn } from './json-text.ts'
import { useByDay } from './key-use.ts'
import { MAX_TOKENS } from './rollup-functions.ts'
import { query } from './tables.ts'

/** Rows that come at once: more would hold up the event loop. */
const FETCHED = 1_000

/** Days, keys and so on as they stand apart, and the sums. */
interface ChargeRow {
  day: number
  key: string
  model: string
  provider: string
  app: string
  session: string
  user: string
  requests: number
  failed: number
  cost: bigint
  input: number
  output: number
  reasoning: number
}

/** @throws Fault 400 where there are too many sums or entries, and `unavailable`. */
export function readCharges(connection: Pick<Connection, 'transaction'>, wanted: ChargeQuery): Promise<ChargeStatement> {
  return connection.transaction(async (session) => {
    await session.run(sql`set transaction isolation level repeatable read, read only`.compile(query))
    const sums = new ChargeSums(wanted.by, wanted.keys)
    const areKept = !wanted.by.some((group) => FACT_GROUPS.some((each) => each === group))
    // To group generations that no sum has yet may take longer than a statement has: they come one by one.
    for (const select of areKept ? [keptSums(wanted), generations(wanted, ABOVE)] : [generations(wanted)])
      for await (const rows of fetched(session, select))
        for (const row of rows) sums.add({ ...row, ...dayCountsFrom(row, (count) => Number(count)) })
    return { sums: sums.rows(), entries: await chargedEntries(session, wanted) }
  })
}

async function* fetched(session: Session, select: RawBuilder<unknown>): AsyncIterable<readonly ChargeRow[]> {
  await session.run(sql`declare charges no scroll cursor for ${select}`.compile(query))
  for (;;) {
    const rows = await session.run(sql<ChargeRow>`fetch ${sql.raw(String(FETCHED))} from charges`.compile(query))
    if (rows.length > 0) yield rows
    if (rows.length < FETCHED) break
  }
  await session.run(sql`close charges`.compile(query))
}

const fact = (name: string, otherwise: string) => sql.raw(factColumn(name, otherwise))
const FAILED = sql.raw("status in ('failed', 'unknown')")
const CAPPED = sql.raw(BY_DAY.map(({ column }) => `least(${column}, ${MAX_TOKENS}) as ${column}`).join(', '))
const SUMS = sql.raw(BY_DAY.map(({ column }) => `sum(${column})::bigint as ${column}`).join(', '))
const COUNTED = sql.raw(BY_DAY.map(({ column }) => column).join(', '))
const DAY_OF_ROW = sql.raw(`seq / ${TICKS}::bigint / ${DAY_MS}::bigint * ${DAY_MS}::bigint`)

const within = ({ from, until }: ChargeQuery) =>
  sql`seq >= ${Math.ceil(from * TICKS)}::bigint and seq < ${Math.floor(until * TICKS)}::bigint`

/** From the tables of sums. */
function keptSums(wanted: ChargeQuery): RawBuilder<unknown> {
  const rows = sql`select moment as day, key, model, provider, count, case when ${FAILED} then count else 0 end as failed,
    dollars::numeric * 1000000000 + nano as cost, ${COUNTED} from (${useByDay(wanted)}) as kept`
  const groups = KEPT_GROUPS.filter((group) => wanted.by.includes(group) || (group === 'key' && wanted.keys !== undefined))
  const names = groups.length === 0 ? sql`` : sql`${sql.raw(groups.join(', '))}, `
  const grouping = groups.length === 0 ? sql`having sum(count) > 0` : sql`group by ${sql.raw(groups.join(', '))} having sum(count) > 0`
  return sql`select ${names}sum(count)::bigint as requests, sum(failed)::bigint as failed, sum(cost)::numeric as cost, ${SUMS} from (${rows}) as found ${grouping}`
}

/** The generations that are not in the sums yet. */
const ABOVE = sql`and seq >= (select max(seq) from use_below)`

/** Of each generation its facts. @param condition which of them. */
function generations(wanted: ChargeQuery, condition = sql``): RawBuilder<unknown> {
  const columns: Readonly<Record<ChargeGroup, RawBuilder<unknown>>> = {
    day: sql`${DAY_OF_ROW}`,
    key: sql`key`,
    model: fact('model', 'model'),
    provider: fact('provider', "''"),
    app: fact('app_title', "''"),
    session: fact('session_id', "''"),
    user: fact('user', "''"),
  }
  const by = wanted.keys ? [...new Set(['key' as const, ...wanted.by])] : wanted.by
  const named = by.map((group) => sql`${columns[group]} as ${sql.raw(`"${group}"`)}`)
  return sql`select ${sql.join([...named, sql`1::bigint as requests`])}, case when ${FAILED} then 1::bigint else 0 end as failed, cost::numeric as cost, ${CAPPED}
    from generation where ${within(wanted)} ${condition} order by seq, tag`
}
