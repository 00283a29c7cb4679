/** The search for generations in PostgreSQL: a slice of an index, of which the wanted ones are taken. */
import { type RawBuilder, sql } from 'kysely'
import type { FoundPage, GenerationRecord, GenerationSearch } from '../../ledger/types.ts'
import { AdaptivePage } from '../adaptive-page.ts'
import { TICKS } from '../rows.ts'
import { HAS_SESSION, SESSION_OF } from '../search-index.ts'
import { endingsOf, memberText, neededTexts } from '../search-text.ts'
import type { Connection } from './connection.ts'
import { query as builder, type GenerationTable, storable } from './tables.ts'

/** Rows of one slice, and milliseconds that it should take. */
const SLICE = { least: 200, most: 20_000, target: 25 }
const LARGEST = 9_007_199_254_740_991

/** A row that may be wanted, or none; with each the last one of the slice and how many it has. */
type Row = { readonly [Name in keyof GenerationTable]: GenerationTable[Name] | null } & {
  readonly sliced: number
  readonly last: string | null
}

export class PostgresSearch {
  private readonly connection: Connection
  private readonly recordFrom: (row: GenerationTable) => GenerationRecord
  private readonly slice = new AdaptivePage(SLICE)

  constructor(connection: Connection, recordFrom: (row: GenerationTable) => GenerationRecord) {
    this.connection = connection
    this.recordFrom = recordFrom
  }

  /** @param before `<seq> <tag>`, or '' to begin. @throws Fault `unavailable`. */
  async page(wanted: GenerationSearch, before: string): Promise<FoundPage> {
    const begun = performance.now()
    const { size } = this.slice
    const statement = sql<Row>`
      with slice as materialized (${sliceOf(wanted, before, size)})
      select s.sliced, s.last, g.* from
        (select count(*) as sliced, (select seq || ' ' || tag from slice order by seq, tag limit 1) as last from slice) as s
        left join (select * from slice ${filterOf(wanted)} order by seq desc, tag desc limit ${wanted.limit}) as g on true
        order by g.seq desc, g.tag desc`
    const found = await this.connection.run(statement.compile(builder))
    this.slice.took(performance.now() - begun)
    const [first] = found
    const rows = found.flatMap((row) => (row.seq === null ? [] : [this.recordFrom(row as GenerationTable)]))
    const last = rows.at(-1)?.hold
    if (last && rows.length >= wanted.limit) return { rows, next: `${last.seq} ${last.tag}` }
    return { rows, ...(first?.sliced === size && first.last !== null ? { next: first.last } : {}) }
  }
}

function sliceOf(wanted: GenerationSearch, before: string, size: number): RawBuilder<unknown> {
  const { key, session } = wanted
  const [seq, tag] = before === '' ? [LARGEST, ''] : before.split(' ')
  const range = sql`(seq, tag) < (${seq}::bigint, ${tag}::text) and seq >= ${Math.ceil(wanted.from * TICKS)}::bigint
    and seq < ${Math.min(LARGEST, Math.ceil(wanted.until * TICKS))}::bigint`
  const slice = (where: RawBuilder<unknown>): RawBuilder<unknown> =>
    sql`select * from generation where ${where} and ${range} order by seq desc, tag desc limit ${size}`
  if (session !== undefined)
    return slice(sql`${sql.raw(HAS_SESSION.postgres)} and (${sql.raw(SESSION_OF.postgres)}) = ${storable(session)}`)
  const endings = endingsOf(wanted)
  if (endings) {
    const each = endings.map((status) => sql`(${slice(sql`status = ${status} and status <> 'completed'`)})`)
    return sql`select * from (${sql.join(each, sql` union all `)}) as e order by seq desc, tag desc limit ${size}`
  }
  return slice(key === undefined ? sql`true` : sql`key = ${storable(key)}`)
}

/** What the columns and the text of the facts show; the ledger has the last word. */
function filterOf(wanted: GenerationSearch): RawBuilder<unknown> {
  const { key, model, endpoint, statuses, minCost, maxCost } = wanted
  const terms: RawBuilder<unknown>[] = []
  if (key !== undefined) terms.push(sql`key = ${storable(key)}`)
  if (statuses) terms.push(sql`status = any(${[...statuses]})`)
  if (minCost !== undefined) terms.push(sql`cost >= ${minCost}::bigint`)
  if (maxCost !== undefined) terms.push(sql`cost <= ${maxCost}::bigint`)
  const modelText = model === undefined ? undefined : memberText('model', model)
  const endpointText = endpoint === undefined ? undefined : memberText('endpoint', endpoint)
  if (model !== undefined && modelText !== undefined) terms.push(sql`(model = ${model} or strpos(facts, ${modelText}) > 0)`)
  if (endpoint !== undefined && endpointText !== undefined) terms.push(sql`(endpoint = ${endpoint} or strpos(facts, ${endpointText}) > 0)`)
  for (const text of neededTexts(wanted)) terms.push(sql`strpos(facts, ${text}) > 0`)
  return terms.length === 0 ? sql`` : sql`where ${sql.join(terms, sql` and `)}`
}
