/** Sums of use of whole days of each key apart, as PostgreSQL keeps them. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import type { UseGroup, UseQuery, UseRow } from '../../ledger/types.ts'
import { DAY_MS } from '../rows.ts'
import { areWhole, closedSumsFor, KEY_SUMS, RUN_DAYS, soughtIn } from '../use-facts.ts'
import type { Connection } from './connection.ts'
import { LAST_DAY } from './rollup-functions.ts'
import { query, storable } from './tables.ts'

/** The first day that is not closed. */
export const CLOSED = sql.raw('(select c.day from use_closed c)')

const LAST = sql.raw(LAST_DAY)

/** The columns of the indexes are compared as they are. What a rebuild has left above the watermark counts nowhere. */
export const inDaysOf = ({ from, until }: UseQuery): RawBuilder<unknown> =>
  sql`day >= ${Math.ceil(from / DAY_MS)}::bigint and day < ${Math.ceil(until / DAY_MS)}::bigint and day <= ${LAST}`

/** All sums by day and key. One look into the index for each day: sums of a key are not side by side. */
export function byDayOf(wanted: UseQuery): RawBuilder<unknown> {
  const { from, until, keys } = wanted
  if (!keys) return sql`select day * ${DAY_MS}::bigint as moment, * from use_by_key where ${inDaysOf(wanted)}`
  const [first, last] = [Math.ceil(from / DAY_MS), Math.ceil(until / DAY_MS) - 1]
  return sql`select u.day * ${DAY_MS}::bigint as moment, u.* from generate_series(${first}::bigint, least(${last}::bigint, ${LAST})) as d cross join lateral
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
  return { rows: page ? await rowsIn(page) : [], below: page?.below ?? 0 }
}

/** Running sums of closed days, with a sign: those at the ends of runs, less what was used before the period. */
function runningOf({ from, until }: UseQuery): RawBuilder<unknown> {
  const [first, end] = [Math.ceil(from / DAY_MS), Math.ceil(until / DAY_MS)]
  const signed = sql.raw(
    ['count', 'dollars', 'nano', 'input', 'output', 'reasoning', 'saved', 'failed'].map((name) => `sign * ${name}`).join(', '),
  )
  return sql`select 0::bigint, key, model, provider, ${signed} from (
      select s.day as of_day, 1 as sign from generate_series(${first}::bigint, least(${end}::bigint, ${CLOSED}) - 1) as s (day)
        where s.day % ${RUN_DAYS}::bigint = ${RUN_DAYS - 1}::bigint or s.day = least(${end}::bigint, ${CLOSED}) - 1
      union all select ${first - 1}::bigint, -1 where ${first % RUN_DAYS > 0}::boolean and ${CLOSED} > ${first}::bigint
    ) as d cross join lateral (select * from use_by_key_running r where r.day = d.of_day offset 0) as r`
}

interface Parts {
  /** Sums that are added up. */
  readonly rows: RawBuilder<unknown>
  /** Sums of closed days that are shown as they are: to group them takes two thirds of the time. */
  readonly whole?: RawBuilder<unknown>
}

/** All sums of the query, from those of closed days where these have what it wants. */
function partsOf(wanted: UseQuery): Parts {
  const closed = wanted.keys ? undefined : closedSumsFor(wanted)
  const isOfOne = closed === 'model' || closed === 'provider'
  const names = KEY_SUMS.both.map((name) => (isOfOne && name !== closed ? `'' as ${name}` : name))
  const each = sql`select moment, key, ${sql.raw(names.join(', '))}, count, dollars, nano, input, output, reasoning, saved`
  const failed = sql.raw(`case when status in ('failed', 'unknown') then count else 0 end as failed`)
  const days = byDayOf(wanted)
  if (!closed) return { rows: sql`${each}, ${failed} from (${days}) as o` }
  const open = sql`${each}, ${failed} from (${days} and day >= ${CLOSED}) as o`
  if (closed === 'running') return { rows: sql`${open} union all ${runningOf(wanted)}` }
  const whole = sql`${each}, failed from (select day * ${DAY_MS}::bigint as moment, * from ${sql.raw(`use_by_key_${closed}`)}
      where ${inDaysOf(wanted)} and day < ${CLOSED}) as c`
  return areWhole(closed, wanted) ? { rows: open, whole } : { rows: sql`${open} union all ${whole}` }
}

function sumsOf(wanted: UseQuery, apart: readonly UseGroup[]) {
  const column = (group: UseGroup, name: string, none: string) => sql.raw(`${apart.includes(group) ? name : none} as ${group}`)
  const names = sql`key, ${column('day', 'moment', '0::bigint')}, ${column('model', 'model', "''")}, ${column('provider', 'provider', "''")}`
  const sought = soughtIn(wanted).map((name) => sql`${sql.raw(name)} = ${storable(wanted[name] ?? '')}`)
  const condition = sought.length > 0 ? sql`where ${sql.join(sought, sql` and `)}` : sql``
  const { rows, whole } = partsOf(wanted)
  const shown = sql`union all select ${names}, count, failed, dollars * 1000000000::numeric + nano, input, output, reasoning, saved
      from (${whole}) as w ${condition}`
  return sql<Columns>`with sums as (
      select ${names}, sum(count)::bigint as requests, sum(failed)::bigint as failed, sum(dollars) * 1000000000 + sum(nano) as cost,
        sum(input)::bigint as input, sum(output)::bigint as output, sum(reasoning)::bigint as reasoning, sum(saved) as saved
      from (${rows}) as u ${condition} group by 1, 2, 3, 4 having sum(count) > 0 ${whole ? shown : sql``}
    )
    select ${COLUMN_TEXTS}, (select seq from use_below) as below from sums`
}

/** Rows that are made in one turn of the event loop. */
const TURN = 1_000

async function rowsIn(page: Columns): Promise<UseRow[]> {
  const valuesOf = <Value>(name: keyof Columns): Value[] => JSON.parse(`[${page[name] ?? ''}]`) as Value[]
  const [keys, models, providers, costs] = TEXTS.map((name) => valuesOf<string>(name))
  if (page.key && page.key.length > 10 * TURN) await nextTurn()
  const [days, requests, failed, input, output, reasoning, saved] = NUMBERS.map((name) => valuesOf<number>(name))
  const rows: UseRow[] = []
  for (const [at, key] of (keys ?? []).entries()) {
    if (at % TURN === TURN - 1) await nextTurn()
    rows.push({
      key,
      day: days?.[at] ?? 0,
      model: models?.[at] ?? '',
      endpoint: '',
      provider: providers?.[at] ?? '',
      answered: true,
      requests: requests?.[at] ?? 0,
      failed: failed?.[at] ?? 0,
      cost: BigInt(costs?.[at] ?? 0),
      input: input?.[at] ?? 0,
      output: output?.[at] ?? 0,
      reasoning: reasoning?.[at] ?? 0,
      cacheSaved: saved?.[at] ?? 0,
    })
  }
  return rows
}
