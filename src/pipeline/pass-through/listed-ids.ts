/**
 * Lists of the pass-through show what the account of the provider has, whichever key has made it. What was given to another key is left out
 * of them (docs/decisions/0067-lists-of-the-pass-through.md).
 */
import type { IncomingHttpHeaders } from 'node:http'
import { Fault } from '../../core/faults.ts'
import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { ListedPages, Page } from '../../services/upstream/pass-through.ts'
import { idsOfEntry } from './id-forms.ts'
import { type IdHolder, type IdRows, ownedIds } from './id-owners.ts'

/** Pages of which a reply may be the first with something in it. */
const MAX_PAGES = 50

/** Members with the address of the next page, and the parameter that takes it: Gemini's API and those of Anthropic and xAI. */
const TOKENS = [
  ['nextPageToken', 'pageToken'],
  ['next_page', 'page'],
  ['pagination_token', 'pagination_token'],
] as const

/** Other forms of a reply, and parts of one, at Google (cloud.google.com, system parameters). */
const FORMS = /^\$?(?:alt|callback)$/
const PARTS = /^\$?fields$/

export class ListedIds implements ListedPages {
  private readonly rows: IdRows
  private readonly holder: IdHolder
  private readonly headers: IncomingHttpHeaders
  private pages = 0

  /** @param headers of the request. @throws Fault 400 for a form of the reply in which no list is recognised. */
  constructor(rows: IdRows, holder: IdHolder, { headers, path }: { headers: IncomingHttpHeaders; path: string }) {
    this.rows = rows
    this.holder = holder
    this.headers = headers
    for (const [name, value] of pathQuery(path))
      if (FORMS.test(name) && !/^(?:json|media)\b/.test(value))
        throw new Fault('bad_request', {
          message: `${name}: expected none, or alt=json: in no other form its entries have an owner`,
        })
  }

  async read(bytes: Buffer, path: string): Promise<Page> {
    const reply = parsed(bytes)
    // A single value is no list, and nothing may be JSON's reply to what was taken.
    if (typeof reply !== 'object' || reply === null) return { bytes }
    const entries = entriesIn(reply)
    const { others } = await ownedIds(this.rows, this.holder, new Set(entries.flatMap(idsOfEntry)))
    if (this.isPartial(path) && entries.some((entry) => idsOfEntry(entry).length === 0))
      throw new Fault('bad_request', { message: 'fields: expected the name of each entry among them, which says by whom it was made' })
    if (others.size === 0) return { bytes }
    const shown = without(reply, others)
    const list = replyList(shown)
    if (list.length > 0) return { bytes: written(shown, list, others) }
    const next = nextPath(path, reply, this.headers)
    if (next === undefined) return { bytes: written(shown, list, others) }
    if (next === 'unknown' || ++this.pages >= MAX_PAGES)
      throw new Fault('bad_request', {
        message: `This page of the list has only what other keys have made${next === 'unknown' ? '' : `, and ${MAX_PAGES - 1} behind it`}; ask for longer pages (limit, pageSize, page_size)`,
      })
    return { next }
  }

  private isPartial(path: string): boolean {
    return this.headers['x-goog-fieldmask'] !== undefined || [...pathQuery(path).keys()].some((name) => PARTS.test(name))
  }
}

const pathQuery = (path: string): URLSearchParams => new URL(`http://provider${path}`).searchParams

/** @returns null where nothing came. @throws Fault 502 for what is no whole JSON: it may be a part of a list. */
function parsed(bytes: Buffer): Json {
  try {
    const text = bytes.toString('utf8')
    return text.trim() === '' ? null : (JSON.parse(text) as Json)
  } catch (cause) {
    throw new Fault('upstream_garbled', { cause })
  }
}

/** Elements of every list in a reply. */
function entriesIn(reply: Json): JsonObject[] {
  const found: JsonObject[] = []
  const rest: Json[] = [reply]
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    if (Array.isArray(value)) found.push(...asObjects(value))
    for (const each of Array.isArray(value) ? value : Object.values(value as JsonObject))
      if (typeof each === 'object' && each !== null) rest.push(each)
  }
  return found
}

function without(value: Json, others: ReadonlySet<string>): Json {
  if (Array.isArray(value))
    return value.filter((each) => !(isObject(each) && idsOfEntry(each).some((id) => others.has(id)))).map((each) => without(each, others))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, each === undefined ? each : without(each, others)]))
}

/** The entries that a page is made of. */
function replyList(reply: Json): readonly JsonObject[] {
  if (Array.isArray(reply)) return asObjects(reply)
  const list = isObject(reply) ? Object.values(reply).find(Array.isArray) : undefined
  return asObjects(list)
}

/** @param list of the reply: the ends of a page are those of what it shows. */
function written(reply: Json, list: readonly JsonObject[], others: ReadonlySet<string>): Buffer {
  const ends: JsonObject = {}
  if (isObject(reply))
    for (const [name, entry] of [
      ['first_id', list[0]],
      ['last_id', list.at(-1)],
    ] as const) {
      const id = reply[name]
      if (typeof id === 'string' && others.has(id)) ends[name] = entry?.id ?? null
    }
  return Buffer.from(JSON.stringify(isObject(reply) ? { ...reply, ...ends } : reply))
}

/** @returns undefined where there is none, `unknown` where nothing names it. */
function nextPath(path: string, reply: Json, headers: IncomingHttpHeaders): string | undefined {
  if (!isObject(reply)) return undefined
  for (const [member, name] of TOKENS) {
    const token = reply[member]
    if (typeof token === 'string' && token !== '') return withParameter(path, name, token)
  }
  const list = replyList(reply)
  if (reply.has_more !== true) return typeof reply.total === 'number' && reply.total > list.length ? 'unknown' : undefined
  // Parameters of Anthropic's API have another name (types of @anthropic-ai/sdk 1.14.0 and openai 7.59.0).
  const end = headers['anthropic-version'] === undefined ? '' : '_id'
  const isBackwards = pathQuery(path).has(`before${end}`)
  const cursor = isBackwards ? (reply.first_id ?? list[0]?.id) : (reply.last_id ?? list.at(-1)?.id)
  return typeof cursor === 'string' ? withParameter(path, `${isBackwards ? 'before' : 'after'}${end}`, cursor) : 'unknown'
}

function withParameter(path: string, name: string, value: string): string {
  const [pathname = ''] = path.split('?', 1)
  const query = pathQuery(path)
  query.set(name, value)
  return `${pathname}?${query}`
}
