/** Asks a provider for its list of models, off every request's path. */
import { get as getHttp, type IncomingMessage } from 'node:http'
import { get as getHttps } from 'node:https'
import type { Provider } from '../catalog/types.ts'
import { isObject, type JsonObject } from '../core/json.ts'

const PATIENCE = 2000
const LONGEST = 8 * 1024 * 1024

/**
 * `GET {base_url}{path}`.
 * @param headers those of every call to the provider: name, value, name, value.
 * @throws where nobody answers in time, or the answer is no JSON object.
 */
export async function fetchListing(provider: Provider, path: string, headers: readonly string[]): Promise<JsonObject> {
  const url = new URL((provider.baseUrl ?? '').replace(/\/+$/, '') + path)
  if (provider.query !== undefined) for (const [name, value] of new URLSearchParams(provider.query)) url.searchParams.set(name, value)
  const signal = AbortSignal.timeout(PATIENCE)
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const get = url.protocol === 'https:' ? getHttps : getHttp
    get(url, { headers: [...headers], signal, agent: false }, resolve).on('error', reject)
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
