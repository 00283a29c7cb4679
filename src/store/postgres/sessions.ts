/** Sums by session, as PostgreSQL keeps and computes them. */
import { type RawBuilder, sql } from 'kysely'
import { COUNTS } from '../../core/ledger-counts.ts'
import type { SessionName, SessionNamePage, SessionPage, SessionQuery, SessionUse } from '../../ledger/types.ts'
import { AdaptivePage, type PageSize } from '../adaptive-page.ts'
import { HOUR_MS, TICKS } from '../rows.ts'
import { HAS_SESSION, SESSION_OF } from '../search-index.ts'
import type { Connection } from './connection.ts'
import { factColumn, SAVED as SAVED_TEXT } from './json-text.ts'
import { HOUR_TICKS, lastHour } from './session-functions.ts'
import { query, storable } from './tables.ts'

/** Sessions by hour of one page: each costs this process half a microsecond. */
const NAMES = 6_000
/** Hours of sessions whose sums one statement looks for. */
const HOURS = 5_000

/** `<watermark> <hour> [key, session]`: the full hours below the watermark's, behind this one. */
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
  async names(wanted: SessionQuery, after: string): Promise<SessionNamePage> {
    if (wanted.session !== undefined) return this.ofRows(wanted, after)
    if (after === '') return this.first(wanted)
    const [, below, hour, name] = BEHIND.exec(after) ?? []
    return name === undefined
      ? this.ofRows(wanted, after)
      : this.hours(wanted, Number(below), [Number(hour), ...(JSON.parse(name) as [string, string])])
  }

  /** The sums of some sessions, in one step. @param after how many are read; '' begins. @throws Fault `unavailable`. */
  async sums(wanted: SessionQuery, after: string, of: readonly SessionName[]): Promise<SessionPage> {
    const begin = Number(after)
    const part: SessionName[] = []
    for (let hours = 0; begin + part.length < of.length && hours < HOURS; ) {
      const name = of[begin + part.length]
      if (!name) break
      hours += 1 + (name.last - name.first) / HOUR_MS
      part.push(name)
    }
    const found = await this.connection.run(selectSums(wanted, part).compile(query))
    const rows = found.map((row) => ({ ...row, models: JSON.parse(row.models) as string[] }))
    const end = begin + part.length
    return { rows, ...(end < of.length ? { next: String(end) } : {}) }
  }

  private async first(wanted: SessionQuery): Promise<SessionNamePage> {
    const [page] = await this.connection.run(selectFirst(wanted).compile(query))
    return { rows: page ? namesIn(page, wanted) : [], next: `${page?.below ?? 0} ${queryPeriod(wanted).full} ["",""]` }
  }

  private async hours(wanted: SessionQuery, below: number, [hour, key, session]: [number, string, string]): Promise<SessionNamePage> {
    const { fullEnd } = queryPeriod(wanted)
    const end = Math.min(fullEnd, Math.floor(below / HOUR_TICKS))
    const rest = { next: `${Math.max(below, Math.ceil(wanted.from * TICKS))} ` }
    if (hour >= end) return { rows: [], ...(below < wanted.until * TICKS ? rest : {}) }
    const [page] = await this.connection.run(selectHours(wanted, [hour, key, session], end).compile(query))
    const found = page ? namesIn(page, wanted) : []
    const last = found.at(-1)
    if (last && found.length === NAMES)
      return { rows: found, next: `${below} ${page?.below ?? end} ${JSON.stringify([last.key, last.session])}` }
    return { rows: found, ...(below < wanted.until * TICKS ? rest : {}) }
  }

  private async ofRows(wanted: SessionQuery, after: string): Promise<SessionNamePage> {
    const begun = performance.now()
    const { size } = this.size
    const [page] = await this.connection.run(selectRows(wanted, after, size).compile(query))
    this.size.took(performance.now() - begun)
    return { rows: page ? namesIn(page, wanted) : [], ...(page?.below === size && page.end !== null ? { next: page.end } : {}) }
  }
}

/**
 * Each column of the sessions found as one text, since values one by one cost three times as much to read; `first` and `last` are sequences.
 * `below` is the watermark, the last hour, or how many generations were read; `end` the last one of these.
 */
interface Columns {
  readonly key: string | null
  readonly session: string | null
  readonly first: string | null
  readonly last: string | null
  readonly below: number | null
  readonly end: string | null
}

/** Of rows with these names. */
const COLUMN_TEXTS = sql.raw(
  [
    ...['key', 'session'].map((name) => `string_agg(to_json(${name})::text, ',') as ${name}`),
    ...['first', 'last'].map((name) => `string_agg(${name}::text, ',') as ${name}`),
  ].join(', '),
)

function namesIn(page: Columns, { from }: SessionQuery): SessionName[] {
  const parseValues = <Value>(text: string | null): Value[] => JSON.parse(`[${text ?? ''}]`) as Value[]
  const [sessions, firsts, lasts] = [parseValues<string>(page.session), parseValues<number>(page.first), parseValues<number>(page.last)]
  return parseValues<string>(page.key).map((key, at) => ({
    key,
    session: sessions[at] ?? '',
    first: Math.max(Math.floor(from), Math.floor((firsts[at] ?? 0) / TICKS)),
    last: Math.floor((lasts[at] ?? 0) / TICKS),
  }))
}

/** Sequences; the hours that lie in the period wholly are those from `full` to before `fullEnd`. */
function queryPeriod({ from, until }: SessionQuery) {
  const [first, end] = [Math.max(0, Math.ceil(from * TICKS)), Math.floor(until * TICKS)]
  return { first, end, full: Math.ceil(first / HOUR_TICKS), fullEnd: Math.floor(end / HOUR_TICKS) }
}

const fact = (name: string, otherwise: string) => sql.raw(factColumn(name, otherwise))
const SESSION = fact('session_id', "''")
const IN_SESSIONS = sql.raw(HAS_SESSION.postgres)
const SESSION_NAME = sql.raw(`(${SESSION_OF.postgres})`)
const BELOW = sql.raw('mark as materialized (select seq as below from session_below)')
/** The last hour whose sums count: hours from the watermark on are left over from before a rebuild. */
const LAST_HOUR = sql.raw(lastHour('(select max(seq) from session_below)'))
const ofKeys = ({ keys }: SessionQuery): RawBuilder<unknown> => (keys ? sql`and s.key = any(${keys.map(storable)})` : sql``)

/**
 * The generations of a session of one key, by the index of sessions, which serves comparisons in the default collation alone: else the
 * planner reads all those of the key. @param of has a `session` and a `key`.
 */
const named = (of: string, from: RawBuilder<unknown>, end: RawBuilder<unknown>): RawBuilder<unknown> => sql`(
  select * from generation where ${IN_SESSIONS} and ${SESSION_NAME} = ${sql.raw(of)}.session collate "default" and seq >= ${from} and seq < ${end}
  order by seq desc offset 0) as named where named.key = ${sql.raw(of)}.key`

/** Of sessions that go on beyond the end of the period the last generation before it is looked up, by the index of sessions. */
function selectFirst(wanted: SessionQuery) {
  const { first, end, full, fullEnd } = queryPeriod(wanted)
  const [hour, last] = [Math.floor(first / HOUR_TICKS), Math.floor((end - 1) / HOUR_TICKS)]
  return sql<Columns>`
    with ${BELOW}, hours as materialized (
      select s.hour, s.key, s.session, s.first, s.last, below from session_use s, mark
      where s.hour >= ${hour}::bigint and s.hour <= least(${last}::bigint, ${LAST_HOUR}) and s.first < ${end}::bigint and s.last >= ${first}::bigint
        and (s.hour < ${full}::bigint or s.hour >= ${fullEnd}::bigint or s.hour >= below / ${HOUR_TICKS}::bigint) ${ofKeys(wanted)}
    ), found as (
      select key, session, first, last from hours where last < ${end}::bigint
      union all select h.key, h.session, h.first, g.last from hours h cross join lateral (
        select seq as last from ${named('h', sql`greatest(${first}::bigint, h.hour * ${HOUR_TICKS}::bigint)`, sql`least(${end}::bigint, h.below)`)}
        order by seq desc limit 1
      ) g where h.last >= ${end}::bigint
    )
    select ${COLUMN_TEXTS}, (select below from mark) as below, null as end from found`
}

function selectHours({ keys }: SessionQuery, [hour, key, session]: [number, string, string], end: number) {
  const behind = sql`(s.hour, s.key, s.session) > (${hour}::bigint, ${key}, ${session})`
  const columns = sql.raw('select s.hour, s.key, s.session, s.first, s.last from session_use s where')
  // One look into the index for each hour: sums of a key are not side by side.
  const rows = keys
    ? sql`select u.* from generate_series(${hour}::bigint, ${end - 1}::bigint) as h cross join lateral
        (${columns} s.hour = h and s.key = any(${keys.map(storable)}) and ${behind} offset 0) as u`
    : sql`${columns} ${behind} and s.hour < ${end}::bigint`
  return sql<Columns>`select ${COLUMN_TEXTS}, max(hour) as below, null as end from (
    ${rows} order by hour, key, session limit ${NAMES}) as page`
}

/** The generations of one page. A session is read from its index. */
function selectRows(wanted: SessionQuery, after: string, size: number) {
  const { from, until, session } = wanted
  const [seq, tag] = after === '' ? [Math.max(0, Math.ceil(from * TICKS)), ''] : after.split(' ')
  const ofSession = session === undefined ? sql`` : sql`and ${IN_SESSIONS} and ${SESSION_NAME} = ${storable(session)}`
  const named = session === undefined ? sql`` : sql`and ${SESSION} = ${storable(session)}`
  return sql<Columns>`
    with page as materialized (
      select * from generation where (seq, tag) > (${seq}::bigint, ${tag}::text) and seq < ${Math.floor(until * TICKS)}::bigint ${ofSession}
      order by seq, tag limit ${size}
    ), found as (
      select key, ${SESSION} as session, min(seq) as first, max(seq) as last from page s
      where ${SESSION} <> '' ${ofKeys(wanted)} ${named} group by 1, 2
    )
    select ${COLUMN_TEXTS}, (select count(*) from page) as below,
      (select seq || ' ' || tag from page order by seq desc, tag desc limit 1) as end from found`
}

type Sum = Omit<SessionUse, 'models'> & { readonly models: string }

/** Of `session_use s`. */
const OF_SUM =
  sql.raw(`s.models, s.count as requests, s.failed, s.dollars::numeric * 1000000000 + s.nano as cost, ${COUNTS.map(({ column, count }) => `s.${column} as "${count}"`).join(', ')},
  s.saved as "cacheSaved", s.first / ${TICKS} as first, s.last / ${TICKS} as last`)

/** Of generations. */
const OF_ROWS = sql`json_agg(distinct ${fact('model', 'model')})::text as models, count(*) as requests,
  count(*) filter (where status in ('failed', 'unknown')) as failed, sum(cost) as cost,
  ${sql.raw(COUNTS.map(({ column, count }) => `sum(${column})::bigint as "${count}"`).join(', '))}, sum(${sql.raw(SAVED_TEXT)})::float8 as "cacheSaved", min(seq) / ${TICKS}::bigint as first,
  max(seq) / ${TICKS}::bigint as last`

/** Sums of whole hours as they are kept; what lies on one side of a cut, and what is not below the watermark yet, from the rows. */
function selectSums(wanted: SessionQuery, of: readonly SessionName[]) {
  const { first, end } = queryPeriod(wanted)
  const inside = sql`s.first >= ${first}::bigint and s.last < ${end}::bigint`
  const toHour = (ms: number): number => Math.floor(ms / HOUR_MS)
  return sql<Sum>`
    with ${BELOW}, wanted as materialized (
      select * from unnest(${of.map(({ key }) => key)}::text[], ${of.map(({ session }) => session)}::text[],
        ${of.map((name) => toHour(name.first))}::bigint[], ${of.map(({ last }) => toHour(last))}::bigint[]) as w (key, session, hour, last)
    ), hours as materialized (
      select s.*, below from wanted w cross join mark cross join lateral generate_series(w.hour, least(w.last, ${LAST_HOUR})) as h cross join lateral (
        select * from session_use u where u.hour = h and u.key = w.key and u.session = w.session offset 0
      ) as s where s.first < ${end}::bigint and s.last >= ${first}::bigint
    )
    select s.key, s.session, ${OF_SUM} from hours s where ${inside}
    union all select s.key, s.session, g.* from hours s cross join lateral (
      select ${OF_ROWS} from ${named('s', sql`greatest(${first}::bigint, s.hour * ${HOUR_TICKS}::bigint)`, sql`least(${end}::bigint, (s.hour + 1) * ${HOUR_TICKS}::bigint, s.below)`)}
    ) g where not (${inside}) and g.requests > 0
    union all select w.key, w.session, g.* from wanted w cross join mark cross join lateral (
      select ${OF_ROWS} from ${named('w', sql`greatest(${first}::bigint, mark.below)`, sql`${end}::bigint`)}
    ) g where mark.below < ${end}::bigint and g.requests > 0`
}
