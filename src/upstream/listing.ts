/** Asks a provider for its list of models, off every request's path. */
import { request } from 'undici'
import type { Provider } from '../catalog/types.ts'
import { isObject, type JsonObject } from '../core/json.ts'

const PATIENCE = 2000
const LONGEST = 8 * 1024 * 1024

/** `GET {base_url}/models`. @throws where nobody answers in time, or the answer is no JSON object. */
export async function fetchListing(provider: Provider): Promise<JsonObject> {
  const url = `${(provider.baseUrl ?? '').replace(/\/+$/, '')}/models`
  const headers = { ...(provider.key === undefined ? undefined : { authorization: `Bearer ${provider.key}` }), ...provider.headers }
  const { statusCode, body } = await request(url, { headers, signal: AbortSignal.timeout(PATIENCE), headersTimeout: PATIENCE })
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > LONGEST) throw new Error('the list of models is too long')
    chunks.push(chunk)
  }
  const listing: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
  if (statusCode !== 200 || !isObject(listing)) throw new Error(`unexpected answer with status ${statusCode}`)
  return listing
}
