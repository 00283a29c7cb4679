/** Fetches a provider's list of models and its description of itself; never during a request. */
import type { Agent, IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isObject, type JsonObject, parseJson } from '../../core/json.ts'
import { request as requestHttp } from '../../core/node-http.ts'
import { Pieces } from '../../core/pieces.ts'
import type { Provider } from '../../routing/catalog/types.ts'

/** Headers of one call: name, value, name, value. */
export type HeadersFor = (call: { method: string; origin: string; path: string; body: string }) => readonly string[]

/** Call of a provider for its list. */
export interface ListingWay {
  /** Those of a call to the provider. */
  readonly headers: HeadersFor
  /** Makes the connection to an origin. */
  readonly agent: (origin: string) => Agent
}

const TIMEOUT_MS = 2000
const LONGEST = 8 * 1024 * 1024

/** The provider answers with something that is no list. */
export class ListingError extends Error {
  readonly status: number

  constructor(status: number) {
    super(`unexpected answer with status ${status}`)
    this.status = status
  }
}

/**
 * `GET {base}{path}`.
 * @param base where it is not the provider's base URL.
 * @throws where the provider does not answer in time, or the answer is no JSON object.
 */
export function fetchListing(provider: Provider, path: string, way: ListingWay, base = provider.baseUrl ?? ''): Promise<JsonObject> {
  return requestJson(listingAddress(provider, base, path), way)
}

export interface ServerQuestion {
  /** Under the root of the server: the base URL without the `/v1` at its end. */
  path: string
  /** Makes it a POST. */
  body?: JsonObject | undefined
}

/** Fetches what the server states about itself. As `fetchListing` otherwise. */
export function askServer(provider: Provider, { path, body }: ServerQuestion, way: ListingWay): Promise<JsonObject> {
  return requestJson(listingAddress(provider, (provider.baseUrl ?? '').replace(/\/v1\/*$/, ''), path), way, body)
}

function listingAddress(provider: Provider, base: string, path: string): URL {
  const url = new URL(base.replace(/\/+$/, '') + path)
  if (provider.query !== undefined) for (const [name, value] of new URLSearchParams(provider.query)) url.searchParams.set(name, value)
  return url
}

async function requestJson(url: URL, { headers, agent }: ListingWay, fields?: JsonObject): Promise<JsonObject> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const body = fields === undefined ? undefined : JSON.stringify(fields)
  const length = body === undefined ? [] : ['content-length', String(Buffer.byteLength(body))]
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps : requestHttp
    // A list of headers is sent as it is: nothing is added to it, not even the host.
    const method = body === undefined ? 'GET' : 'POST'
    const all = ['host', url.host, ...headers({ method, origin: url.origin, path: url.pathname + url.search, body: body ?? '' }), ...length]
    const outgoing = request(url, { method, headers: all, signal, agent: agent(url.origin) }, resolve)
    outgoing.on('error', reject).end(body)
  })
  const pieces = new Pieces()
  for await (const chunk of response as AsyncIterable<Buffer>) {
    pieces.push(chunk)
    if (pieces.size > LONGEST) throw new Error('the list of models is too long')
  }
  const { statusCode: status } = response
  if (status !== 200) throw new ListingError(status ?? 0)
  const listing = parseJson(pieces.take().toString('utf8'))
  if (!isObject(listing)) throw new ListingError(status)
  return listing
}
