/**
 * Which sessions a period has, as SQLite finds them: a page takes a few milliseconds. Hours are read in their order, each once: from the
 * table of sums, from the sums in memory, or from the rows while these are still to be summed. Only of sessions that go on beyond the end of
 * the period the last generation before it is looked up.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { SessionName, SessionNamePage, SessionQuery } from '../ledger/types.ts'
import { AdaptivePage } from './adaptive-page.ts'
import { TICKS } from './rows.ts'
import { integer, Statements, text } from './sqlite.ts'
import { HOUR_TICKS } from './sqlite-session-sums.ts'
import { END_OF_SESSION, type KeptSessions, OF_SESSION, type Period, queryPeriod, SESSION, SESSION_PAGE } from './sqlite-session-use.ts'

/** Sessions beyond the end of the period that are looked up at once. */
const MAX_CUT = 50
/** Generations of one session name that are looked through at once: those of other keys are among them. */
const MAX_LOOKED = 500

const END_OF_ROWS =
  'SELECT count(*) AS count, max(seq) AS last FROM (SELECT seq FROM hold WHERE seq >= ?1 AND seq < ?2 ORDER BY seq LIMIT ?3)'
const OF_KEYS = '(?3 IS NULL OR hold.key IN (SELECT value FROM json_each(?3)))'
const OF_ROWS = `SELECT hold.key, ${SESSION} AS session, min(hold.seq), max(hold.seq) FROM hold JOIN settlement USING (seq)
  WHERE hold.seq >= ?1 AND hold.seq <= ?2 AND ${SESSION} <> '' AND ${OF_KEYS} GROUP BY 1, 2`
/** One session is read from the index of sessions. */
const OF_ONE = `SELECT hold.key, ?4, min(seq), max(seq) FROM (SELECT seq FROM settlement WHERE ${OF_SESSION} AND seq <= ?2) AS named
  CROSS JOIN hold USING (seq) WHERE ${OF_KEYS} GROUP BY 1`

const NEXT_HOUR = 'SELECT min(hour) AS hour FROM session_use WHERE hour >= ? AND hour < ?'
/** Of one hour behind a key and session: of all keys by the order of the table, of some keys by these, which SQLite does not choose by itself. */
const ALL_BEHIND = 'FROM session_use WHERE hour = ?1 AND (key, session) > (?2, ?3) AND ?4 IS NULL'
const KEYS_BEHIND = `FROM session_use WHERE hour = ?1 AND key IN (SELECT value FROM json_each(?4)) AND (key > ?2 OR (key = ?2 AND session > ?3))`
const PAGE_END = 'ORDER BY key, session LIMIT ?7'
const insideQuery = (from: string): string => `SELECT key, session, first, last ${from} AND last >= ?5 AND last < ?6 ${PAGE_END}`
const beyondQuery = (from: string): string => `SELECT key, session ${from} AND first < ?6 AND last >= ?6 ${PAGE_END}`
const INSIDE = { all: insideQuery(ALL_BEHIND), keys: insideQuery(KEYS_BEHIND) }
const BEYOND = { all: beyondQuery(ALL_BEHIND), keys: beyondQuery(KEYS_BEHIND) }
/** The last generation of a session and key among so many of that session. */
const LAST = `SELECT max(iif(hold.key = ?5, seq, NULL)) AS last, count(*) AS count, min(seq) AS seq
  FROM (SELECT seq FROM settlement WHERE ${OF_SESSION} AND seq < ?2 ORDER BY seq DESC LIMIT ?3) AS named CROSS JOIN hold USING (seq)`

type Name = readonly [key: string, session: string]
type Row = [key: string, session: string, first: number, last: number]

/** Beginning of the next page. */
type Place =
  /** With the first hour from this one on, in the table behind these names. */
  | { readonly hour: number; readonly after?: Name }
  /** With those of an hour that go on beyond the period, behind this one, or in the middle of the look for it: below a sequence. */
  | { readonly cut: number; readonly after: Name; readonly within?: readonly [Name, number] }
  /** With a generation, up to the end of an hour. */
  | { readonly seq: number; readonly end: number }

interface Found {
  readonly rows: SessionName[]
  readonly next?: Place | undefined
}

const BEGIN: Name = ['', '']

export class SqliteSessionNames {
  private readonly kept: KeptSessions
  private readonly statements: Statements
  private readonly rowPage = new AdaptivePage(SESSION_PAGE)
  private readonly sumPage = new AdaptivePage(SESSION_PAGE)

  constructor(db: DatabaseSync, kept: KeptSessions) {
    this.statements = new Statements(db)
    this.kept = kept
  }

  /** @param after '' begins. @throws what SQLite throws. */
  read(query: SessionQuery, after: string): SessionNamePage {
    const period = queryPeriod(query)
    if (query.session !== undefined) {
      const begin = after === '' ? period.first : Number(after)
      const { rows, next } = this.rows(END_OF_SESSION, OF_ONE, [begin, period.end, period.keys], query.session)
      return { rows, ...(next === undefined ? {} : { next: String(next) }) }
    }
    const { rows, next } = this.page(period, after === '' ? { hour: Math.floor(period.first / HOUR_TICKS) } : (JSON.parse(after) as Place))
    return { rows, ...(next ? { next: JSON.stringify(next) } : {}) }
  }

  private page(period: Period, place: Place): Found {
    if ('end' in place) return this.ofRows(period, place)
    if ('cut' in place) return this.ofCut(period, place)
    const { hour, after } = place
    const { below } = this.kept
    const beyond = Math.ceil(period.end / HOUR_TICKS)
    if (hour >= beyond) return { rows: [] }
    if (hour < below) {
      if (after) return this.ofTable(period, hour, after)
      const next = this.statements.of(NEXT_HOUR).get(hour, Math.min(below, beyond))?.hour
      if (typeof next === 'number') return this.ofTable(period, next, BEGIN)
      return this.page(period, { hour: below })
    }
    const pending = this.kept.unsummed
    const summed = this.kept.hourFrom(hour)
    if (pending && pending.end > hour && Math.max(pending.first, hour) <= (summed ?? Number.POSITIVE_INFINITY)) {
      const first = Math.max(pending.first, hour) * HOUR_TICKS
      return this.ofRows(period, { seq: Math.max(first, period.first), end: Math.min(pending.end, beyond) * HOUR_TICKS })
    }
    return summed === undefined || summed >= beyond ? { rows: [] } : this.ofMemory(period, summed)
  }

  private ofTable(period: Period, hour: number, after: Name): Found {
    const begun = performance.now()
    const { size } = this.sumPage
    const statement = this.statements.of(period.keys === null ? INSIDE.all : INSIDE.keys)
    // Without an object for each of the thousands that a day of many sessions has.
    statement.setReturnArrays(true)
    const found = statement.all(hour, ...after, period.keys, period.first, period.end, size) as unknown as Row[]
    const rows = found.map((row) => sessionName(row, period.first))
    this.sumPage.took(performance.now() - begun)
    const last = rows.at(-1)
    if (last && rows.length === size) return { rows, next: { hour, after: [last.key, last.session] } }
    return { rows, next: afterHour(period, hour) }
  }

  private ofMemory(period: Period, hour: number): Found {
    const wanted = wantedKeys(period)
    const rows: SessionName[] = []
    for (const { key, session, first, last } of this.kept.of(hour))
      if (last >= period.first && last < period.end && (!wanted || wanted.has(key)))
        rows.push(sessionName([key, session, first, last], period.first))
    return { rows, next: afterHour(period, hour) }
  }

  /** One name after the other, for as long as a page may take. */
  private ofCut(period: Period, { cut: hour, after, within }: Extract<Place, { cut: number }>): Found {
    const begun = performance.now()
    const isOver = (): boolean => performance.now() - begun >= SESSION_PAGE.target
    const rows: SessionName[] = []
    const lower = Math.max(period.first, hour * HOUR_TICKS)
    const names = within ? [within[0]] : this.beyond(period, hour, after)
    let read = after
    for (const name of names) {
      let upper = within ? within[1] : period.end
      for (let size = 1; ; size = MAX_LOOKED) {
        const found = this.statements.of(LAST).get(lower, upper, size, name[1], name[0])
        if (typeof found?.last === 'number') rows.push(sessionName([...name, lower, found.last], period.first))
        if (typeof found?.last === 'number' || integer(found?.count) < size) break
        upper = integer(found?.seq)
        if (isOver()) return { rows, next: { cut: hour, after: read, within: [name, upper] } }
      }
      read = name
      if (isOver()) return { rows, next: { cut: hour, after: read } }
    }
    return { rows, next: names.length === 0 ? { hour: hour + 1 } : { cut: hour, after: read } }
  }

  /** In the order of the table, whether the hour is there already or not. */
  private beyond(period: Period, hour: number, after: Name): Name[] {
    const { first, end, keys } = period
    if (hour < this.kept.below)
      return this.statements
        .of(keys === null ? BEYOND.all : BEYOND.keys)
        .all(hour, ...after, keys, first, end, MAX_CUT)
        .map((row): Name => [text(row.key), text(row.session)])
    const wanted = wantedKeys(period)
    const names: Name[] = []
    for (const { key, session, first: begun, last } of this.kept.of(hour))
      if (begun < end && last >= end && (!wanted || wanted.has(key)) && byName([key, session], after) > 0) names.push([key, session])
    return names.sort(byName).slice(0, MAX_CUT)
  }

  private ofRows(period: Period, { seq, end }: Extract<Place, { end: number }>): Found {
    const { rows, next } = this.rows(END_OF_ROWS, OF_ROWS, [seq, Math.min(end, period.end), period.keys])
    return { rows, next: next === undefined ? { hour: end / HOUR_TICKS } : { seq: next, end } }
  }

  private rows(
    endQuery: string,
    namesQuery: string,
    [first, end, keys]: readonly [number, number, string | null],
    ...session: string[]
  ): { rows: SessionName[]; next?: number } {
    const begun = performance.now()
    const { size } = this.rowPage
    const found = this.statements.of(endQuery).get(first, end, size, ...session)
    const count = integer(found?.count)
    if (count === 0) return { rows: [] }
    const last = integer(found?.last)
    const statement = this.statements.of(namesQuery)
    statement.setReturnArrays(true)
    const rows = (statement.all(first, last, keys, ...session) as unknown as Row[]).map((row) => sessionName(row, first))
    this.rowPage.took(performance.now() - begun)
    return count < size ? { rows } : { rows, next: last + 1 }
  }
}

/** Whole hours, and those that the beginning of the period cuts, have nothing more. */
function afterHour({ end }: Period, hour: number): Place {
  return (hour + 1) * HOUR_TICKS > end ? { cut: hour, after: BEGIN } : { hour: hour + 1 }
}

const wantedKeys = ({ keys }: Period): ReadonlySet<string> | undefined =>
  keys === null ? undefined : new Set(JSON.parse(keys) as string[])

/** As SQLite compares texts: by their bytes. */
function byName(a: Name, b: Name): number {
  return Buffer.compare(Buffer.from(a[0]), Buffer.from(b[0])) || Buffer.compare(Buffer.from(a[1]), Buffer.from(b[1]))
}

function sessionName([key, session, first, last]: Row, earliest: number): SessionName {
  return { key, session, first: Math.floor(Math.max(first, earliest) / TICKS), last: Math.floor(last / TICKS) }
}
