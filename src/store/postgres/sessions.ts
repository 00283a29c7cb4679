/** Sums by session, as PostgreSQL keeps and computes them. */
import { type RawBuilder, sql } from 'kysely'
import type { SessionPage, SessionQuery, SessionUse } from '../../ledger/types.ts'
import { AdaptivePage, type PageSize } from '../adaptive-page.ts'
import { TICKS } from '../rows.ts'
import { HAS_SESSION, SESSION_OF } from '../search-index.ts'
import type { Connection } from './connection.ts'
import { factOf, SAVED as SAVED_TEXT } from './json-text.ts'
import { HOUR_TICKS } from './session-functions.ts'
import { query, storable } from './tables.ts'

/** Sums of one page: each costs this process some microseconds. */
const SUMS = 2_000

/** `key` is null in the row that is no sum: `models` has the last generation of the page, or a list; `requests` how many it has, or the watermark. */
type Row = Omit<SessionUse, 'key' | 'models'> & { readonly key: string | null; readonly models: string }

/** `<watermark> <hour> [key, session]`: the sums of full hours below the watermark's, behind this one. */
const BEHIND = /^(\d+) (\d+) (\[.*)$/s

export class PostgresSessions {
  private readonly connection: Connection
  private readonly size: AdaptivePage

  constructor(connection: Connection, size: PageSize) {
    this.connection = connection
    this.size = new AdaptivePage(size)
  }

  /**
   * First the hours that the period cuts and those that are not over, in one step, with the watermark of that moment; then the others, to
   * whose sums nothing from the watermark on is ever added; last, the rows from the watermark on.
   * @param after `<seq> <tag>` of the last generation; '' begins. @throws Fault `unavailable`.
   */
  async page(wanted: SessionQuery, after: string): Promise<SessionPage> {
    if (wanted.session !== undefined) return this.ofRows(wanted, after)
    if (after === '') return this.first(wanted)
    const [, below, hour, name] = BEHIND.exec(after) ?? []
    return name === undefined
      ? this.ofRows(wanted, after)
      : this.hours(wanted, Number(below), [Number(hour), ...(JSON.parse(name) as [string, string])])
  }

  private async first(wanted: SessionQuery): Promise<SessionPage> {
    const found = await this.connection.run(firstOf(wanted).compile(query))
    const below = found.find(({ key }) => key === null)?.requests ?? 0
    const { full } = periodOf(wanted)
    return { rows: sums(found), next: `${below} ${full} ["",""]` }
  }

  private async hours(wanted: SessionQuery, below: number, [hour, key, session]: [number, string, string]): Promise<SessionPage> {
    const { fullEnd } = periodOf(wanted)
    const end = Math.min(fullEnd, Math.floor(below / HOUR_TICKS))
    const rest = { next: `${Math.max(below, Math.ceil(wanted.from * TICKS))} ` }
    if (hour >= end) return { rows: [], ...(below < wanted.until * TICKS ? rest : {}) }
    const [page] = await this.connection.run(hoursOf(wanted, [hour, key, session], end).compile(query))
    const found = page ? sumsIn(page) : []
    const last = found.at(-1)
    if (last && found.length === SUMS)
      return { rows: found, next: `${below} ${page?.hour ?? end} ${JSON.stringify([last.key, last.session])}` }
    return { rows: found, ...(below < wanted.until * TICKS ? rest : {}) }
  }

  private async ofRows(wanted: SessionQuery, after: string): Promise<SessionPage> {
    const begun = performance.now()
    const { size } = this.size
    const found = await this.connection.run(rowsOf(wanted, after, size).compile(query))
    this.size.took(performance.now() - begun)
    const end = found.find(({ key }) => key === null)
    return { rows: sums(found), ...(end?.requests === size ? { next: end.models } : {}) }
  }
}

function sums(found: readonly Row[]): SessionUse[] {
  return found.flatMap(
    ({ key, models, requests, failed, cost, input, output, cached, cacheWrite, reasoning, cacheSaved, first, last, session }) => {
      if (key === null) return []
      const names = JSON.parse(models) as string[]
      return [
        { key, session, models: names, requests, failed, cost, input, output, cached, cacheWrite, reasoning, cacheSaved, first, last },
      ]
    },
  )
}

const NANO = 1_000_000_000n
const TEXTS = ['key', 'session'] as const
const NUMBERS = [
  'count',
  'failed',
  'dollars',
  'nano',
  'input',
  'output',
  'cached',
  'cache_write',
  'reasoning',
  'saved',
  'first',
  'last',
] as const
type Column = (typeof TEXTS)[number] | 'models' | (typeof NUMBERS)[number]

/** Each column of `session_use` as one text, since values one by one cost three times as much to read. `hour` is the last one; null where there are no sums. */
type Columns = { readonly [Name in Column]: string | null } & { readonly hour: number | null }

const COLUMN_TEXTS = sql.raw(
  [
    ...TEXTS.map((name) => `string_agg(to_json(${name})::text, ',') as ${name}`),
    "string_agg(models, ',') as models",
    ...NUMBERS.map((name) => `string_agg(${name}::text, ',') as ${name}`),
    'max(hour) as hour',
  ].join(', '),
)

function hoursOf(wanted: SessionQuery, [hour, key, session]: [number, string, string], end: number) {
  return sql<Columns>`select ${COLUMN_TEXTS} from (
    select s.* from session_use s where (hour, key, session) > (${hour}::bigint, ${key}, ${session}) and hour < ${end}::bigint
      ${ofKeys(wanted)} order by hour, key, session limit ${SUMS}) as page`
}

function sumsIn(page: Columns): SessionUse[] {
  const valuesOf = <Value>(name: Column): Value[] => JSON.parse(`[${page[name] ?? ''}]`) as Value[]
  const [sessions, models] = [valuesOf<string>('session'), valuesOf<string[]>('models')]
  const numbers = Object.fromEntries(NUMBERS.map((name) => [name, valuesOf(name)])) as Record<(typeof NUMBERS)[number], number[]>
  const { count, failed, dollars, nano, input, output, cached, cache_write: written, reasoning, saved, first, last } = numbers
  return valuesOf<string>('key').map((key, at) => ({
    key,
    session: sessions[at] ?? '',
    models: models[at] ?? [],
    requests: count[at] ?? 0,
    failed: failed[at] ?? 0,
    cost: BigInt(dollars[at] ?? 0) * NANO + BigInt(nano[at] ?? 0),
    input: input[at] ?? 0,
    output: output[at] ?? 0,
    cached: cached[at] ?? 0,
    cacheWrite: written[at] ?? 0,
    reasoning: reasoning[at] ?? 0,
    cacheSaved: saved[at] ?? 0,
    first: Math.floor((first[at] ?? 0) / TICKS),
    last: Math.floor((last[at] ?? 0) / TICKS),
  }))
}

/** Sequences; the hours that lie in the period wholly are those from `full` to before `fullEnd`. */
function periodOf({ from, until }: SessionQuery) {
  const [first, end] = [Math.max(0, Math.ceil(from * TICKS)), Math.floor(until * TICKS)]
  return { first, end, full: Math.ceil(first / HOUR_TICKS), fullEnd: Math.floor(end / HOUR_TICKS) }
}

const fact = (name: string, otherwise: string) => sql.raw(factOf(name, otherwise))
const SAVED = sql.raw(SAVED_TEXT)
const SESSION = fact('session_id', "''")
const ofKeys = ({ keys }: SessionQuery): RawBuilder<unknown> => (keys ? sql`and s.key = any(${keys.map(storable)})` : sql``)

/** Of `session_use s`. */
const COLUMNS =
  sql.raw(`s.key, s.session, s.models, s.count as requests, s.failed, s.dollars::numeric * 1000000000 + s.nano as cost, s.input, s.output,
  s.cached, s.cache_write as "cacheWrite", s.reasoning, s.saved as "cacheSaved", s.first / ${TICKS} as first, s.last / ${TICKS} as last`)

/** Of generations. */
const SUM_COLUMNS = sql`json_agg(distinct ${fact('model', 'model')})::text as models, count(*) as requests,
  count(*) filter (where status in ('failed', 'unknown')) as failed, sum(cost) as cost, sum(input)::bigint as input,
  sum(output)::bigint as output, sum(cached)::bigint as cached, sum(cache_write)::bigint as "cacheWrite",
  sum(reasoning)::bigint as reasoning, sum(${SAVED})::float8 as "cacheSaved", min(seq) / ${TICKS}::bigint as first,
  max(seq) / ${TICKS}::bigint as last`

const noSum = (models: RawBuilder<unknown>, requests: RawBuilder<unknown>) => sql`select null as key, '' as session, ${models} as models,
  ${requests} as requests, 0::bigint as failed, 0::numeric as cost, 0::bigint as input, 0::bigint as output, 0::bigint as cached,
  0::bigint as "cacheWrite", 0::bigint as reasoning, 0::float8 as "cacheSaved", 0::bigint as first, 0::bigint as last`

/** Sessions that lie on both sides of a cut are read from their rows, by the index of sessions. */
function firstOf(wanted: SessionQuery) {
  const { first, end, full, fullEnd } = periodOf(wanted)
  const inside = sql`s.first >= ${first}::bigint and s.last < ${end}::bigint`
  const [hour, lastHour] = [Math.floor(first / HOUR_TICKS), Math.floor((end - 1) / HOUR_TICKS)]
  return sql<Row>`
    with mark as materialized (select seq as below from session_below),
    hours as materialized (
      select s.*, below from session_use s, mark where s.hour >= ${hour}::bigint and s.hour <= ${lastHour}::bigint
        and (s.hour < ${full}::bigint or s.hour >= ${fullEnd}::bigint or s.hour >= below / ${HOUR_TICKS}::bigint) ${ofKeys(wanted)}
    )
    ${noSum(sql`'[]'`, sql`below`)} from mark
    union all select ${COLUMNS} from hours s where ${inside}
    union all select s.key, s.session, g.* from hours s cross join lateral (
      select ${SUM_COLUMNS} from generation where ${sql.raw(HAS_SESSION.postgres)} and (${sql.raw(SESSION_OF.postgres)}) = s.session
        and key = s.key and seq >= greatest(${first}::bigint, s.hour * ${HOUR_TICKS}::bigint)
        and seq < least(${end}::bigint, (s.hour + 1) * ${HOUR_TICKS}::bigint, s.below)
    ) g where not (${inside}) and s.first < ${end}::bigint and s.last >= ${first}::bigint and g.requests > 0`
}

/** The generations of one page. A session is read from its index. */
function rowsOf(wanted: SessionQuery, after: string, size: number) {
  const { from, until, session } = wanted
  const [seq, tag] = after === '' ? [Math.max(0, Math.ceil(from * TICKS)), ''] : after.split(' ')
  const ofSession =
    session === undefined ? sql`` : sql`and ${sql.raw(HAS_SESSION.postgres)} and (${sql.raw(SESSION_OF.postgres)}) = ${storable(session)}`
  const named = session === undefined ? sql`` : sql`and ${SESSION} = ${storable(session)}`
  return sql<Row>`
    with page as materialized (
      select * from generation where (seq, tag) > (${seq}::bigint, ${tag}::text) and seq < ${Math.floor(until * TICKS)}::bigint ${ofSession}
      order by seq, tag limit ${size}
    ), sums as (
      select key, ${SESSION} as session, ${SUM_COLUMNS} from page s where ${SESSION} <> '' ${ofKeys(wanted)} ${named} group by 1, 2
    )
    ${noSum(sql`(select seq || ' ' || tag from page order by seq desc, tag desc limit 1)`, sql`count(*)`)} from page
    union all select * from sums`
}
