/** Lists of the management API as CSV (RFC 4180), page by page, as fast as the caller takes them. */

import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../core/clock.ts'
import { asFault } from '../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { BY_DAY, LISTED_COUNTS } from '../core/ledger-counts.ts'
import { readActivity } from './activity.ts'
import { countColumns } from './count-fields.ts'
import { searchGenerations } from './generations.ts'
import { readKeyActivity } from './key-activity.ts'
import { listKeys } from './keys.ts'
import { choiceOf, integerOf } from './query.ts'
import { listRefusals, MOST_REFUSALS, type RefusalSource } from './refusals.ts'
import type { ApiReply } from './reply.ts'
import { readSessions, type SessionSource } from './sessions.ts'

type CsvSource = Parameters<typeof readActivity>[1] & SessionSource & RefusalSource & { readonly clock: Pick<Clock, 'now' | 'after'> }

export interface CsvReply {
  readonly status: number
  readonly headers: Record<string, string>
  readonly bytes: Readable
}

type Pages = AsyncIterable<readonly JsonObject[]>

export interface CsvList {
  /** Of the file, without the day. */
  readonly name: string
  readonly columns: readonly string[]
  readonly pages: (query: URLSearchParams, source: CsvSource) => Pages
}

const COUNTS = [...countColumns(BY_DAY), 'cache_discount']
const KEY = ['api_key_hash', 'api_key_name'] as const

/** By path. A column that a row lacks is empty. */
const LISTS: Readonly<Record<string, CsvList>> = {
  '/v1/activity': {
    name: 'activity',
    columns: ['date', 'model', 'model_permaslug', 'endpoint_id', 'provider_name', 'usage', 'byok_usage_inference', 'requests', ...COUNTS],
    pages: (query, source) => once(() => readActivity(query, source)),
  },
  '/v1/activity/keys': {
    name: 'activity-keys',
    columns: [...KEY, 'date', 'model', 'provider_name', 'usage', 'requests', 'failed_requests', ...COUNTS],
    pages: (query, source) => byCursor(query, { most: 10_000, read: (page) => readKeyActivity(page, source), source }),
  },
  '/v1/generations': {
    name: 'generations',
    columns: [
      ...['id', 'created_at', 'model', 'provider_name', 'endpoint', 'status', 'error', 'usage', 'tokens_prompt', 'tokens_completion'],
      ...['latency', 'generation_time', 'streamed', 'session_id', 'attempts', ...KEY],
    ],
    pages: (query, source) => byCursor(query, { most: MOST_FOUND, read: (page) => searchGenerations(page, source), source }),
  },
  '/v1/sessions': {
    name: 'sessions',
    columns: [
      ...['session_id', ...KEY, 'models', 'requests', 'failed_requests', ...countColumns(LISTED_COUNTS)],
      ...['usage', 'cache_discount', 'first_request_at', 'last_request_at'],
    ],
    pages: (query, source) => byOffset(query, { most: 1_000, read: (page) => readSessions(page, source), source }),
  },
  '/v1/refusals': {
    name: 'refusals',
    columns: ['minute', ...KEY, 'reason', 'status', 'error_type', 'count', 'last_at', 'latest'],
    pages: (query, source) => byCursor(query, { most: MOST_REFUSALS, read: (page) => listRefusals(page, source), source }),
  },
  '/v1/keys': {
    name: 'keys',
    columns: [
      ...['hash', 'name', 'label', 'disabled', 'limit', 'limit_remaining', 'limit_reset', 'usage', 'usage_daily', 'usage_weekly'],
      ...[
        'usage_monthly',
        'created_at',
        'updated_at',
        'expires_at',
        'creator_user_id',
        'is_management_key',
        'source',
        'parent',
        'parent_hash',
      ],
      ...['unrecovered', 'unrecovered_open', 'disputed', 'disputed_open', 'provider_ids'],
    ],
    pages: (query, source) => once(() => listKeys(query, source)),
  },
}

/**
 * The list of this path as CSV, where that is wanted and there is one: by `format=csv`, or by a header `Accept` that prefers it.
 * @returns undefined where JSON is. @throws Fault 400.
 */
export function csvListFor(path: string, query: URLSearchParams, accept: string | undefined): CsvList | undefined {
  if (!Object.hasOwn(LISTS, path)) return undefined
  const format = choiceOf(query, 'format', ['json', 'csv']) ?? (prefersCsv(accept) ? 'csv' : 'json')
  return format === 'csv' ? LISTS[path] : undefined
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
export async function csvReply({ name, columns, pages }: CsvList, query: URLSearchParams, source: CsvSource): Promise<CsvReply> {
  const reading = pages(query, source)[Symbol.asyncIterator]()
  const first = await reading.next()
  const day = new Date(source.clock.now()).toISOString().slice(0, 10)
  return {
    status: 200,
    headers: {
      'Content-Type': 'text/csv; charset=utf-8; header=present',
      'Content-Disposition': `attachment; filename="${name}-${day}.csv"`,
    },
    bytes: Readable.from(texts(columns, first, reading), { highWaterMark: 1 }),
  }
}

/** Rows that become one piece of the reply. */
const PIECE = 500

async function* texts(
  columns: readonly string[],
  first: IteratorResult<readonly JsonObject[]>,
  reading: AsyncIterator<readonly JsonObject[]>,
): AsyncGenerator<string> {
  yield line(columns)
  try {
    for (let page = first; !page.done; page = await reading.next()) {
      for (let at = 0; at < page.value.length; at += PIECE) {
        const rows = page.value.slice(at, at + PIECE)
        yield rows.map((row) => line(columns.map((column) => row[column]))).join('')
        // A caller that is fast would have all of them written in one turn of the event loop.
        await nextTurn()
      }
    }
  } finally {
    // The caller may have left: nothing more is read for it.
    await reading.return?.()
  }
}

/** @param path of the list. @param withHead true for the line of names before the rows. @throws TypeError for a path that has no such list. */
export function csvText(path: string, rows: readonly JsonObject[], withHead: boolean): string {
  const list = LISTS[path]
  if (!list) throw new TypeError(`${path} has no form as CSV`)
  const lines = rows.map((row) => line(list.columns.map((column) => row[column])))
  return [...(withHead ? [line(list.columns)] : []), ...lines].join('')
}

const line = (values: readonly (Json | undefined)[]): string => `${values.map(cell).join(',')}\r\n`

/**
 * A text that a spreadsheet would take for a formula gets an apostrophe before it (OWASP, "CSV Injection"; ASVS 5.0, 1.2.10). Numbers
 * stay as they are.
 */
function cell(value: Json | undefined): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : Array.isArray(value) && !value.some(isObject) ? value.join(' ') : JSON.stringify(value)
  const safe = /^[=+\-@\t\r\n\0＝＋－＠]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

const rowsOf = ({ body: { data } }: ApiReply): JsonObject[] => (Array.isArray(data) ? data.filter(isObject) : [])

async function* once(read: () => Promise<ApiReply>): Pages {
  yield rowsOf(await read())
}

const MOST_ROWS = 1_000_000_000
/** Generations in one page of the search at most. */
const MOST_FOUND = 200

interface PagedRead {
  /** Rows of one page at most. */
  readonly most: number
  readonly read: (query: URLSearchParams) => Promise<ApiReply>
  readonly source: CsvSource
}

/** All rows, or as many as `limit` says. Edges of the period that the first page has found hold for all. */
async function* byOffset(query: URLSearchParams, { most, read, source }: PagedRead): Pages {
  let left = integerOf(query, 'limit', 1, MOST_ROWS) ?? Number.POSITIVE_INFINITY
  let offset = integerOf(query, 'offset', 0, Number.MAX_SAFE_INTEGER) ?? 0
  const wanted = new URLSearchParams(query)
  for (let isFirst = true; left > 0; isFirst = false) {
    const size = Math.min(most, left)
    wanted.set('offset', String(offset))
    wanted.set('limit', String(size))
    const reply = await patiently(() => read(wanted), source, isFirst)
    for (const edge of ['since', 'until']) if (typeof reply.body[edge] === 'string') wanted.set(edge, reply.body[edge])
    const rows = rowsOf(reply)
    yield rows
    if (rows.length < size) return
    offset += rows.length
    left -= rows.length
  }
}

/** As `byOffset`, each page behind the one before. */
async function* byCursor(query: URLSearchParams, { most, read, source }: PagedRead): Pages {
  let left = integerOf(query, 'limit', 1, MOST_ROWS) ?? Number.POSITIVE_INFINITY
  const wanted = new URLSearchParams(query)
  for (let isFirst = true; left > 0; isFirst = false) {
    wanted.set('limit', String(Math.min(most, left)))
    const reply = await patiently(() => read(wanted), source, isFirst)
    for (const edge of ['since', 'until']) if (typeof reply.body[edge] === 'string') wanted.set(edge, reply.body[edge])
    const rows = rowsOf(reply)
    if (rows.length > 0 || isFirst) yield rows
    const { next } = reply.body
    if (typeof next !== 'string') return
    wanted.set('cursor', next)
    wanted.delete('offset')
    left -= rows.length
  }
}

/** Milliseconds between two tries, and how many of them: the ledger lets few searches run at once. */
const PAUSE = 250
const MOST_TRIES = 60

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
async function patiently(read: () => Promise<ApiReply>, { clock, scans }: CsvSource, isFirst: boolean): Promise<ApiReply> {
  for (let tries = 1; ; tries++) {
    try {
      return await inTurn(scans, read)
    } catch (thrown) {
      if (isFirst || tries >= MOST_TRIES || asFault(thrown).code !== 'unavailable') throw thrown
      await new Promise<void>((resolve) => void clock.after(PAUSE, resolve))
    }
  }
}
