/** Lists of the management API as CSV (RFC 4180), page by page, as fast as the caller takes them. */

import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../core/clock.ts'
import { asFault } from '../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { BY_DAY } from '../core/ledger-counts.ts'
import { countColumns } from './count-fields.ts'
import type { CsvList } from './described-operation.ts'
import { format } from './parameters.ts'
import { queryInteger } from './query.ts'
import type { ApiReply } from './reply.ts'

interface CsvSource {
  readonly clock: Pick<Clock, 'now' | 'after'>
  readonly scans: object
  /** A page of the list. */
  read(query: URLSearchParams): Promise<ApiReply>
}

export interface CsvReply {
  readonly status: number
  readonly headers: Record<string, string>
  readonly bytes: Readable
}

type Pages = AsyncIterable<readonly JsonObject[]>

/** Columns that several lists have. */
export const KEY_COLUMNS = ['api_key_hash', 'api_key_name'] as const
export const USE_COLUMNS = [...countColumns(BY_DAY), 'cache_discount']

/** True by `format=csv`, or by a header `Accept` that prefers it. @throws Fault 400. */
export function wantsCsv(query: URLSearchParams, accept: string | undefined): boolean {
  return (format.read(query) ?? (prefersCsv(accept) ? 'csv' : 'json')) === 'csv'
}

/** RFC 9110, section 12.5.1: a type that is named with a weight of its own, at least that of JSON. */
function prefersCsv(accept = ''): boolean {
  const weights = new Map<string, number>()
  for (const range of accept.slice(0, 1000).split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(type, weight === undefined ? 1 : Number(weight.slice(2)) || 0)
  }
  const csv = weights.get('text/csv') ?? 0
  return csv > 0 && csv >= (weights.get('application/json') ?? 0)
}

/** The first page is read before the reply begins: what is wrong with the query is an ordinary error. @throws Fault. */
export async function csvReply(list: CsvList, query: URLSearchParams, source: CsvSource): Promise<CsvReply> {
  const { name, paging } = list
  const pages = paging ? PAGINGS[paging.by](query, paging.most, source) : once(query, source)
  const reading = pages[Symbol.asyncIterator]()
  const first = await reading.next()
  const day = new Date(source.clock.now()).toISOString().slice(0, 10)
  return {
    status: 200,
    headers: {
      'Content-Type': 'text/csv; charset=utf-8; header=present',
      'Content-Disposition': `attachment; filename="${name}-${day}.csv"`,
    },
    bytes: Readable.from(texts(list, first, reading), { highWaterMark: 1 }),
  }
}

/** Rows that become one piece of the reply. */
const PIECE = 500

async function* texts(
  list: CsvList,
  first: IteratorResult<readonly JsonObject[]>,
  reading: AsyncIterator<readonly JsonObject[]>,
): AsyncGenerator<string> {
  yield headLine(list)
  try {
    for (let page = first; !page.done; page = await reading.next()) {
      for (let at = 0; at < page.value.length; at += PIECE) {
        const rows = page.value.slice(at, at + PIECE)
        yield rows.map((row) => rowLine(list, row)).join('')
        // A caller that is fast would have all of them written in one turn of the event loop.
        await nextTurn()
      }
    }
  } finally {
    // The caller may have left: nothing more is read for it.
    await reading.return?.()
  }
}

type Columns = Pick<CsvList, 'columns' | 'amounts'>

/** @param withHead true for the line of names before the rows. */
export function csvText(list: Columns, rows: readonly JsonObject[], withHead: boolean): string {
  return [...(withHead ? [headLine(list)] : []), ...rows.map((row) => rowLine(list, row))].join('')
}

const headLine = ({ columns }: Columns): string => `${columns.map((name) => cell(name)).join(',')}\r\n`

const rowLine = ({ columns, amounts = [] }: Columns, row: JsonObject): string =>
  `${columns.map((column) => cell(row[column], amounts.includes(column))).join(',')}\r\n`

/**
 * A text that a spreadsheet would take for a formula gets an apostrophe before it (OWASP, "CSV Injection"; ASVS 5.0, 1.2.10). Numbers
 * stay as they are. In quotes stands also what separates cells where a comma is that of numbers: `a;=1+1` would be two, the second a formula.
 */
function cell(value: Json | undefined, isAmount = false): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : Array.isArray(value) && !value.some(isObject) ? value.join(' ') : JSON.stringify(value)
  const safe = /^[=+\-@\t\r\n\0＝＋－＠]/.test(text) && !(isAmount && DECIMAL.test(text)) ? `'${text}` : text
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** An exact decimal: more digits than a number of JavaScript has. */
const DECIMAL = /^-?\d+(\.\d+)?$/

const replyRows = ({ body: { data } }: ApiReply): JsonObject[] => (Array.isArray(data) ? data.filter(isObject) : [])

async function* once(query: URLSearchParams, { read }: CsvSource): Pages {
  yield replyRows(await read(query))
}

const MAX_ROWS = 1_000_000_000

/** All rows, or as many as `limit` says. Edges of the period that the first page has found hold for all. */
async function* byOffset(query: URLSearchParams, most: number, source: CsvSource): Pages {
  let left = queryInteger(query, 'limit', 1, MAX_ROWS) ?? Number.POSITIVE_INFINITY
  let offset = queryInteger(query, 'offset', 0, Number.MAX_SAFE_INTEGER) ?? 0
  const wanted = new URLSearchParams(query)
  for (let isFirst = true; left > 0; isFirst = false) {
    const size = Math.min(most, left)
    wanted.set('offset', String(offset))
    wanted.set('limit', String(size))
    const reply = await readWithRetries(wanted, source, isFirst)
    for (const edge of ['since', 'until']) if (typeof reply.body[edge] === 'string') wanted.set(edge, reply.body[edge])
    const rows = replyRows(reply)
    yield rows
    if (rows.length < size) return
    offset += rows.length
    left -= rows.length
  }
}

/** As `byOffset`, each page behind the one before. */
async function* byCursor(query: URLSearchParams, most: number, source: CsvSource): Pages {
  let left = queryInteger(query, 'limit', 1, MAX_ROWS) ?? Number.POSITIVE_INFINITY
  const wanted = new URLSearchParams(query)
  for (let isFirst = true; left > 0; isFirst = false) {
    wanted.set('limit', String(Math.min(most, left)))
    const reply = await readWithRetries(wanted, source, isFirst)
    for (const edge of ['since', 'until']) if (typeof reply.body[edge] === 'string') wanted.set(edge, reply.body[edge])
    const rows = replyRows(reply)
    if (rows.length > 0 || isFirst) yield rows
    const { next } = reply.body
    if (typeof next !== 'string') return
    wanted.set('cursor', next)
    wanted.delete('offset')
    left -= rows.length
  }
}

const PAGINGS = { offset: byOffset, cursor: byCursor }

/** Milliseconds between two tries, and how many of them: the ledger lets few searches run at once. */
const PAUSE = 250
const MAX_TRIES = 60

/** Of each ledger the page that was begun last: pages of all these lists are read one after the other, so that pages of JSON have room. */
const turns = new WeakMap<object, Promise<unknown>>()

function inTurn<T>(scans: object, read: () => Promise<T>): Promise<T> {
  const reading = (turns.get(scans) ?? Promise.resolve()).then(read)
  turns.set(
    scans,
    reading.catch(() => {}),
  )
  return reading
}

/** Once a reply has begun, a ledger that is busy is waited for. */
async function readWithRetries(query: URLSearchParams, { read, clock, scans }: CsvSource, isFirst: boolean): Promise<ApiReply> {
  for (let tries = 1; ; tries++) {
    try {
      return await inTurn(scans, () => read(query))
    } catch (thrown) {
      if (isFirst || tries >= MAX_TRIES || asFault(thrown).code !== 'unavailable') throw thrown
      await new Promise<void>((resolve) => void clock.after(PAUSE, resolve))
    }
  }
}
