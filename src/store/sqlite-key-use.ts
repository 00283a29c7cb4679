/**
 * Sums of use of whole days of each key apart, over all keys: a day of many keys takes longer than the event loop has, so a page has the
 * sums of some keys. Those of the days that still change, and what is summed in memory, are of one moment for each key.
 */
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite'
import { BY_DAY } from '../core/ledger-counts.ts'
import type { UsePage, UseQuery, UseRow } from '../ledger/types.ts'
import { DAY_MS, HOUR_MS, TICKS } from './rows.ts'
import { Statements, text } from './sqlite.ts'
import type { SqliteRollups } from './sqlite-rollups.ts'
import { keyUseFrom, toUseRow } from './sqlite-use-rows.ts'
import { areWhole, type ClosedSums, closedSumsFor, RUN_DAYS, soughtIn } from './use-facts.ts'

/** Sums of the table that a page reads; some more, since it has whole keys. */
const SUMS = 1_000
/** Behind all keys: SQLite has a blob behind each text. */
const END = new Uint8Array()
type Bound = string | typeof END

/** As many times more of sums that are only added up, and of those of which most are left out. */
const MORE = 4

const boundIn = (table: string): string => `SELECT key FROM ${table} WHERE day = ?1 AND key > ?2 ORDER BY key LIMIT 1 OFFSET ?3`

const useTable = (closed: ClosedSums | undefined): string => (closed ? `use_by_key_${closed}` : 'use_by_key')
const FAILURES = "sum(iif(status = 'failed' OR status = 'unknown', count, 0)) AS failed"

const DAY_COLUMNS = BY_DAY.map(({ column }) => column)

/** Conditions on what is sought; its values are the parameters from the fourth on. */
const soughtBy = (query: UseQuery): string =>
  soughtIn(query)
    .map((name, at) => ` AND ${name} = ?${4 + at}`)
    .join('')

/** Names that stand apart in rows of a query. */
const groupNames = ({ apart }: UseQuery): ('model' | 'provider')[] =>
  (['model', 'provider'] as const).filter((name) => apart?.includes(name))

/** Of several days, each with a sign. @param closed the sums of closed days; undefined: all sums. */
function groupedQuery(closed: ClosedSums | undefined, query: UseQuery): string {
  const [names, byDay, whole] = [groupNames(query), query.apart?.includes('day'), areWhole(closed, query)]
  const named = (name: 'model' | 'provider'): string => `${names.includes(name) ? name : "''"} AS ${name}`
  const sum = (name: string): string => (whole ? name : `sum(sign * ${name}) AS ${name}`)
  return `WITH days AS MATERIALIZED (SELECT value ->> 0 AS of_day, value ->> 1 AS sign FROM json_each(?1))
    SELECT key, ${byDay ? 'day' : '0'} AS day, ${named('model')}, '' AS endpoint, ${named('provider')}, 1 AS answered,
    ${closed ? sum('failed') : FAILURES}, ${whole ? 'count' : 'sum(sign * count)'} AS requests,
    ${['dollars', 'nano', ...DAY_COLUMNS].map(sum).join(', ')}, ${whole ? 'saved' : 'total(sign * saved) AS saved'}
    FROM days CROSS JOIN ${useTable(closed)} ON day = of_day AND key > ?2 AND key <= ?3${soughtBy(query)}
    ${whole ? '' : `GROUP BY ${['key', ...names, ...(byDay ? ['day'] : [])].join(', ')} HAVING sum(sign * count) > 0`}`
}

/** Of one day: where nothing stands apart, all that the table has. */
function rowsQuery(query: UseQuery): string {
  const { apart } = query
  const names = groupNames(query)
  const named = (name: 'model' | 'provider'): string => `${names.includes(name) ? name : "''"} AS ${name}`
  const joined = `${apart?.includes('day') ? '?1' : '0'} AS day, ${named('model')}, '' AS endpoint, ${named('provider')}, 1 AS answered, ${FAILURES}`
  const all = "?1 AS day, model, endpoint, provider, status NOT IN ('failed', 'unknown') AS answered, NULL AS failed"
  return `SELECT key, ${apart ? joined : all}, sum(count) AS requests, 
    ${['dollars', 'nano', ...DAY_COLUMNS].map((name) => `sum(${name}) AS ${name}`).join(', ')}, total(saved) AS saved
    FROM use_by_key WHERE day = ?1 AND key > ?2 AND key <= ?3${soughtBy(query)}
    GROUP BY ${['key', ...(apart ? names : ['model', 'endpoint', 'provider', 'answered'])].join(', ')}`
}

/** `<watermark> <day> <key that was read last>`: `open` for the days that still change, `<=` before the last of several days. */
const PLACE = /^(\d+) (open|(?:<=)?-?\d+) (.*)$/s

export class SqliteKeyUse {
  private readonly rollups: Pick<SqliteRollups, 'below' | 'start' | 'sums' | 'closed'>
  private readonly size: number
  private readonly statements: Statements

  constructor(db: DatabaseSync, rollups: Pick<SqliteRollups, 'below' | 'start' | 'sums' | 'closed'>, size = SUMS) {
    this.statements = new Statements(db)
    this.rollups = rollups
    this.size = size
  }

  /**
   * First the days from the watermark's on with what is summed in memory, then each earlier day; together those that are closed, and all
   * where no sum of closed days serves.
   * @param after '' begins. @returns a `next` without a space, a sequence, where rows come next that are in no sum. @throws what SQLite throws.
   */
  read(query: UseQuery, after: string): UsePage {
    const [from, until] = [query.from / DAY_MS, query.until / DAY_MS]
    const place = PLACE.exec(after)
    const below = place ? Number(place[1]) : this.rollups.below
    const key = place?.[3] ?? ''
    if (place?.[2]?.startsWith('<=')) return this.together(query, below, Number(place[2].slice(2)), key)
    const day = place && place[2] !== 'open' ? Number(place[2]) : undefined
    const open = Math.max(from, Math.floor(below / TICKS / DAY_MS))
    const days = day === undefined ? daysBetween(open, until) : [day]
    const isLeft = below < this.rollups.start
    // What an earlier process has left moves to the tables by and by: these are read at once, and it as it is now.
    const bound =
      day === undefined && isLeft ? END : this.pageBound('use_by_key', days, key, this.size * (soughtIn(query).length > 0 ? MORE : 1))
    const rows = days.flatMap((each) => this.rows(rowsQuery(query), each, key, bound, ...valuesIn(query)))
    if (day === undefined) rows.push(...this.inMemory(query, key, bound))
    if (typeof bound === 'string') return { rows, next: `${below} ${day ?? 'open'} ${bound}` }
    const next = Math.min(day ?? open, until) - 1
    if (next >= from) return { rows, next: `${below} ${this.areTogether(query, next) ? '<=' : ''}${next} ` }
    return { rows, ...this.left(query, below) }
  }

  private areTogether(query: UseQuery, last: number): boolean {
    if (!query.apart) return false
    return closedSumsFor(query) ? last < this.rollups.closed : !query.apart.includes('day')
  }

  /** The days from the first one to `last`. */
  private together(query: UseQuery, below: number, last: number, key: string): UsePage {
    const closed = closedSumsFor(query)
    const first = query.from / DAY_MS
    const signed = closed === 'running' ? runningDays(first, last) : daysBetween(first, last + 1).map((day): SignedDay => [day, 1])
    const days = signed.map(([day]) => day)
    const times = areWhole(closed, query) && soughtIn(query).length === 0 ? 1 : MORE
    const most = Math.max(1, Math.floor((times * this.size) / days.length))
    const bound = this.pageBound(useTable(closed), days, key, most)
    const rows = this.rows(groupedQuery(closed, query), JSON.stringify(signed), key, bound, ...valuesIn(query))
    return { rows, ...(typeof bound === 'string' ? { next: `${below} <=${last} ${bound}` } : this.left(query, below)) }
  }

  /** Rows that are in no sum. */
  private left(query: UseQuery, below: number): { next?: string } {
    return below < this.rollups.start ? { next: String(Math.max(below, query.from * TICKS) - 1) } : {}
  }

  /** @param sql of the columns that `keyUseFrom` takes. */
  private rows(sql: string, ...parameters: SQLInputValue[]): UseRow[] {
    const statement = this.statements.of(sql)
    statement.setReturnArrays(true)
    return (statement.all(...parameters) as unknown as SQLOutputValue[][]).map(keyUseFrom)
  }

  /** The last key of a page that begins behind `key`, with about `most` sums of each day. */
  private pageBound(table: string, days: readonly number[], key: string, most: number): Bound {
    const statement = this.statements.of(boundIn(table))
    let bound: Bound = END
    for (const day of days) {
      const found = statement.get(day, key, most - 1)
      if (!found) continue
      const last = text(found.key)
      if (typeof bound !== 'string' || order(last, bound) < 0) bound = last
    }
    return bound
  }

  private inMemory({ from, until }: UseQuery, key: string, bound: Bound): UseRow[] {
    const rows: UseRow[] = []
    for (const sum of this.rollups.sums()) {
      const at = sum.hour * HOUR_MS
      if (at < from || at >= until || order(sum.key, key) <= 0) continue
      if (typeof bound !== 'string' || order(sum.key, bound) <= 0) rows.push(toUseRow(sum, true))
    }
    return rows
  }
}

const valuesIn = (query: UseQuery): string[] => soughtIn(query).map((name) => query[name] ?? '')

type SignedDay = readonly [day: number, sign: 1 | -1]

/** The days whose running sums make up those of a period: ends of runs, less what was used before the period. */
function runningDays(first: number, last: number): SignedDay[] {
  const days: SignedDay[] = first % RUN_DAYS > 0 ? [[first - 1, -1]] : []
  for (let end = first - (first % RUN_DAYS) + RUN_DAYS - 1; end < last; end += RUN_DAYS) days.push([end, 1])
  return [...days, [last, 1]]
}

function daysBetween(from: number, until: number): number[] {
  return Array.from({ length: Math.max(0, until - from) }, (_, at) => from + at)
}

/** As SQLite has texts, which is by their bytes: JavaScript has characters beyond 65,535 before some others. */
function order(a: string, b: string): number {
  if (HIGH.test(a) || HIGH.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return a < b ? -1 : a > b ? 1 : 0
}
const HIGH = /[\ud800-\uffff]/
