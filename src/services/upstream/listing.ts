/** Fetches a provider's list of models and its description of itself; never during a request. */
import type { IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isObject, type JsonObject } from '../../core/json.ts'
import { request as requestHttp } from '../../core/node-http.ts'
import type { Provider } from '../../routing/catalog/types.ts'

const PATIENCE = 2000
const LONGEST = 8 * 1024 * 1024

/**
 * `GET {base_url}{path}`.
 * @param headers those of every call to the provider: name, value, name, value.
 * @throws where the provider does not answer in time, or the answer is no JSON object.
 */
export function fetchListing(provider: Provider, path: string, headers: readonly string[]): Promise<JsonObject> {
  return requestJson(addressOf(provider, provider.baseUrl ?? '', path), headers)
}

export interface ServerQuestion {
  /** Under the root of the server: the base URL without the `/v1` at its end. */
  path: string
  /** Makes it a POST. */
  body?: JsonObject | undefined
}

/** Fetches what the server states about itself. As `fetchListing` otherwise. */
export function askServer(provider: Provider, { path, body }: ServerQuestion, headers: readonly string[]): Promise<JsonObject> {
  return requestJson(addressOf(provider, (provider.baseUrl ?? '').replace(/\/v1\/*$/, ''), path), headers, body)
}

function addressOf(provider: Provider, base: string, path: string): URL {
  const url = new URL(base.replace(/\/+$/, '') + path)
  if (provider.query !== undefined) for (const [name, value] of new URLSearchParams(provider.query)) url.searchParams.set(name, value)
  return url
}

async function requestJson(url: URL, headers: readonly string[], fields?: JsonObject): Promise<JsonObject> {
  const signal = AbortSignal.timeout(PATIENCE)
  const body = fields === undefined ? undefined : JSON.stringify(fields)
  const length = body === undefined ? [] : ['content-length', String(Buffer.byteLength(body))]
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps : requestHttp
    // A list of headers is sent as it is: nothing is added to it, not even the host.
    const all = ['host', url.host, ...headers, ...length]
    const outgoing = request(url, { method: body === undefined ? 'GET' : 'POST', headers: all, signal, agent: false }, resolve)
    outgoing.on('error', reject).end(body)
  })
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > LONGEST) throw new Error('the list of models is too long')
    chunks.push(chunk)
  }
  const listing: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
  if (response.statusCode !== 200 || !isObject(listing)) throw new Error(`unexpected answer with status ${response.statusCode}`)
  return listing
}
