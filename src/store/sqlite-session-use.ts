/**
 * Sums of some sessions, as SQLite computes them: a page takes a few milliseconds. Each session is read hour by hour: from the table of
 * sums, from the sums in memory, or from its rows where the period cuts it, or where these are still to be summed.
 */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { COUNT_COLUMNS } from '../core/ledger-counts.ts'
import { rowCountsFrom } from '../core/row-counts.ts'
import type { SessionName, SessionPage, SessionQuery, SessionUse } from '../ledger/types.ts'
import { AdaptivePage } from './adaptive-page.ts'
import { HOUR_MS, NANO, TICKS } from './rows.ts'
import { HAS_SESSION, SESSION_OF } from './search-index.ts'
import { integer, Statements, text } from './sqlite.ts'
import { HOUR_TICKS, type SessionSum, type SqliteSessionSums } from './sqlite-session-sums.ts'
import { fact, MAX_TOKENS, SAVED } from './use-facts.ts'

/** Generations or sums of one page, and milliseconds that it should take. */
export const SESSION_PAGE = { least: 100, most: 2_000, target: 1 }

export const SESSION = fact('session_id', "''")
/** One session is read from the index of sessions. */
export const OF_SESSION = `${HAS_SESSION.sqlite} AND ${SESSION_OF.sqlite} = ?4 AND seq >= ?1`
export const END_OF_SESSION = `SELECT count(*) AS count, max(seq) AS last
  FROM (SELECT seq FROM settlement WHERE ${OF_SESSION} AND seq < ?2 ORDER BY seq LIMIT ?3)`

const SUMS = `
  SELECT hold.key AS key, ?4 AS session, ${fact('model', 'hold.model')} AS model, count(*) AS count,
    sum(status IN ('failed', 'unknown')) AS failed, sum(cost / ${NANO}) AS dollars, sum(cost % ${NANO}) AS nano,
    ${COUNT_COLUMNS.map((name) => `sum(min(${name}, ${MAX_TOKENS})) AS ${name}`).join(', ')},
    total(${SAVED}) AS saved, min(seq) AS first, max(seq) AS last
  FROM (SELECT seq FROM settlement WHERE ${OF_SESSION} AND seq <= ?2) AS named CROSS JOIN hold USING (seq) CROSS JOIN settlement USING (seq)
  WHERE hold.key = ?3 GROUP BY 3`
const OF_HOUR = `SELECT key, session, models, count, failed, dollars, nano, ${COUNT_COLUMNS.join(', ')}, saved, first, last
  FROM session_use WHERE hour = ? AND key = ? AND session = ?`

/** Sequences, the second one beyond the period. */
export interface Period {
  readonly first: number
  readonly end: number
  /** As a JSON list; null for all. */
  readonly keys: string | null
}

export type KeptSessions = Pick<SqliteSessionSums, 'below' | 'unsummed' | 'of' | 'findSum' | 'hourFrom'>

/** Beginning of the next page: the place of a session in the list, an hour, and there a sequence. */
interface Place {
  readonly at: number
  readonly hour?: number
  readonly seq?: number
}

export function queryPeriod({ from, until, keys }: SessionQuery): Period {
  return { first: Math.max(0, Math.ceil(from * TICKS)), end: until * TICKS, keys: keys ? JSON.stringify(keys) : null }
}

export class SqliteSessionUse {
  private readonly kept: KeptSessions
  private readonly statements: Statements
  private readonly rowPage = new AdaptivePage(SESSION_PAGE)

  constructor(db: DatabaseSync, kept: KeptSessions) {
    this.statements = new Statements(db)
    this.kept = kept
  }

  /** @param after '' begins. @throws what SQLite throws. */
  read(query: SessionQuery, after: string, of: readonly SessionName[]): SessionPage {
    const begun = performance.now()
    const period = queryPeriod(query)
    const rows: SessionUse[] = []
    let place: Place = after === '' ? { at: 0 } : (JSON.parse(after) as Place)
    for (;;) {
      const name = of[place.at]
      if (!name) return { rows }
      const hour = place.hour ?? Math.floor(name.first / HOUR_MS)
      const { found, seq } = this.ofHour(period, name, hour, place.seq ?? 0)
      rows.push(...found)
      if (seq !== undefined) place = { at: place.at, hour, seq }
      else place = hour * HOUR_MS + HOUR_MS > name.last ? { at: place.at + 1 } : { at: place.at, hour: hour + 1 }
      if (performance.now() - begun >= SESSION_PAGE.target) return { rows, next: JSON.stringify(place) }
    }
  }

  /** @param seq of its generations from there on, where it has been begun. */
  private ofHour(period: Period, { key, session }: SessionName, hour: number, seq: number): { found: SessionUse[]; seq?: number } {
    const { below, unsummed } = this.kept
    const isUnsummed = unsummed !== undefined && hour >= unsummed.first && hour < unsummed.end
    if (seq === 0 && (hour < below || !isUnsummed)) {
      const sum = hour < below ? this.ofTable(hour, key, session) : this.kept.findSum(hour, key, session)
      if (!sum) return { found: [] }
      const [first, last] = [integer(sum.first), integer(sum.last)]
      if (first >= period.end || last < period.first) return { found: [] }
      if (first >= period.first && last < period.end) return { found: [useFrom(sum, rowModels(sum))] }
    }
    const first = Math.max(seq, period.first, hour * HOUR_TICKS)
    return this.ofRows(first, Math.min(period.end, (hour + 1) * HOUR_TICKS), key, session)
  }

  private ofTable(hour: number, key: string, session: string): Row | undefined {
    return this.statements.of(OF_HOUR).get(hour, key, session)
  }

  private ofRows(first: number, end: number, key: string, session: string): { found: SessionUse[]; seq?: number } {
    const begun = performance.now()
    const { size } = this.rowPage
    const page = this.statements.of(END_OF_SESSION).get(first, end, size, session)
    const count = integer(page?.count)
    if (count === 0) return { found: [] }
    const last = integer(page?.last)
    const rows = this.statements.of(SUMS).all(first, last, key, session)
    const found = rows.map((row) => useFrom(row, [text(row.model)]))
    this.rowPage.took(performance.now() - begun)
    return count < size ? { found } : { found, seq: last + 1 }
  }
}

type Row = Readonly<Record<string, SQLOutputValue>>

const rowModels = ({ models }: Row | SessionSum): string[] => (Array.isArray(models) ? [...models] : (JSON.parse(text(models)) as string[]))

function useFrom(row: Row | SessionSum, models: readonly string[]): SessionUse {
  return {
    key: text(row.key),
    session: text(row.session),
    models,
    requests: integer(row.count),
    failed: integer(row.failed),
    cost: BigInt(integer(row.dollars)) * BigInt(NANO) + BigInt(integer(row.nano)),
    ...rowCountsFrom(row, integer),
    cacheSaved: Number(row.saved),
    first: Math.floor(integer(row.first) / TICKS),
    last: Math.floor(integer(row.last) / TICKS),
  }
}
