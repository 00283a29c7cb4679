/**
 * A provider at which everything belongs to one account: it keeps what is made, lists it in pages, shows it by its id and deletes it, as the
 * APIs of OpenAI, Anthropic and Google do (types of openai 7.59.0, @anthropic-ai/sdk 1.14.0 and @google/genai 3.3.0).
 */
import type { JsonObject } from '../../src/core/json.ts'
import { type Answer, jsonAnswer, type Seen } from './upstream.ts'

type Api = 'openai' | 'anthropic' | 'google'

interface Kept {
  readonly api: Api
  readonly kind: string
  readonly id: string
  readonly thing: JsonObject
}

/** The first letters of ids, by what they name. */
const PREFIXES: Readonly<Record<string, string>> = { files: 'file-', batches: 'batch_', vector_stores: 'vs_', containers: 'cntr_' }

const missing = (): Answer => jsonAnswer({ error: { message: 'the provider does not know it', type: 'invalid_request_error' } }, 404)

function seenApi({ headers }: Seen, version: string): Api {
  // Google's SDK asks for `v1` unless it is told otherwise.
  if (version === 'v1beta' || headers['x-goog-api-client'] !== undefined) return 'google'
  return headers['anthropic-version'] === undefined ? 'openai' : 'anthropic'
}

export class AccountOfAll {
  private readonly kept: Kept[] = []
  private made = 0
  private readonly address: () => string

  /** @param address of the provider. */
  constructor(address: () => string) {
    this.address = address
  }

  readonly answer = (seen: Seen): Answer => {
    const { pathname, searchParams } = new URL(seen.path, 'http://provider')
    const [version = '', kind = '', id, more] = pathname.split('/').filter((part) => part !== '')
    if (version === 'upload') return this.upload(searchParams)
    const api = seenApi(seen, version)
    if (api === 'google' && kind === 'models') return jsonAnswer(GEMINI_REPLY)
    if (kind === 'messages') return jsonAnswer(MESSAGE)
    if (kind === 'responses') return jsonAnswer({ id: this.nextId('resp_'), ...RESPONSE })
    if (id === undefined) return jsonAnswer(seen.method === 'POST' ? this.make(api, kind) : this.list(api, kind, searchParams))
    const at = this.kept.findIndex((each) => each.api === api && each.id === (api === 'google' ? `${kind}/${id}` : id))
    const kept = this.kept[at]
    if (!kept) return missing()
    if (more === 'content') return { headers: { 'content-type': 'application/octet-stream' }, body: ['the bytes'] }
    if (seen.method !== 'DELETE') return jsonAnswer(kept.thing)
    this.kept.splice(at, 1)
    return jsonAnswer({ id: kept.id, deleted: true, type: 'file_deleted', object: 'file' })
  }

  private nextId(prefix: string): string {
    return `${prefix}${String(++this.made).padStart(8, '0')}`
  }

  private make(api: Api, kind: string): JsonObject {
    const id = this.nextId(api === 'google' ? `${kind}/a` : api === 'anthropic' ? 'file_' : (PREFIXES[kind] ?? 'thing_'))
    const named = { name: id, uri: `https://google/v1beta/${id}`, state: 'ACTIVE' }
    const thing: JsonObject = api === 'google' ? named : { id, object: kind, type: 'file' }
    this.kept.push({ api, kind, id, thing })
    return thing
  }

  private upload(query: URLSearchParams): Answer {
    if (query.has('upload_id')) return jsonAnswer({ file: this.make('google', 'files') }, 200, { 'x-goog-upload-status': 'final' })
    const address = `${this.address()}/upload/v1beta/files?upload_id=abc`
    return jsonAnswer({}, 200, { 'x-goog-upload-url': address, 'x-goog-upload-status': 'active' })
  }

  /** The newest first, as all three have it. */
  private list(api: Api, kind: string, query: URLSearchParams): JsonObject {
    const all = this.kept.filter((each) => each.api === api && each.kind === kind).reverse()
    const most = Number(query.get('limit') ?? query.get('pageSize') ?? 20)
    const token = query.get('pageToken') ?? query.get('page')
    const end = api === 'anthropic' ? '_id' : ''
    const findPlace = (name: string): number => all.findIndex(({ id }) => id === query.get(`${name}${end}`))
    const isBackwards = query.has(`before${end}`)
    const until = isBackwards ? findPlace('before') : all.length
    const from = isBackwards ? Math.max(0, until - most) : token === null ? findPlace('after') + 1 : Number(token)
    const page = all.slice(from, Math.min(until, from + most))
    const isMore = isBackwards ? from > 0 : from + page.length < all.length
    const things = page.map(({ thing }) => thing)
    const next = isMore ? String(from + page.length) : null
    if (api === 'google') return { ...(things.length > 0 ? { [kind]: things } : {}), ...(next === null ? {} : { nextPageToken: next }) }
    const ends = { first_id: page[0]?.id ?? null, last_id: page.at(-1)?.id ?? null }
    // Lists of Anthropic's API have ends, or the name of the next page.
    const isByEnds = api === 'openai' || query.has('after_id') || query.has('before_id') || query.has('ends')
    return { data: things, ...(isByEnds ? { ...ends, has_more: isMore } : { next_page: next }) }
  }
}

const RESPONSE: JsonObject = {
  object: 'response',
  status: 'completed',
  output: [],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
}
const MESSAGE: JsonObject = {
  ...{ id: 'msg_00000001', type: 'message', role: 'assistant', model: 'm', content: [{ type: 'text', text: 'fine' }] },
  ...{ stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 } },
}
const GEMINI_REPLY: JsonObject = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'fine' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
}
