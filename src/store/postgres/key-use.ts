/** Sums of use of whole days of each key apart, as PostgreSQL keeps them. */
import { type RawBuilder, sql } from 'kysely'
import type { UseGroup, UseQuery, UseRow } from '../../ledger/types.ts'
import { DAY_MS } from '../rows.ts'
import { partFor } from '../use-facts.ts'
import type { Connection } from './connection.ts'
import { query, storable } from './tables.ts'

/** The first day that is not closed. */
export const CLOSED = sql.raw('(select c.day from use_closed c)')

/** The columns of the indexes are compared as they are. */
export const inDaysOf = ({ from, until }: UseQuery): RawBuilder<unknown> =>
  sql`day >= ${Math.ceil(from / DAY_MS)}::bigint and day < ${Math.ceil(until / DAY_MS)}::bigint`

/** All sums by day and key. One look into the index for each day: sums of a key are not side by side. */
export function byDayOf(wanted: UseQuery): RawBuilder<unknown> {
  const { from, until, keys } = wanted
  if (!keys) return sql`select day * ${DAY_MS}::bigint as moment, * from use_by_key where ${inDaysOf(wanted)}`
  const [first, last] = [Math.ceil(from / DAY_MS), Math.ceil(until / DAY_MS) - 1]
  return sql`select u.day * ${DAY_MS}::bigint as moment, u.* from generate_series(${first}::bigint, ${last}::bigint) as d cross join lateral
    (select * from use_by_key k where k.day = d and k.key = any(${keys.map(storable)}) offset 0) as u`
}

const TEXTS = ['key', 'model', 'provider', 'cost'] as const
const NUMBERS = ['day', 'requests', 'failed', 'input', 'output', 'reasoning', 'saved'] as const

/** Each column as one text: values one by one cost three times as much to read, and the event loop has them all at once. */
type Columns = Readonly<Record<(typeof TEXTS)[number] | (typeof NUMBERS)[number], string | null>> & { readonly below: number }

const COLUMN_TEXTS = sql.raw(
  [
    ...TEXTS.map((name) => `string_agg(to_json(${name}::text)::text, ',') as ${name}`),
    ...NUMBERS.map((name) => `string_agg(${name}::text, ',') as ${name}`),
  ].join(', '),
)

/** @param apart what stands apart beside the key. @returns the sums below the watermark, and this. @throws Fault `unavailable`. */
export async function readKeyUse(
  connection: Connection,
  wanted: UseQuery,
  apart: readonly UseGroup[],
): Promise<{ rows: UseRow[]; below: number }> {
  const [page] = await connection.run(sumsOf(wanted, apart).compile(query))
  return { rows: page ? rowsIn(page) : [], below: page?.below ?? 0 }
}

function sumsOf(wanted: UseQuery, apart: readonly UseGroup[]) {
  const column = (group: UseGroup, name: string, none: string) => sql.raw(`${apart.includes(group) ? name : none} as ${group}`)
  const part = wanted.keys ? undefined : partFor(apart)
  const failed = sql.raw(`case when status in ('failed', 'unknown') then count else 0 end as failed`)
  const names = sql.raw(['model', 'provider'].map((name) => (part === undefined || part === name ? name : `'' as ${name}`)).join(', '))
  const each = sql`select moment, key, ${names}, count, dollars, nano, input, output, reasoning, saved`
  const days = byDayOf(wanted)
  const closed = sql`${each}, failed from (select day * ${DAY_MS}::bigint as moment, * from ${sql.raw(`use_by_key_${part}`)}
      where ${inDaysOf(wanted)} and day < ${CLOSED}) as c
    union all ${each}, ${failed} from (${days} and day >= ${CLOSED}) as o`
  return sql<Columns>`with sums as (
      select key, ${column('day', 'moment', '0::bigint')}, ${column('model', 'model', "''")}, ${column('provider', 'provider', "''")},
        sum(count) as requests, sum(failed) as failed, sum(dollars) * 1000000000 + sum(nano) as cost, sum(input) as input,
        sum(output) as output, sum(reasoning) as reasoning, sum(saved) as saved
      from (${part ? closed : sql`${each}, ${failed} from (${days}) as o`}) as u group by 1, 2, 3, 4
    )
    select ${COLUMN_TEXTS}, (select seq from use_below) as below from sums`
}

function rowsIn(page: Columns): UseRow[] {
  const valuesOf = <Value>(name: keyof Columns): Value[] => JSON.parse(`[${page[name] ?? ''}]`) as Value[]
  const [models, providers, costs] = [valuesOf<string>('model'), valuesOf<string>('provider'), valuesOf<string>('cost')]
  const [days, requests, failed, input, output, reasoning, saved] = NUMBERS.map((name) => valuesOf<number>(name))
  return valuesOf<string>('key').map((key, at) => ({
    key,
    day: days?.[at] ?? 0,
    model: models[at] ?? '',
    endpoint: '',
    provider: providers[at] ?? '',
    answered: true,
    requests: requests?.[at] ?? 0,
    failed: failed?.[at] ?? 0,
    cost: BigInt(costs[at] ?? 0),
    input: input?.[at] ?? 0,
    output: output?.[at] ?? 0,
    reasoning: reasoning?.[at] ?? 0,
    cacheSaved: saved?.[at] ?? 0,
  }))
}
