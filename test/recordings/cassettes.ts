/**
 * The recordings of real provider traffic: YAML cassettes that the tests of pydantic-ai made (MIT licence, Copyright Pydantic
 * Services Inc.). They are no part of the repository. They are read from the folder that HEADGATE_RECORDINGS names, else from
 * `shared/recordings` beside the checkout.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { EVENT_STREAM_TYPE } from '../support/event-stream.ts'
import type { AnyWireName } from '../support/wire.ts'

/** One request of a generation, and what the provider answered. */
export interface Exchange {
  /** `folder/file` without its ending. */
  readonly cassette: string
  /** Its position among the interactions of the cassette, from 0. */
  readonly index: number
  readonly wire: AnyWireName
  readonly host: string
  /** Of the request, with names in lower case. */
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly request: JsonObject
  /** As the provider calls it, in the body or in the path. */
  readonly model: string
  readonly status: number
  /** Of the response, without those that describe one connection or one coding of the body. */
  readonly headers: Readonly<Record<string, string>>
  /** The body as the provider sent it; of a binary stream, one character for each byte. */
  readonly body: string
  /** True where the body is binary. */
  readonly binary: boolean
  readonly streamed: boolean
}

export interface Recordings {
  readonly exchanges: readonly Exchange[]
  /** Number of interactions that are not replayed, by reason. */
  readonly skipped: ReadonlyMap<string, number>
}

interface Side {
  headers?: Record<string, string | string[]>
  body?: Json
  parsed_body?: Json
}

interface Interaction {
  request?: Side & { method?: string; uri?: string }
  response?: Side & { status?: { code?: number } }
}

/** @returns undefined where the machine does not have the folder. */
export function recordingsFolder(): string | undefined {
  const named = process.env.HEADGATE_RECORDINGS
  if (named !== undefined && named !== '') return existsSync(named) ? named : undefined
  const beside = resolve(import.meta.dirname, '../../..', 'shared', 'recordings')
  return existsSync(beside) ? beside : undefined
}

/** Headers of one connection (RFC 9110 §7.6.1), and those that no longer fit a body that was decoded. */
const HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'content-encoding', 'upgrade', 'trailer'])

function sideHeaders(side: Side): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(side.headers ?? {}))
    if (!HOP.has(name.toLowerCase())) headers[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : String(value)
  return headers
}

/** Other models have bodies of their own. */
const CLAUDE_INVOKED = /\/model\/[^/]*claude[^/]*\/invoke$/

/** Operations of generations by the end of their path. */
const OPERATIONS: readonly (readonly [RegExp, AnyWireName])[] = [
  [/\/model\/[^/]+\/converse(-stream)?$/, 'bedrock-converse'],
  [CLAUDE_INVOKED, 'bedrock-anthropic'],
  [/\/chat\/completions$/, 'openai-chat'],
  [/\/responses$/, 'openai-responses'],
  [/\/v1\/messages$/, 'anthropic'],
  [/:(stream)?generateContent$/i, 'gemini'],
]

/** The wire of a request, or the reason why it is not replayed. */
function urlOperation(method: string, url: URL): { wire: AnyWireName } | { skip: string } {
  if (/\/model\/[^/]+\/invoke$/.test(url.pathname) && !CLAUDE_INVOKED.test(url.pathname)) return { skip: 'InvokeModel of other models' }
  if (/embed(dings|ContentS?)?$/i.test(url.pathname) || /embedContent/i.test(url.pathname)) return { skip: 'embeddings' }
  if (/count_?tokens$|\/input_tokens$|\/tokenize$/i.test(url.pathname)) return { skip: 'a count of tokens' }
  if (url.pathname.endsWith('/responses/compact')) return { skip: 'a compaction of its own operation' }
  if (url.hostname === 'api.cohere.com') return { skip: 'Cohere’s own chat format' }
  const operation = method === 'POST' ? OPERATIONS.find(([path]) => path.test(url.pathname)) : undefined
  return operation ? { wire: operation[1] } : { skip: 'no generation (files, conversations, stores, downloads, tokens)' }
}

function bodyString(body: Json | undefined): string | undefined {
  if (typeof body === 'string') return body
  const inner: unknown = typeof body === 'object' && body !== null && !Array.isArray(body) ? body.string : undefined
  if (inner instanceof Uint8Array) return Buffer.from(inner).toString('latin1')
  return typeof inner === 'string' ? inner : undefined
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    // One cassette has lost parts of a long text.
    return undefined
  }
}

function sideRequest(side: Side): JsonObject | undefined {
  const body = side.parsed_body ?? side.body
  const value = typeof body === 'string' ? parsed(body) : body
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
}

function requestModel(request: JsonObject, url: URL): string {
  if (typeof request.model === 'string') return request.model
  return decodeURIComponent(/\/model\/([^/]+)\//.exec(url.pathname)?.[1] ?? '')
}

function toExchange(interaction: Interaction, cassette: string, index: number): Exchange | { skip: string } {
  const { request, response } = interaction
  if (!request || !response) return { skip: 'gRPC of another SDK' }
  const url = new URL(request.uri ?? '')
  const operation = urlOperation((request.method ?? '').toUpperCase(), url)
  if ('skip' in operation) return operation
  const body = bodyString(response.body) ?? (response.parsed_body === undefined ? undefined : JSON.stringify(response.parsed_body))
  const asked = sideRequest(request)
  if (body === undefined || asked === undefined) return { skip: 'a body that was not kept' }
  const headers = sideHeaders(response)
  const type = headers['content-type'] ?? ''
  return {
    cassette,
    index,
    wire: operation.wire,
    host: url.hostname,
    requestHeaders: sideHeaders(request),
    request: asked,
    model: requestModel(asked, url),
    status: response.status?.code ?? 0,
    headers,
    body,
    binary: type.startsWith(EVENT_STREAM_TYPE),
    streamed: type.startsWith('text/event-stream') || type.startsWith(EVENT_STREAM_TYPE),
  }
}

/** All cassettes of the folder, as a flat list. */
export function readRecordings(folder: string): Recordings {
  const exchanges: Exchange[] = []
  const skipped = new Map<string, number>()
  for (const file of globSync('*/*.yaml', { cwd: folder }).sort()) {
    const { interactions = [] } = parse(readFileSync(join(folder, file), 'utf8')) as { interactions?: Interaction[] }
    const cassette = file.replaceAll('\\', '/').replace(/(\.xai)?\.yaml$/, '')
    for (const [index, interaction] of interactions.entries()) {
      const exchange = toExchange(interaction, cassette, index)
      if ('skip' in exchange) skipped.set(exchange.skip, (skipped.get(exchange.skip) ?? 0) + 1)
      else exchanges.push(exchange)
    }
  }
  return { exchanges, skipped }
}

export const exchangeName = ({ cassette, index }: Exchange): string => `${cassette} #${index}`
