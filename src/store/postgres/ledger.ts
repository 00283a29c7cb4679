/** The ledger of all processes, as PostgreSQL keeps it. */

import { sql } from 'kysely'
import type { AuditKeys } from '../../core/audit-keys.ts'
import { parseGenerationId } from '../../core/ids.ts'
import { BY_DAY } from '../../core/ledger-counts.ts'
import { NEAREST_PAYER } from '../../core/payers.ts'
import { VERIFY_READER } from '../../core/reader-names.ts'
import { rowCountsFrom } from '../../core/row-counts.ts'
import type { ChargeQuery, ChargeStatement } from '../../ledger/charge-sums.ts'
import type { LastUse, LedgerReader } from '../../ledger/reader.ts'
import { searchPages } from '../../ledger/search.ts'
import { sessionNamePages, sessionSumPages } from '../../ledger/session-use.ts'
import type {
  ByokUse,
  ByokUseQuery,
  FoundPage,
  GenerationRecord,
  GenerationSearch,
  LedgerReaders,
  RecordedWindows,
  SessionMove,
  SessionName,
  SessionNamePage,
  SessionPage,
  SessionQuery,
  SessionUse,
  UsePage,
  UseQuery,
  UseRow,
} from '../../ledger/types.ts'
import { usePages } from '../../ledger/use.ts'
import { AdaptivePage } from '../adaptive-page.ts'
import { DAY_MS, HOUR_MS, joinRecord, MINUTE_MS, TICKS } from '../rows.ts'
import { MONTH_OF_DAY, OPEN_SINCE } from './carried-functions.ts'
import { readCharges } from './charges.ts'
import type { Connection } from './connection.ts'
import { PostgresEntries } from './entries.ts'
import { GenerationLookUps } from './generation-look-ups.ts'
import { factColumn, SAVED as SAVED_TEXT } from './json-text.ts'
import { CLOSED, PostgresKeyUse, useByDay, withinDays } from './key-use.ts'
import { LOCKS } from './locks.ts'
import { PostgresSearch } from './search.ts'
import { PostgresSessions } from './sessions.ts'
import { PostgresSums } from './sums.ts'
import { type GenerationTable, query, storable } from './tables.ts'

const PAGE = 500
/** Generations of one page of sums, and milliseconds that it should take: other statements wait for no more of the server. */
const USE_PAGE = { least: 1_000, most: 50_000, target: 100 }

export class PostgresLedger implements LedgerReader {
  readonly entries: PostgresEntries
  readonly readers: LedgerReaders
  readonly lists = undefined
  private readonly connection: Connection
  private readonly lookUps: GenerationLookUps
  private readonly found: PostgresSearch
  private readonly page = new AdaptivePage(USE_PAGE)
  private readonly sessionUse: PostgresSessions
  private readonly keyUse: PostgresKeyUse
  readonly sums: PostgresSums

  /** @param auditKeys sign the entries of the audit log about changes of the ledger. */
  constructor(connection: Connection, readers: LedgerReaders, auditKeys: AuditKeys) {
    this.entries = new PostgresEntries({ readings: connection }, auditKeys)
    this.connection = connection
    this.readers = readers
    this.lookUps = new GenerationLookUps(connection)
    this.found = new PostgresSearch(connection, recordFrom)
    this.sessionUse = new PostgresSessions(connection, USE_PAGE)
    this.keyUse = new PostgresKeyUse(connection)
    this.sums = new PostgresSums(connection)
  }

  async find(id: string): Promise<GenerationRecord | undefined> {
    const parsed = parseGenerationId(id)
    if (!parsed || !Number.isSafeInteger(parsed.seq)) return undefined
    const row = await this.lookUps.find(parsed.seq, parsed.tag)
    return row && recordFrom(row)
  }

  search(wanted: GenerationSearch, before: string): Promise<FoundPage> {
    return searchPages(wanted, before, (page, next) => this.searchPage(page, next))
  }

  /** @throws Fault `unavailable`. */
  searchPage(wanted: GenerationSearch, before: string): Promise<FoundPage> {
    return this.found.page(wanted, before)
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

  use(wanted: UseQuery): Promise<UseRow[]> {
    return usePages(wanted, (after) => this.usePage(wanted, after))
  }

  /**
   * The sums that are kept of whole days, those of each key apart in pages, then the generations above the watermark that they stood at.
   * @param after `<seq> <tag>` of the last generation, or a place between keys; '' begins. @throws Fault `unavailable`.
   */
  async usePage(wanted: UseQuery, after: string): Promise<UsePage> {
    const isOfSums = after === '' && wanted.from % DAY_MS === 0 && wanted.until % DAY_MS === 0
    if (isOfSums || this.keyUse.isPlace(after)) return this.rollupPage(wanted, after)
    const begun = performance.now()
    const { size } = this.page
    const found = await this.connection.run(selectUse(wanted, after, size).compile(query))
    this.page.took(performance.now() - begun)
    const rows = found.filter(({ day }) => day !== END)
    const end = found.find(({ day }) => day === END)
    return { rows, ...(end?.requests === size ? { next: end.model } : {}) }
  }

  private async rollupPage(wanted: UseQuery, after: string): Promise<UsePage> {
    const { byKey, apart } = wanted
    const found: UsePage & { below: number } = byKey && apart ? await this.keyUse.page(wanted, apart, after) : await this.rollups(wanted)
    const { rows, below } = found
    if (found.next !== undefined) return { rows, next: found.next }
    // No tag is empty: the page begins with the first generation of this sequence.
    const next = `${Math.max(below, Math.ceil(wanted.from * TICKS))} `
    return { rows, ...(below < wanted.until * TICKS ? { next } : {}) }
  }

  private async rollups(wanted: UseQuery): Promise<{ rows: UseRow[]; below: number }> {
    const found = await this.connection.run(selectRollups(wanted).compile(query))
    return { rows: found.filter(({ day }) => day !== END), below: found.find(({ day }) => day === END)?.requests ?? 0 }
  }

  charges(wanted: ChargeQuery): Promise<ChargeStatement> {
    return readCharges(this.connection, wanted)
  }

  /** See `REBUILD_USE`. @throws Fault `unavailable`. */
  async rebuildUse(): Promise<number> {
    const [row] = await this.connection.run(sql<{ day: number }>`select headgate_rebuild_use() as day`.compile(query))
    return (row?.day ?? 0) * DAY_MS
  }

  /** One look-up by the index of keys for each. @throws Fault `unavailable`. */
  async lastUses(keys: readonly string[]): Promise<LastUse[]> {
    const last = sql<{ key: string; seq: number | null }>`select wanted.key,
      (select g.seq from generation g where g.key = wanted.key order by g.seq desc limit 1) as seq
      from unnest(${keys.map(storable)}::text[]) as wanted (key)`
    const rows = await this.connection.run(last.compile(query))
    return rows.flatMap(({ key, seq }) => (seq === null ? [] : { key, at: Math.floor(seq / TICKS / MINUTE_MS) * MINUTE_MS }))
  }

  /** In the form of a key the sums of all connections that have added to it. @throws Fault `unavailable`. */
  async byokUse({ from, until, keys }: ByokUseQuery): Promise<ByokUse[]> {
    const of =
      keys === undefined
        ? sql`true`
        : sql`(key = any(${keys.map(storable)}) or (payer <> '' and ${sql.raw(NEAREST_PAYER.postgres)} = any(${keys.map(storable)})))`
    const sums = sql<Omit<ByokUse, 'upstream' | 'counted'> & { upstream: string; counted: string }>`
      select day, key, payer, model, endpoint, provider, sum(requests)::bigint as requests, sum(upstream)::text as upstream,
        sum(counted)::text as counted
      from byok_use where day >= ${Math.floor(from / DAY_MS)} and day < ${Math.ceil(until / DAY_MS)} and ${of}
      group by day, key, payer, model, endpoint, provider`
    const rows = await this.connection.run(sums.compile(query))
    return rows.map((row) => ({ ...row, day: row.day * DAY_MS, upstream: BigInt(row.upstream), counted: BigInt(row.counted) }))
  }

  sessionNames(wanted: SessionQuery): Promise<SessionName[]> {
    return sessionNamePages((after) => this.sessionNamePage(wanted, after))
  }

  /** @throws Fault `unavailable`. */
  sessionNamePage(wanted: SessionQuery, after: string): Promise<SessionNamePage> {
    return this.sessionUse.names(wanted, after)
  }

  sessionSums(wanted: SessionQuery, of: readonly SessionName[]): Promise<SessionUse[]> {
    return sessionSumPages((after) => this.sessionSumPage(wanted, after, of))
  }

  /** @throws Fault `unavailable`. */
  sessionSumPage(wanted: SessionQuery, after: string, of: readonly SessionName[]): Promise<SessionPage> {
    return this.sessionUse.sums(wanted, after, of)
  }

  /** @throws Fault `unavailable`. */
  sessionMoves(wanted: SessionQuery): Promise<SessionMove[]> {
    return this.entries.sessionMoves(wanted)
  }

  spent(): Promise<Map<string, bigint>> {
    return this.sums.spent()
  }

  carried(): Promise<Map<string, bigint>> {
    return this.sums.carried()
  }

  removedUnread(): Promise<Map<string, bigint>> {
    return this.sums.removedUnread()
  }

  windows(): Promise<RecordedWindows> {
    return this.sums.windows()
  }

  /**
   * Removes the oldest generations that were admitted before a moment; their sums stay, by key and month once the windows of that time
   * have passed. A process whose clock
   * is ahead removes nothing early: the database keeps what is younger than `age` by its own clock.
   * @param before milliseconds since the epoch. @param most generations of one call. @param age milliseconds.
   * @returns how many were removed; 0 also while another process does the same. @throws Fault `unavailable`.
   */
  async prune(before: number, most: number, age: number): Promise<number> {
    const statement = sql<{ count: number }>`
      with mine as materialized (
        select pg_try_advisory_xact_lock(${LOCKS.program}::int, ${LOCKS.retention}::int) as got,
          least(least(${Math.floor(before)}::bigint, headgate_now() - ${Math.ceil(age)}::bigint) * ${TICKS}::bigint, (select seq from use_below)) as bound,
          ${sql.raw(OPEN_SINCE)} as open
      ), old as (
        select seq, tag from generation, mine where got and seq < (select bound from mine) order by seq, tag limit ${most}
      ), gone as (
        delete from generation g using old where g.seq = old.seq and g.tag = old.tag
        returning g.seq, g.tag, g.key, g.payer, g.cost, (case when g.at > 0 then g.at else g.seq / ${TICKS}::bigint end) / ${DAY_MS}::bigint as day
      ), kept as (
        insert into carried (key, payer, day, count, cost)
        select key, payer, case when day < (select open from mine) then ${sql.raw(MONTH_OF_DAY)} else day end, count(*), sum(cost)
        from gone group by 1, 2, 3 order by 1, 2, 3
        on conflict (key, payer, day) do update set count = carried.count + excluded.count, cost = carried.cost + excluded.cost
      ), unread as (
        insert into carried_unread (key, payer, dollars, nano)
        select key, payer, trunc(sum(cost) / 1000000000)::bigint, (sum(cost) % 1000000000)::bigint from gone
        where seq >= (select below from ledger_reader where name = ${VERIFY_READER})
          or (seq, tag) in (select l.seq, l.tag from ledger_reader_late l where l.reader = ${VERIFY_READER})
        group by key, payer order by key, payer
        on conflict (key, payer) do update set dollars = carried_unread.dollars + excluded.dollars, nano = carried_unread.nano + excluded.nano
      )
      select count(*) as count from gone`
    const [row] = await this.connection.run(statement.compile(query))
    return row?.count ?? 0
  }
}

export function recordFrom(row: GenerationTable): GenerationRecord {
  const { seq, tag, key, payer, model, endpoint, hold, floor, status, cost, at, estimated, facts } = row
  const settled = { ...rowCountsFrom(row, Number), seq, status, cost, at, estimated, facts }
  return joinRecord({ seq, tag, key, ...(payer === '' ? {} : { payer }), model, endpoint, hold, floor }, settled)
}

const fact = (name: string, otherwise: string) => sql.raw(factColumn(name, otherwise))
const SAVED = sql.raw(SAVED_TEXT)

/** The `day` of a row that is no sum: `model` has the last generation of the page, `requests` how many the page has. */
const END = -1

const NAMED_SUMS = sql.raw(BY_DAY.map(({ column, count }) => `sum(${column})::bigint as "${count}"`).join(', '))
const NO_SUMS = sql.raw(BY_DAY.map(({ count }) => `0::bigint as "${count}"`).join(', '))

/** The generations of one page. */
function useQueryPage({ from, until }: Pick<UseQuery, 'from' | 'until'>, after: string, size: number) {
  const [seq, tag] = after === '' ? [Math.max(0, Math.ceil(from * TICKS)), ''] : after.split(' ')
  return sql`page as materialized (
    select * from generation where (seq, tag) > (${seq}::bigint, ${tag}::text) and seq < ${Math.floor(until * TICKS)}::bigint
    order by seq, tag limit ${size}
  )`
}

/** The last generation of the page, as the first column of a row that is no sum. */
const LAST = sql.raw("(select seq || ' ' || tag from page order by seq desc, tag desc limit 1)")

/** Of a row that is no sum. */
const noKey = ({ byKey }: UseQuery) => (byKey ? sql`, '' as key` : sql``)

function selectUse(wanted: UseQuery, after: string, size: number) {
  const ofKeys = wanted.keys ? sql`where key = any(${wanted.keys.map(storable)})` : sql``
  const apart = wanted.byKey ? sql`, key` : sql``
  return sql<UseRow>`
    with ${useQueryPage(wanted, after, size)}, sums as (
      select seq / ${TICKS}::bigint / ${DAY_MS}::bigint * ${DAY_MS}::bigint as day, ${fact('model', 'model')} as model,
        ${fact('endpoint', 'endpoint')} as endpoint, ${fact('provider', "''")} as provider,
        status not in ('failed', 'unknown') as answered, count(*) as requests, sum(cost) as cost,
        ${NAMED_SUMS}, sum(${SAVED})::float8 as "cacheSaved"${apart}
      from page ${ofKeys} group by 1, 2, 3, 4, 5${apart}
    )
    select ${END}::bigint as day, ${LAST} as model, '' as endpoint,
      '' as provider, false as answered, count(*) as requests, 0::numeric as cost, ${NO_SUMS},
      0::float8 as "cacheSaved"${noKey(wanted)} from page
    union all select * from sums`
}

const SUMMED = sql.raw(`model, endpoint, provider, status, count, dollars, nano, ${BY_DAY.map(({ column }) => column).join(', ')}, saved`)

/** As the tables of sums have it, and in `requests` of the row that is no sum the watermark. */
function selectRollups(wanted: UseQuery) {
  const { from, until, keys, byKey } = wanted
  const inDays = withinDays(wanted)
  const inHours = sql`hour >= ${Math.ceil(from / HOUR_MS)}::bigint and hour < ${Math.ceil(until / HOUR_MS)}::bigint
    and hour <= (select (max(seq) - 1) / ${HOUR_MS * TICKS}::bigint from use_below)`
  const byHour = sql`select day * ${DAY_MS}::bigint as moment, ${SUMMED} from use_by_day where ${inDays} and day < ${CLOSED}
    union all select hour * ${HOUR_MS}::bigint, ${SUMMED} from use_by_hour where ${inHours} and hour >= ${CLOSED} * 24`
  const none = sql`select ${END}::bigint as day, '' as model, '' as endpoint, '' as provider, false as answered, seq as requests, 0::numeric as cost,
    ${NO_SUMS}, 0::float8 as "cacheSaved"${noKey(wanted)}`
  const sums = sql`sum(count)::bigint, sum(dollars) * 1000000000 + sum(nano), ${NAMED_SUMS}, sum(saved)`
  const apart = byKey ? sql`, key` : sql``
  const rows = sql`from (${keys || byKey ? useByDay(wanted) : byHour}) as u`
  return sql<UseRow>`${none} from use_below
    union all select moment / ${DAY_MS}::bigint * ${DAY_MS}::bigint, model, endpoint, provider, status not in ('failed', 'unknown'),
      ${sums}${apart} ${rows} group by 1, 2, 3, 4, 5${apart}`
}
