/** Sums of use by day, model, endpoint and provider, as SQLite computes them: a page takes a few milliseconds. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { UsePage, UseQuery, UseRow } from '../ledger/types.ts'
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

export class SqliteUse {
  private readonly endOfPage: StatementSync
  private readonly sums: StatementSync
  private readonly sumsOfKeys: StatementSync
  private readonly page = new AdaptivePage(PAGE)

  constructor(db: DatabaseSync) {
    this.endOfPage = db.prepare(END_OF_PAGE)
    this.sums = db.prepare(sumsOf(''))
    this.sumsOfKeys = db.prepare(sumsOf('AND hold.key IN (SELECT value FROM json_each(?))'))
  }

  /** @throws what SQLite throws. */
  read({ from, until, keys }: UseQuery, after: string): UsePage {
    const begun = performance.now()
    const first = after === '' ? Math.max(0, Math.ceil(from * TICKS)) - 1 : Number(after)
    const { size } = this.page
    const end = this.endOfPage.get(first, until * TICKS, size)
    const count = integer(end?.count)
    if (count === 0) return { rows: [] }
    const last = integer(end?.last)
    const found = keys ? this.sumsOfKeys.all(first, last, JSON.stringify(keys)) : this.sums.all(first, last)
    const rows = found.map(
      (row): UseRow => ({
        day: integer(row.day) * DAY_MS,
        model: text(row.model),
        endpoint: text(row.endpoint),
        provider: text(row.provider),
        answered: row.answered === 1,
        requests: integer(row.requests),
        cost: BigInt(integer(row.dollars)) * BigInt(NANO) + BigInt(integer(row.nano)),
        input: integer(row.input),
        output: integer(row.output),
        reasoning: integer(row.reasoning),
        cacheSaved: Number(row.saved),
      }),
    )
    this.page.took(performance.now() - begun)
    return count < size ? { rows } : { rows, next: String(last) }
  }
}
