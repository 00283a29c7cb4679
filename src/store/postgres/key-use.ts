/** Sums of use of whole days of each key apart, as PostgreSQL keeps them: in pages of whole keys, since a statement has a limit of time. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import { Fault } from '../../core/faults.ts'
import { BY_DAY } from '../../core/ledger-counts.ts'
import { type DayColumns, dayCountsAt } from '../../core/row-counts.ts'
import type { UseGroup, UseQuery, UseRow } from '../../ledger/types.ts'
import { AdaptivePage } from '../adaptive-page.ts'
import { DAY_MS, TICKS } from '../rows.ts'
import { areWhole, closedSumsFor, KEY_SUMS, RUN_DAYS, soughtIn } from '../use-facts.ts'
import type { Connection } from './connection.ts'
import { factColumn, SAVED } from './json-text.ts'
import { LAST_DAY, MAX_TOKENS } from './rollup-functions.ts'
import { query, storable } from './tables.ts'

/** The first day that is not closed. */
export const CLOSED = sql.raw('(select c.day from use_closed c)')

const LAST = sql.raw(LAST_DAY)

/** The columns of the indexes are compared as they are. What a rebuild has left above the watermark counts nowhere. */
export const withinDays = ({ from, until }: UseQuery): RawBuilder<unknown> =>
  sql`day >= ${Math.ceil(from / DAY_MS)}::bigint and day < ${Math.ceil(until / DAY_MS)}::bigint and day <= ${LAST}`

/** The keys of a page, and what its first one began with. */
interface KeyPage {
  /** The watermark of the sums when the first page was read: later ones leave out what was added since. Absent on the first. */
  readonly since?: number
  /** Keys behind this one; '' for all. */
  readonly after: string
  /** Up to this one; undefined for all. */
  readonly last?: string | undefined
}

const ALL: KeyPage = { after: '' }

/** The days of a query that have sums, from one on. */
function daysIn({ from, until }: UseQuery, least?: RawBuilder<unknown>): RawBuilder<unknown> {
  const [first, last] = [Math.ceil(from / DAY_MS), Math.ceil(until / DAY_MS) - 1]
  return sql`generate_series(greatest(${first}::bigint, ${least ?? sql`0`}), least(${last}::bigint, ${LAST})) as d`
}

/** All sums by day and key. One look into the index for each day: sums of a key are not side by side. */
export function useByDay(wanted: UseQuery, page: KeyPage = ALL, least?: RawBuilder<unknown>): RawBuilder<unknown> {
  const ofKeys = wanted.keys ? sql`and k.key = any(${wanted.keys.map(storable)})` : between(page)
  return sql`select u.day * ${DAY_MS}::bigint as moment, u.* from ${daysIn(wanted, least)} cross join lateral
    (select * from use_by_key k where k.day = d ${ofKeys} offset 0) as u`
}

/** Of a table that is named `k`. */
const between = ({ after, last }: KeyPage): RawBuilder<unknown> =>
  sql`${after === '' ? sql`` : sql`and k.key > ${after}`} ${last === undefined ? sql`` : sql`and k.key <= ${last}`}`

/** The first day that is not closed, as the first page found it or earlier: what is left out of later pages is in open days. */
const closedFor = ({ since }: KeyPage): RawBuilder<unknown> =>
  since === undefined ? CLOSED : sql`least(${CLOSED}, ${Math.floor(since / TICKS / DAY_MS)}::bigint)`

const TEXTS = ['key', 'model', 'provider', 'cost'] as const
const DAY_COLUMNS = BY_DAY.map(({ column }) => column)
const COUNTED = sql.raw(DAY_COLUMNS.join(', '))
const NUMBERS = ['day', 'requests', 'failed', 'saved'] as const

/** Each column as one text: values one by one cost three times as much to read, and the event loop has them all at once. */
type Columns = Readonly<Record<(typeof TEXTS)[number] | (typeof NUMBERS)[number] | keyof DayColumns, string | null>> & {
  readonly below: number
}

const COLUMN_TEXTS = sql.raw(
  [
    ...TEXTS.map((name) => `string_agg(to_json(${name}::text)::text, ',') as ${name}`),
    ...[...NUMBERS, ...DAY_COLUMNS].map((name) => `string_agg(${name}::text, ',') as ${name}`),
  ].join(', '),
)

/** `<first watermark> <key>`, of which the key was the last of a page. */
const PLACE = /^keys (\d+) (.+)$/s
/** Seconds of `Retry-After`. */
const RETRY_SECONDS = 1
/** Sums that one page reads, and milliseconds that it should take. */
const SUMS = { least: 2_000, most: 50_000, target: 100 }

export class PostgresKeyUse {
  private readonly connection: Connection
  private readonly size = new AdaptivePage(SUMS)

  constructor(connection: Connection) {
    this.connection = connection
  }

  /** True where `after` is a place between two pages. */
  isPlace(after: string): boolean {
    return PLACE.test(after)
  }

  /**
   * The sums of the next keys as they stood at the first page's watermark.
   * @param apart what stands apart beside the key. @param after '' begins. @returns the place of the next page, or the watermark.
   * @throws Fault `unavailable`.
   */
  async page(wanted: UseQuery, apart: readonly UseGroup[], after: string): Promise<{ rows: UseRow[]; below: number; next?: string }> {
    const [, since, key = ''] = PLACE.exec(after) ?? []
    const begun = performance.now()
    const last = wanted.keys ? undefined : await this.lastKey(wanted, key)
    const keys = { after: key, last, ...(since === undefined ? {} : { since: Number(since) }) }
    const [page] = await this.connection.run(useSums(wanted, apart, keys).compile(query))
    this.size.took(performance.now() - begun)
    const below = keys.since ?? page?.below ?? 0
    if (page && page.below < below)
      throw new Fault('unavailable', { message: 'The sums of use were made anew meanwhile', retryAfter: RETRY_SECONDS })
    return { rows: page ? await rowsIn(page) : [], below, ...(last === undefined ? {} : { next: `keys ${below} ${last}` }) }
  }

  /** The last key of a page behind a key; undefined where all that are left fit into it. */
  private async lastKey(wanted: UseQuery, after: string): Promise<string | undefined> {
    const days = Math.max(1, Math.ceil((wanted.until - wanted.from) / DAY_MS))
    const most = Math.ceil(this.size.size / days)
    const bound = sql<{ last: string | null }>`select min(b.key) as last from ${daysIn(wanted)} cross join lateral
      (select k.key from use_by_key k where k.day = d ${between({ after })} order by k.key offset ${most - 1} limit 1) as b`
    const [row] = await this.connection.run(bound.compile(query))
    return row?.last ?? undefined
  }
}

/** Running sums of closed days, with a sign: those at the ends of runs, less what was used before the period. */
function runningSums({ from, until }: UseQuery, page: KeyPage): RawBuilder<unknown> {
  const [first, end] = [Math.ceil(from / DAY_MS), Math.ceil(until / DAY_MS)]
  const closed = closedFor(page)
  const signed = sql.raw(['count', 'dollars', 'nano', ...DAY_COLUMNS, 'saved', 'failed'].map((name) => `sign * ${name}`).join(', '))
  return sql`select 0::bigint, key, model, provider, ${signed} from (
      select s.day as of_day, 1 as sign from generate_series(${first}::bigint, least(${end}::bigint, ${closed}) - 1) as s (day)
        where s.day % ${RUN_DAYS}::bigint = ${RUN_DAYS - 1}::bigint or s.day = least(${end}::bigint, ${closed}) - 1
      union all select ${first - 1}::bigint, -1 where ${first % RUN_DAYS > 0}::boolean and ${closed} > ${first}::bigint
    ) as d cross join lateral (select * from use_by_key_running k where k.day = d.of_day ${between(page)} offset 0) as r`
}

/** Subtracts what was added to the sums since the first page: that is read with the generations behind that page's watermark. */
function addedSince({ from, until }: UseQuery, page: KeyPage & { readonly since: number }): RawBuilder<unknown> {
  const least = sql.raw(DAY_COLUMNS.map((name) => `-least(${name}, ${MAX_TOKENS})`).join(', '))
  return sql`select k.seq / ${TICKS}::bigint / ${DAY_MS}::bigint * ${DAY_MS}::bigint, k.key, ${sql.raw(factColumn('model', 'model'))},
      ${sql.raw(factColumn('provider', "''"))}, -1::bigint, -(k.cost / 1000000000), -(k.cost % 1000000000), ${least},
      -(${sql.raw(SAVED)})::float8, case when k.status in ('failed', 'unknown') then -1::bigint else 0 end
    from generation k where k.seq >= ${Math.max(page.since, Math.ceil(from * TICKS))}::bigint and k.seq < ${Math.floor(until * TICKS)}::bigint
      and k.seq < (select max(b.seq) from use_below b) ${between(page)}`
}

interface Parts {
  /** Sums that are added up. */
  readonly rows: RawBuilder<unknown>
  /** Sums of closed days that are shown as they are: to group them takes two thirds of the time. */
  readonly whole?: RawBuilder<unknown>
}

/** All sums of the query, from those of closed days where these have what it wants. */
function sumParts(wanted: UseQuery, page: KeyPage): Parts {
  const closed = wanted.keys ? undefined : closedSumsFor(wanted)
  const isOfOne = closed === 'model' || closed === 'provider'
  const names = KEY_SUMS.both.map((name) => (isOfOne && name !== closed ? `'' as ${name}` : name))
  const each = sql`select moment, key, ${sql.raw(names.join(', '))}, count, dollars, nano, ${COUNTED}, saved`
  const failed = sql.raw(`case when status in ('failed', 'unknown') then count else 0 end as failed`)
  const { since } = page
  const added = since === undefined ? sql`` : sql`union all ${addedSince(wanted, { ...page, since })}`
  if (!closed) return { rows: sql`${each}, ${failed} from (${useByDay(wanted, page)}) as o ${added}` }
  const open = sql`${each}, ${failed} from (${useByDay(wanted, page, closedFor(page))}) as o ${added}`
  if (closed === 'running') return { rows: sql`${open} union all ${runningSums(wanted, page)}` }
  const whole = sql`${each}, failed from (select u.day * ${DAY_MS}::bigint as moment, u.* from ${daysIn(wanted)} cross join lateral
      (select * from ${sql.raw(`use_by_key_${closed}`)} k where k.day = d ${between(page)} offset 0) as u where d < ${closedFor(page)}) as c`
  return areWhole(closed, wanted) ? { rows: open, whole } : { rows: sql`${open} union all ${whole}` }
}

function useSums(wanted: UseQuery, apart: readonly UseGroup[], page: KeyPage) {
  const column = (group: UseGroup, name: string, none: string) => sql.raw(`${apart.includes(group) ? name : none} as ${group}`)
  const names = sql`key, ${column('day', 'moment', '0::bigint')}, ${column('model', 'model', "''")}, ${column('provider', 'provider', "''")}`
  const sought = soughtIn(wanted).map((name) => sql`${sql.raw(name)} = ${storable(wanted[name] ?? '')}`)
  const condition = sought.length > 0 ? sql`where ${sql.join(sought, sql` and `)}` : sql``
  const { rows, whole } = sumParts(wanted, page)
  const shown = sql`union all select ${names}, count, failed, dollars * 1000000000::numeric + nano, ${COUNTED}, saved
      from (${whole}) as w ${condition}`
  return sql<Columns>`with sums as (
      select ${names}, sum(count)::bigint as requests, sum(failed)::bigint as failed, sum(dollars) * 1000000000 + sum(nano) as cost,
        ${sql.raw(DAY_COLUMNS.map((name) => `sum(${name})::bigint as ${name}`).join(', '))}, sum(saved) as saved
      from (${rows}) as u ${condition} group by 1, 2, 3, 4 having sum(count) > 0 ${whole ? shown : sql``}
    )
    select ${COLUMN_TEXTS}, (select max(seq) from use_below) as below from sums`
}

/** Rows that are made in one turn of the event loop. */
const TURN = 1_000

async function rowsIn(page: Columns): Promise<UseRow[]> {
  const parseValues = <Value>(name: keyof Columns): Value[] => JSON.parse(`[${page[name] ?? ''}]`) as Value[]
  const [keys, models, providers, costs] = TEXTS.map((name) => parseValues<string>(name))
  if (page.key && page.key.length > 10 * TURN) await nextTurn()
  const [days, requests, failed, saved] = NUMBERS.map((name) => parseValues<number>(name))
  const counts = BY_DAY.map(({ column }) => parseValues<number>(column))
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
      ...dayCountsAt(counts, 0, (values) => values?.[at] ?? 0),
      cacheSaved: saved?.[at] ?? 0,
    })
  }
  return rows
}
