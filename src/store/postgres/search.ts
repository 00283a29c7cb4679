/** The search for generations in PostgreSQL: a slice of an index, of which the wanted ones are taken. */
import { type RawBuilder, sql } from 'kysely'
import { payersColumn } from '../../core/payers.ts'
import type { FoundPage, GenerationRecord, GenerationSearch, LedgerPart } from '../../ledger/types.ts'
import { AdaptivePage, type PageSize } from '../adaptive-page.ts'
import { TICKS } from '../rows.ts'
import { HAS_SESSION, SESSION_OF } from '../search-index.ts'
import { memberText, neededTexts, wantedEndings } from '../search-text.ts'
import type { Connection } from './connection.ts'
import { query as builder, type GenerationTable, storable } from './tables.ts'

/**
 * Rows of one slice, and milliseconds that it should take. Rows in order lie side by side. Those of an index are each on a page of their
 * own, which may have to come from the disk.
 */
const IN_ORDER = { least: 200, most: 20_000, target: 25 }
const BY_INDEX = { least: 200, most: 500, target: 25 }
/** Searches of which it is known how large a slice may be where they go on. */
const MAX_KNOWN = 64
const LARGEST = 9_007_199_254_740_991

/** A row that may be wanted, or none; with each the last one of the slice and how many it has. */
type Row = { readonly [Name in keyof GenerationTable]: GenerationTable[Name] | null } & {
  readonly sliced: number
  readonly last: string | null
}

export class PostgresSearch {
  private readonly connection: Connection
  private readonly recordFrom: (row: GenerationTable) => GenerationRecord
  /** By the kind of slice and the place where the search goes on: what another one has learned says nothing of the pages of this one. */
  private readonly sizes = new Map<string, AdaptivePage>()

  constructor(connection: Connection, recordFrom: (row: GenerationTable) => GenerationRecord) {
    this.connection = connection
    this.recordFrom = recordFrom
  }

  /** @param before `<seq> <tag>`, or '' to begin. @throws Fault `unavailable`. */
  async page(wanted: GenerationSearch, before: string): Promise<FoundPage> {
    const begun = performance.now()
    const slice = searchSlice(wanted)
    const terms = searchFilter(wanted, slice.has)
    const pages = this.sizeAt(slice, before)
    // Where all rows of the slice are wanted, no more are read than are shown.
    const size = wantsAll(wanted, slice) ? Math.min(pages.size, wanted.limit) : pages.size
    const filter = terms.length === 0 ? sql`` : sql`where ${sql.join(terms, sql` and `)}`
    const statement = sql<Row>`
      with slice as materialized (${slice.rows(before, size)})
      select s.sliced, s.last, g.* from
        (select count(*) as sliced, (select seq || ' ' || tag from slice order by seq, tag limit 1) as last from slice) as s
        left join (select * from slice ${filter} order by seq desc, tag desc limit ${wanted.limit}) as g on true
        order by g.seq desc, g.tag desc`
    const found = await this.connection.run(statement.compile(builder))
    if (size === pages.size) pages.took(performance.now() - begun)
    const [first] = found
    const rows = found.flatMap((row) => (row.seq === null ? [] : [this.recordFrom(row as GenerationTable)]))
    const last = rows.at(-1)?.hold
    if (last && rows.length >= wanted.limit) return { rows, next: `${last.seq} ${last.tag}` }
    if (first?.sliced !== size || first.last === null) return { rows }
    this.goesOn(slice, first.last, pages)
    return { rows, next: first.last }
  }

  /** Small for a search that begins, and as it has learned where it has come from an earlier slice. */
  private sizeAt({ kind, bounds }: SliceKind, before: string): AdaptivePage {
    const place = `${kind} ${before}`
    const known = this.sizes.get(place)
    this.sizes.delete(place)
    return known ?? new AdaptivePage(bounds)
  }

  private goesOn({ kind }: SliceKind, next: string, pages: AdaptivePage): void {
    this.sizes.set(`${kind} ${next}`, pages)
    for (const oldest of this.sizes.keys()) {
      if (this.sizes.size <= MAX_KNOWN) break
      this.sizes.delete(oldest)
    }
  }
}

interface SliceKind {
  readonly kind: string
  readonly bounds: PageSize
}

interface Slice extends SliceKind {
  /** Filters that all its rows meet. */
  readonly has: readonly (typeof FILTERS)[number][]
  rows(before: string, size: number): RawBuilder<unknown>
}

function searchSlice(wanted: GenerationSearch): Slice {
  const { key, session } = wanted
  const slice = (where: RawBuilder<unknown>, before: string, size: number): RawBuilder<unknown> => {
    const [seq, tag] = before === '' ? [LARGEST, ''] : before.split(' ')
    return sql`select * from generation where ${where} and (seq, tag) < (${seq}::bigint, ${tag}::text)
      and seq >= ${Math.ceil(wanted.from * TICKS)}::bigint and seq < ${Math.min(LARGEST, Math.ceil(wanted.until * TICKS))}::bigint
      order by seq desc, tag desc limit ${size}`
  }
  if (session !== undefined) {
    const ofSession = sql`${sql.raw(HAS_SESSION.postgres)} and (${sql.raw(SESSION_OF.postgres)}) = ${storable(session)}`
    return { kind: 'session', bounds: BY_INDEX, has: [], rows: (before, size) => slice(ofSession, before, size) }
  }
  const endings = wantedEndings(wanted)
  if (endings) {
    const rows = (before: string, size: number): RawBuilder<unknown> => {
      const each = endings.map((status) => sql`(${slice(sql`status = ${status} and status <> 'completed'`, before, size)})`)
      return sql`select * from (${sql.join(each, sql` union all `)}) as e order by seq desc, tag desc limit ${size}`
    }
    return { kind: 'ending', bounds: BY_INDEX, has: ['statuses'], rows }
  }
  if (key === undefined) return { kind: 'all', bounds: IN_ORDER, has: [], rows: (before, size) => slice(sql`true`, before, size) }
  const ofKey = sql`key = ${storable(key)}`
  return { kind: 'key', bounds: BY_INDEX, has: ['key'], rows: (before, size) => slice(ofKey, before, size) }
}

/** The filters of a search, but for the time. */
const FILTERS = [
  'key',
  'model',
  'provider',
  'endpoint',
  'session',
  'statuses',
  'error',
  'minCost',
  'maxCost',
  'streamed',
  'within',
] as const

function wantsAll(wanted: GenerationSearch, { has }: Slice): boolean {
  return FILTERS.every((name) => wanted[name] === undefined || has.includes(name))
}

/** Rows with columns `key` and `payer`. */
export const inPart = ({ keys, account }: LedgerPart): RawBuilder<boolean> =>
  sql<boolean>`(key = any(${keys.map(storable)}) or ${storable(account)} = any(${sql.raw(payersColumn('payer'))}))`

/** Conditions on columns and on the text of the facts; rows that meet them are parsed and checked. @param has filters that all rows meet. */
function searchFilter(wanted: GenerationSearch, has: Slice['has']): RawBuilder<unknown>[] {
  const { key, model, endpoint, statuses, minCost, maxCost } = wanted
  const terms: RawBuilder<unknown>[] = []
  if (key !== undefined && !has.includes('key')) terms.push(sql`key = ${storable(key)}`)
  if (wanted.within) terms.push(inPart(wanted.within))
  if (statuses && !has.includes('statuses')) terms.push(sql`status = any(${[...statuses]})`)
  if (minCost !== undefined) terms.push(sql`cost >= ${minCost}::bigint`)
  if (maxCost !== undefined) terms.push(sql`cost <= ${maxCost}::bigint`)
  const modelText = model === undefined ? undefined : memberText('model', model)
  const endpointText = endpoint === undefined ? undefined : memberText('endpoint', endpoint)
  if (model !== undefined && modelText !== undefined) terms.push(sql`(model = ${model} or strpos(facts, ${modelText}) > 0)`)
  if (endpoint !== undefined && endpointText !== undefined) terms.push(sql`(endpoint = ${endpoint} or strpos(facts, ${endpointText}) > 0)`)
  for (const text of neededTexts(wanted)) terms.push(sql`strpos(facts, ${text}) > 0`)
  return terms
}
