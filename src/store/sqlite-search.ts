/**
 * The search for generations in the embedded store. What is looked at next comes from an index where there is one (session, ending), from
 * the minutes in which a key was used, or else from the rows in order; a slice of it takes a few milliseconds.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { FoundPage, GenerationRecord, GenerationSearch } from '../ledger/types.ts'
import { AdaptivePage } from './adaptive-page.ts'
import { joinRecord, MINUTE_MS, TICKS } from './rows.ts'
import { HAS_SESSION, SESSION_OF } from './search-index.ts'
import { memberText, neededTexts, wantedEndings } from './search-text.ts'
import { integer } from './sqlite.ts'
import { holdFrom, SETTLED_COLUMNS, settlementFrom } from './sqlite-rows.ts'

/** Rows of one slice, and milliseconds that it should take. */
const SLICE = { least: 250, most: 20_000, target: 4 }
const MAX_STATEMENTS = 64
/** Minutes of a key that one slice looks at. */
const MAX_MINUTES = 64

const COLUMNS = `hold.*, ${SETTLED_COLUMNS}`

/** Sequences, the newest first. */
interface Slice {
  readonly sql: string
  readonly values: readonly SQLInputValue[]
  /** Set where the slice is all rows between two sequences. */
  readonly range?: Range
}

/** Rows from a sequence on, and before another one. */
interface Range {
  readonly from: number
  readonly before: number
}

interface Piece {
  readonly rows: GenerationRecord[]
  /** The sequence before which the next piece begins; undefined where nothing is left. */
  readonly next: number | undefined
}

export class SqliteSearch {
  private readonly db: DatabaseSync
  private readonly statements = new Map<string, StatementSync>()
  private readonly slice = new AdaptivePage(SLICE)

  constructor(db: DatabaseSync) {
    this.db = db
  }

  /** @param before `<seq> <tag>`, or '' to begin. @throws what SQLite throws. */
  page(query: GenerationSearch, before: string): FoundPage {
    const begun = performance.now()
    const end = Math.ceil(Math.min(query.until, Number.MAX_SAFE_INTEGER / TICKS) * TICKS)
    const range = {
      from: Math.ceil(query.from * TICKS),
      before: before === '' ? end : Math.min(end, Number(before.split(' ')[0])),
    }
    const { rows, next } = this.piece(query, range)
    this.slice.took(performance.now() - begun)
    return { rows, ...(next === undefined ? {} : { next: `${next} ` }) }
  }

  private piece(query: GenerationSearch, range: Range): Piece {
    const { size } = this.slice
    if (query.session !== undefined) return this.readRows(query, sessionSlice(query.session, range, size), size)
    const endings = wantedEndings(query)
    if (endings) return this.readRows(query, endingSlice(endings, range, size), size)
    if (query.key !== undefined) return this.ofKey(query, query.key, range)
    return this.readRows(query, rangeSlice(range, size), size)
  }

  /** Of the sequences of a slice those that may be wanted, as many as a page has. */
  private readRows(query: GenerationSearch, slice: Slice, size: number): Piece {
    const end = this.prepared(`SELECT count(*) AS count, min(seq) AS last FROM (${slice.sql})`).get(...slice.values)
    const count = integer(end?.count)
    if (count === 0) return { rows: [], next: undefined }
    const last = integer(end?.last)
    const filter = searchFilter(query)
    const where = filter.sql === '' ? '' : `AND ${filter.sql}`
    // A slice of rows in order is read in place; of an index the sequences come first.
    const source = slice.range ? 'hold' : `(${slice.sql}) AS slice CROSS JOIN hold USING (seq)`
    const bounds = slice.range ? [last, slice.range.before] : [...slice.values, last, Number.MAX_SAFE_INTEGER]
    const found = this.prepared(
      `SELECT ${COLUMNS} FROM ${source} LEFT JOIN settlement USING (seq)
      WHERE hold.seq >= ? AND hold.seq < ? ${where} ORDER BY hold.seq DESC LIMIT ?`,
    ).all(...bounds, ...filter.values, query.limit)
    const rows: GenerationRecord[] = []
    for (const row of found) {
      const hold = holdFrom(row)
      if (hold) rows.push(joinRecord(hold, row.settled === null ? undefined : settlementFrom(row)))
    }
    if (rows.length >= query.limit) return { rows, next: rows.at(-1)?.hold.seq }
    return { rows, next: count < size ? undefined : last }
  }

  /** The filters of searches have few forms. */
  private prepared(sql: string): StatementSync {
    let statement = this.statements.get(sql)
    if (!statement) {
      if (this.statements.size >= MAX_STATEMENTS) this.statements.clear()
      statement = this.db.prepare(sql)
      this.statements.set(sql, statement)
    }
    return statement
  }

  /** Goes through the minutes in which the key was used. */
  private ofKey(query: GenerationSearch, key: string, { from, before }: Range): Piece {
    const minute = MINUTE_MS * TICKS
    const minutes = this.prepared(
      'SELECT minute FROM key_minute WHERE key = ? AND minute >= ? AND minute <= ? ORDER BY minute DESC LIMIT ?',
    ).all(key, Math.floor(from / minute), Math.floor((before - 1) / minute), MAX_MINUTES)
    const rows: GenerationRecord[] = []
    let left = this.slice.size
    let next = before
    for (const each of minutes) {
      const begins = integer(each.minute) * minute
      const range = { from: Math.max(from, begins), before: Math.min(next, begins + minute) }
      const piece = this.readRows({ ...query, limit: query.limit - rows.length }, rangeSlice(range, left), left)
      rows.push(...piece.rows)
      if (piece.next !== undefined) return { rows, next: piece.next }
      next = begins
      left = Math.max(1, left - MAX_PER_MINUTE)
      if (left === 1) return { rows, next }
    }
    return { rows, next: minutes.length < MAX_MINUTES ? undefined : next }
  }
}

/** Rows that a minute counts for in a slice, however few it has. */
const MAX_PER_MINUTE = 32

function rangeSlice({ from, before }: Range, size: number): Slice {
  return {
    sql: 'SELECT seq FROM hold WHERE seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?',
    values: [from, before, size],
    range: { from, before },
  }
}

function sessionSlice(session: string, { from, before }: Range, size: number): Slice {
  return {
    sql: `SELECT seq FROM settlement WHERE ${HAS_SESSION.sqlite} AND ${SESSION_OF.sqlite} = ? AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?`,
    values: [session, from, before, size],
  }
}

/** Each status has its own part of the index, in order; together they are few. */
function endingSlice(endings: readonly string[], { from, before }: Range, size: number): Slice {
  const one = `SELECT seq FROM (SELECT seq FROM settlement WHERE status = ? AND status <> 'completed' AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?)`
  return {
    sql: `SELECT seq FROM (${endings.map(() => one).join(' UNION ALL ')}) ORDER BY seq DESC LIMIT ?`,
    values: [...endings.flatMap((status) => [status, from, before, size]), size],
  }
}

/** Conditions on columns and on the text of the facts; rows that meet them are parsed and checked. */
function searchFilter(query: GenerationSearch): Slice {
  const { key, model, endpoint, statuses, minCost, maxCost } = query
  const terms: string[] = []
  const values: SQLInputValue[] = []
  const add = (term: string, ...more: SQLInputValue[]): void => {
    terms.push(term)
    values.push(...more)
  }
  if (key !== undefined) add('hold.key = ?', key)
  if (statuses) add("ifnull(status, 'open') IN (SELECT value FROM json_each(?))", JSON.stringify(statuses))
  if (minCost !== undefined && minCost > 0) add('cost >= ?', minCost)
  if (maxCost !== undefined) add('ifnull(cost, 0) <= ?', maxCost)
  for (const [name, value] of [
    ['model', model],
    ['endpoint', endpoint],
  ] as const) {
    const text = value === undefined ? undefined : memberText(name, value)
    if (value !== undefined && text !== undefined) add(`(hold.${name} = ? OR instr(facts, ?) > 0)`, value, text)
  }
  for (const text of neededTexts(query)) add('instr(facts, ?) > 0', text)
  return { sql: terms.join(' AND '), values }
}
