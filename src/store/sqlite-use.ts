/** Sums of use by day, model, endpoint and provider, or by session, as SQLite computes them: a page takes a few milliseconds. */
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import type { SessionPage, SessionQuery, SessionUse, UsePage, UseQuery, UseRow } from '../ledger/types.ts'
import { AdaptivePage } from './adaptive-page.ts'
import { NANO } from './charged.ts'
import { DAY_MS, TICKS } from './rows.ts'
import { integer, text } from './sqlite.ts'

/** Generations of one page, and milliseconds that it should take. */
const PAGE = { least: 100, most: 2_000, target: 1 }

const END_OF_PAGE = 'SELECT count(*) AS count, max(seq) AS last FROM (SELECT seq FROM hold WHERE seq > ? AND seq < ? ORDER BY seq LIMIT ?)'

/** A fact of the settlement, or the hold's own where none is recorded. Facts that are no JSON count as none. */
const fact = (name: string, otherwise: string): string =>
  `ifnull(nullif(iif(json_valid(facts) AND json_type(facts, '$.${name}') = 'text', facts ->> '$.${name}', ''), ''), ${otherwise})`

/** Whole nano-dollars, so that their sum is exact. */
const SAVED = `iif(json_valid(facts) AND json_type(facts, '$.cache_discount') IN ('integer', 'real'), round((facts ->> '$.cache_discount') * ${NANO}), 0)`

const sumsOf = (keys: string): string => `
  SELECT hold.seq / ${TICKS} / ${DAY_MS} AS day, ${fact('model', 'hold.model')} AS model, ${fact('endpoint', 'hold.endpoint')} AS endpoint,
    ${fact('provider', "''")} AS provider, status NOT IN ('failed', 'unknown') AS answered, count(*) AS requests,
    sum(cost / ${NANO}) AS dollars, sum(cost % ${NANO}) AS nano,
    sum(input) AS input, sum(output) AS output, sum(reasoning) AS reasoning, total(${SAVED}) AS saved
  FROM hold JOIN settlement USING (seq) WHERE hold.seq > ? AND hold.seq <= ? ${keys} GROUP BY 1, 2, 3, 4, 5`

const SESSION = fact('session_id', "''")

const SESSIONS = `
  SELECT hold.key AS key, ${SESSION} AS session, ${fact('model', 'hold.model')} AS model, count(*) AS requests,
    sum(status IN ('failed', 'unknown')) AS failed, sum(cost / ${NANO}) AS dollars, sum(cost % ${NANO}) AS nano, sum(input) AS input,
    sum(output) AS output, sum(cached) AS cached, sum(cache_write) AS cacheWrite, sum(reasoning) AS reasoning, total(${SAVED}) AS saved,
    min(hold.seq) AS first, max(hold.seq) AS last
  FROM hold JOIN settlement USING (seq)
  WHERE hold.seq > ?1 AND hold.seq <= ?2 AND (?3 IS NULL OR hold.key IN (SELECT value FROM json_each(?3)))
    AND ${SESSION} <> '' AND (?4 IS NULL OR ${SESSION} = ?4) GROUP BY 1, 2, 3`

export class SqliteUse {
  private readonly endOfPage: StatementSync
  private readonly sums: StatementSync
  private readonly sumsOfKeys: StatementSync
  private sessionSums: StatementSync | undefined
  private readonly db: DatabaseSync
  private readonly page = new AdaptivePage(PAGE)

  constructor(db: DatabaseSync) {
    this.db = db
    this.endOfPage = db.prepare(END_OF_PAGE)
    this.sums = db.prepare(sumsOf(''))
    this.sumsOfKeys = db.prepare(sumsOf('AND hold.key IN (SELECT value FROM json_each(?))'))
  }

  /** @throws what SQLite throws. */
  read(query: UseQuery, after: string): UsePage {
    const { keys } = query
    return this.pageOf(query, after, (first, last) => {
      const found = keys ? this.sumsOfKeys.all(first, last, JSON.stringify(keys)) : this.sums.all(first, last)
      return found.map(useFrom)
    })
  }

  /** @throws what SQLite throws. */
  readSessions(query: SessionQuery, after: string): SessionPage {
    const { keys, session } = query
    this.sessionSums ??= this.db.prepare(SESSIONS)
    const sums = this.sessionSums
    return this.pageOf(query, after, (first, last) =>
      sums.all(first, last, keys ? JSON.stringify(keys) : null, session ?? null).map(sessionFrom),
    )
  }

  /** @param sums of the generations behind the first sequence, up to the second one. */
  private pageOf<R>(
    { from, until }: Pick<UseQuery, 'from' | 'until'>,
    after: string,
    sums: (first: number, last: number) => R[],
  ): { rows: R[]; next?: string } {
    const begun = performance.now()
    const first = after === '' ? Math.max(0, Math.ceil(from * TICKS)) - 1 : Number(after)
    const { size } = this.page
    const end = this.endOfPage.get(first, until * TICKS, size)
    const count = integer(end?.count)
    if (count === 0) return { rows: [] }
    const last = integer(end?.last)
    const rows = sums(first, last)
    this.page.took(performance.now() - begun)
    return count < size ? { rows } : { rows, next: String(last) }
  }
}

type Row = Readonly<Record<string, SQLOutputValue>>

const costOf = ({ dollars, nano }: Row): bigint => BigInt(integer(dollars)) * BigInt(NANO) + BigInt(integer(nano))

function useFrom(row: Row): UseRow {
  return {
    day: integer(row.day) * DAY_MS,
    model: text(row.model),
    endpoint: text(row.endpoint),
    provider: text(row.provider),
    answered: row.answered === 1,
    requests: integer(row.requests),
    cost: costOf(row),
    input: integer(row.input),
    output: integer(row.output),
    reasoning: integer(row.reasoning),
    cacheSaved: Number(row.saved),
  }
}

function sessionFrom(row: Row): SessionUse {
  return {
    key: text(row.key),
    session: text(row.session),
    models: [text(row.model)],
    requests: integer(row.requests),
    failed: integer(row.failed),
    cost: costOf(row),
    input: integer(row.input),
    output: integer(row.output),
    cached: integer(row.cached),
    cacheWrite: integer(row.cacheWrite),
    reasoning: integer(row.reasoning),
    cacheSaved: Number(row.saved),
    first: Math.floor(integer(row.first) / TICKS),
    last: Math.floor(integer(row.last) / TICKS),
  }
}
