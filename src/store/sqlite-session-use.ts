/**
 * Sums by session, as SQLite computes them: a page takes a few milliseconds. Hours are read in their order, each once: from the table, from
 * the sums in memory, or from the rows while these are still to be summed. Of an hour that the period cuts, sessions that lie on both sides
 * of the cut are read from their rows.
 */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { SessionPage, SessionQuery, SessionUse } from '../ledger/types.ts'
import { AdaptivePage } from './adaptive-page.ts'
import { NANO, TICKS } from './rows.ts'
import { HAS_SESSION, SESSION_OF } from './search-index.ts'
import { integer, Statements, text } from './sqlite.ts'
import { HOUR_TICKS, type SessionSum, type SqliteSessionSums } from './sqlite-session-sums.ts'
import { fact, MOST_TOKENS, SAVED } from './use-facts.ts'

/** Generations or sums of one page, and milliseconds that it should take. */
const PAGE = { least: 100, most: 2_000, target: 1 }
/** Sessions on both sides of a cut that are looked up at once. */
const MOST_CUT = 50

const SESSION = fact('session_id', "''")

/** @param from holds and their settlements. @param where which of them. */
const sessionsOf = (from: string, where: string): string => `
  SELECT hold.key AS key, ${SESSION} AS session, ${fact('model', 'hold.model')} AS model, count(*) AS count,
    sum(status IN ('failed', 'unknown')) AS failed, sum(cost / ${NANO}) AS dollars, sum(cost % ${NANO}) AS nano,
    ${['input', 'output', 'cached', 'cache_write', 'reasoning'].map((name) => `sum(min(${name}, ${MOST_TOKENS})) AS ${name}`).join(', ')},
    total(${SAVED}) AS saved, min(hold.seq) AS first, max(hold.seq) AS last
  FROM ${from} WHERE ${where} AND (?3 IS NULL OR hold.key IN (SELECT value FROM json_each(?3))) GROUP BY 1, 2, 3`

const OF_ROWS = sessionsOf('hold JOIN settlement USING (seq)', `hold.seq >= ?1 AND hold.seq <= ?2 AND ${SESSION} <> ''`)
const END_OF_ROWS =
  'SELECT count(*) AS count, max(seq) AS last FROM (SELECT seq FROM hold WHERE seq >= ?1 AND seq < ?2 ORDER BY seq LIMIT ?3)'

/** One session is read from the index of sessions. */
const OF_SESSION = `${HAS_SESSION.sqlite} AND ${SESSION_OF.sqlite} = ?4 AND seq >= ?1`
const ONE_SESSION = sessionsOf(
  `(SELECT seq FROM settlement WHERE ${OF_SESSION} AND seq <= ?2) AS named CROSS JOIN hold USING (seq) CROSS JOIN settlement USING (seq)`,
  'true',
)
const END_OF_SESSION = `SELECT count(*) AS count, max(seq) AS last
  FROM (SELECT seq FROM settlement WHERE ${OF_SESSION} AND seq < ?2 ORDER BY seq LIMIT ?3)`

const NEXT_HOUR = 'SELECT min(hour) AS hour FROM session_use WHERE hour >= ? AND hour < ?'
const COLUMNS = 'key, session, models, count, failed, dollars, nano, input, output, cached, cache_write, reasoning, saved, first, last'
/** Of one hour behind a key and session: of all keys by the order of the table, of some keys by these, which SQLite does not choose by itself. */
const OF_ALL = 'FROM session_use WHERE hour = ?1 AND (key, session) > (?2, ?3) AND ?4 IS NULL'
const OF_KEYS = `FROM session_use WHERE hour = ?1 AND key IN (SELECT value FROM json_each(?4)) AND (key > ?2 OR (key = ?2 AND session > ?3))`
const PAGE_END = 'ORDER BY key, session LIMIT ?7'
const tableOf = (from: string): string => `SELECT ${COLUMNS} ${from} AND first >= ?5 AND last < ?6 ${PAGE_END}`
const cutOf = (from: string): string =>
  `SELECT key, session ${from} AND first < ?6 AND last >= ?5 AND NOT (first >= ?5 AND last < ?6) ${PAGE_END}`
const TABLE = { all: tableOf(OF_ALL), keys: tableOf(OF_KEYS) }
const CUT = { all: cutOf(OF_ALL), keys: cutOf(OF_KEYS) }

type Name = readonly [key: string, session: string]

/** The sessions of an hour that the period cuts: those found, of which the first has been read up to a sequence, and those behind a name. */
interface CutPlace {
  readonly cut: number
  readonly after: Name
  readonly found: readonly Name[]
  readonly seq: number
}

/** Where the next page begins. */
type Place =
  /** With the first hour from this one on, in the table behind these names. */
  | { readonly hour: number; readonly after?: Name }
  | CutPlace
  /** With a generation, up to the end of an hour. */
  | { readonly seq: number; readonly end: number }

/** Sequences, the second one beyond the period. */
interface Period {
  readonly first: number
  readonly end: number
  /** As a JSON list; null for all. */
  readonly keys: string | null
}

interface Found {
  readonly rows: SessionUse[]
  readonly next?: Place | undefined
}

const BEGIN: Name = ['', '']

export class SqliteSessionUse {
  private readonly kept: Pick<SqliteSessionSums, 'below' | 'read' | 'start' | 'of' | 'hourFrom'>
  private readonly statements: Statements
  private readonly rowPage = new AdaptivePage(PAGE)
  private readonly sumPage = new AdaptivePage(PAGE)

  constructor(db: DatabaseSync, kept: Pick<SqliteSessionSums, 'below' | 'read' | 'start' | 'of' | 'hourFrom'>) {
    this.statements = new Statements(db)
    this.kept = kept
  }

  /** @param after '' begins. @throws what SQLite throws. */
  read({ from, until, keys, session }: SessionQuery, after: string): SessionPage {
    const period = { first: Math.max(0, Math.ceil(from * TICKS)), end: until * TICKS, keys: keys ? JSON.stringify(keys) : null }
    if (session !== undefined) {
      const { rows, next } = this.ofSession(session, after === '' ? period.first : Number(after), period)
      return { rows, ...(next === undefined ? {} : { next: String(next) }) }
    }
    const { rows, next } = this.page(period, after === '' ? { hour: Math.floor(period.first / HOUR_TICKS) } : (JSON.parse(after) as Place))
    return { rows, ...(next ? { next: JSON.stringify(next) } : {}) }
  }

  private page(period: Period, place: Place): Found {
    if ('end' in place) return this.ofRows(period, place)
    if ('cut' in place) return this.ofCut(period, place)
    const { hour, after } = place
    const { below, read, start } = this.kept
    const beyond = Math.ceil(period.end / HOUR_TICKS)
    if (hour >= beyond) return { rows: [] }
    if (hour < below) {
      if (after) return this.ofTable(period, hour, after)
      const next = this.statements.of(NEXT_HOUR).get(hour, Math.min(below, beyond))?.hour
      if (typeof next === 'number') return this.ofTable(period, next, BEGIN)
      return this.page(period, { hour: below })
    }
    const pending = read < start ? Math.max(hour, Math.floor(read / HOUR_TICKS)) : Number.POSITIVE_INFINITY
    const summed = this.kept.hourFrom(hour)
    if (pending * HOUR_TICKS < start && pending <= (summed ?? pending)) {
      const end = Math.min(Math.ceil(start / HOUR_TICKS) * HOUR_TICKS, beyond * HOUR_TICKS)
      return this.ofRows(period, { seq: Math.max(pending * HOUR_TICKS, period.first), end })
    }
    return summed === undefined || summed >= beyond ? { rows: [] } : this.ofMemory(period, summed)
  }

  private ofTable(period: Period, hour: number, after: Name): Found {
    const begun = performance.now()
    const { size } = this.sumPage
    const statement = this.statements.of(period.keys === null ? TABLE.all : TABLE.keys)
    // Without an object for each of the thousands of sums that a day of many sessions has.
    statement.setReturnArrays(true)
    const found = statement.all(hour, ...after, period.keys, period.first, period.end, size) as unknown as TableRow[]
    const rows = found.map(useOfTable)
    this.sumPage.took(performance.now() - begun)
    const last = rows.at(-1)
    if (last && rows.length === size) return { rows, next: { hour, after: [last.key, last.session] } }
    return { rows, next: afterHour(period, hour) }
  }

  private ofMemory(period: Period, hour: number): Found {
    const wanted = period.keys === null ? undefined : new Set(JSON.parse(period.keys) as string[])
    const rows: SessionUse[] = []
    for (const sum of this.kept.of(hour))
      if (sum.first >= period.first && sum.last < period.end && (!wanted || wanted.has(sum.key))) rows.push(useFrom(sum, [...sum.models]))
    return { rows, next: afterHour(period, hour) }
  }

  /** One name after the other, for as long as a page may take. */
  private ofCut(period: Period, place: CutPlace): Found {
    const begun = performance.now()
    const rows: SessionUse[] = []
    let next: Place | undefined = place
    do {
      const found = this.cutStep(period, next)
      rows.push(...found.rows)
      next = found.next
    } while (next && 'cut' in next && performance.now() - begun < PAGE.target)
    return { rows, next }
  }

  private cutStep(period: Period, place: CutPlace): Found {
    const { cut: hour, found, seq, after } = place
    const [name, ...rest] = found
    if (!name) {
      const more = this.cutNames(period, hour, after)
      const last = more.at(-1)
      return { rows: [], next: last ? { cut: hour, after: last, found: more, seq: 0 } : { hour: hour + 1 } }
    }
    const [key, session] = name
    const end = Math.min(period.end, (hour + 1) * HOUR_TICKS)
    const first = Math.max(seq, period.first, hour * HOUR_TICKS)
    const { rows, next } = this.ofSession(session, first, { end, keys: JSON.stringify([key]) })
    return { rows, next: next === undefined ? { ...place, found: rest, seq: 0 } : { ...place, seq: next } }
  }

  /** In the order of the table, whether the hour is there already or not. */
  private cutNames({ first, end, keys }: Period, hour: number, after: Name): Name[] {
    if (hour < this.kept.below)
      return this.statements
        .of(keys === null ? CUT.all : CUT.keys)
        .all(hour, ...after, keys, first, end, MOST_CUT)
        .map((row): Name => [text(row.key), text(row.session)])
    const wanted = keys === null ? undefined : new Set(JSON.parse(keys) as string[])
    const names: Name[] = []
    for (const { key, session, first: begun, last } of this.kept.of(hour)) {
      const isCut = begun < end && last >= first && (begun < first || last >= end)
      if (isCut && (!wanted || wanted.has(key)) && byName([key, session], after) > 0) names.push([key, session])
    }
    return names.sort(byName).slice(0, MOST_CUT)
  }

  private ofRows(period: Period, { seq, end }: Extract<Place, { end: number }>): Found {
    const beyond = Math.min(end, period.end)
    const found = this.rows(END_OF_ROWS, OF_ROWS, [seq, beyond, period.keys])
    if (found.next !== undefined) return { rows: found.rows, next: { seq: found.next, end } }
    return { rows: found.rows, next: { hour: end / HOUR_TICKS } }
  }

  private ofSession(session: string, first: number, { end, keys }: Pick<Period, 'end' | 'keys'>): { rows: SessionUse[]; next?: number } {
    return this.rows(END_OF_SESSION, ONE_SESSION, [first, end, keys], session)
  }

  private rows(
    endOf: string,
    sums: string,
    [first, end, keys]: readonly [number, number, string | null],
    ...session: string[]
  ): { rows: SessionUse[]; next?: number } {
    const begun = performance.now()
    const { size } = this.rowPage
    const found = this.statements.of(endOf).get(first, end, size, ...session)
    const count = integer(found?.count)
    if (count === 0) return { rows: [] }
    const last = integer(found?.last)
    const rows = this.statements
      .of(sums)
      .all(first, last, keys, ...session)
      .map((row) => useFrom(row, [text(row.model)]))
    this.rowPage.took(performance.now() - begun)
    return count < size ? { rows } : { rows, next: last + 1 }
  }
}

/** The columns of `TABLE`. */
type TableRow = [key: string, session: string, models: string, ...numbers: N12]
type N4 = [number, number, number, number]
type N12 = [...N4, ...N4, ...N4]

/** Whole hours have nothing more. */
function afterHour({ first, end }: Period, hour: number): Place {
  const isCut = hour * HOUR_TICKS < first || (hour + 1) * HOUR_TICKS > end
  return isCut ? { cut: hour, after: BEGIN, found: [], seq: 0 } : { hour: hour + 1 }
}

/** As SQLite compares texts: by their bytes. */
function byName(a: Name, b: Name): number {
  return Buffer.compare(Buffer.from(a[0]), Buffer.from(b[0])) || Buffer.compare(Buffer.from(a[1]), Buffer.from(b[1]))
}

function useFrom(row: Readonly<Record<string, SQLOutputValue>> | SessionSum, models: readonly string[]): SessionUse {
  return {
    key: text(row.key),
    session: text(row.session),
    models,
    requests: integer(row.count),
    failed: integer(row.failed),
    cost: BigInt(integer(row.dollars)) * BigInt(NANO) + BigInt(integer(row.nano)),
    input: integer(row.input),
    output: integer(row.output),
    cached: integer(row.cached),
    cacheWrite: integer(row.cache_write),
    reasoning: integer(row.reasoning),
    cacheSaved: Number(row.saved),
    first: Math.floor(integer(row.first) / TICKS),
    last: Math.floor(integer(row.last) / TICKS),
  }
}

function useOfTable(row: TableRow): SessionUse {
  const [key, session, models, requests, failed, dollars, nano, input, output, cached, cacheWrite, reasoning, cacheSaved, first, last] = row
  return {
    key,
    session,
    models: JSON.parse(models) as string[],
    requests,
    failed,
    // Below 2^53 nano-dollars, which nearly all are, one conversion is enough.
    cost: dollars < 9_000_000 ? BigInt(dollars * NANO + nano) : BigInt(dollars) * BigInt(NANO) + BigInt(nano),
    input,
    output,
    cached,
    cacheWrite,
    reasoning,
    cacheSaved,
    first: Math.floor(first / TICKS),
    last: Math.floor(last / TICKS),
  }
}
