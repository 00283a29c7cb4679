/** Sends recorded requests through the gateway and shows what arrives at the provider. */
import type { JsonObject } from '../../src/core/json.ts'
import { object } from '../support/fold.ts'
import type { Gateway } from '../support/gateway.ts'
import type { Upstream } from '../support/upstream.ts'
import { says } from '../support/wire.ts'
import { type Client, wireClient } from './callers.ts'
import type { Exchange } from './cassettes.ts'

export interface Sent {
  status: number
  /** Answer of the gateway. */
  reply: string
  /** The body that the provider received; undefined where none came. */
  arrived: JsonObject | undefined
  path: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** The identifier of the generation, for its record. */
  id: string
}

export interface Scene {
  gateway: Gateway
  upstream: Upstream
}

/** Headers of a recorded request that reach the provider (docs/dialects.md, `anthropic`). */
const PASSED = ['anthropic-beta']

/** Sends a body in a client format to one model. */
export async function send(
  { gateway, upstream }: Scene,
  client: Client,
  body: JsonObject,
  headers: Record<string, string> = {},
): Promise<Sent> {
  upstream.script = says({ text: ['Fine.'] })
  const before = upstream.requests.length
  const response = await gateway.post(client.path, body, headers)
  const reply = await response.text()
  const seen = upstream.requests.length > before ? upstream.requests.at(-1) : undefined
  return {
    status: response.status,
    reply,
    arrived: seen?.json,
    path: seen?.path ?? '',
    headers: seen?.headers ?? {},
    id: response.headers.get('x-generation-id') ?? '',
  }
}

/** The caller of a recorded request, where its format is one of the gateway's. */
export const exchangeCaller = ({ wire }: Exchange): Client | undefined => wireClient(wire)

export function passedHeaders({ requestHeaders }: Exchange): Record<string, string> {
  return Object.fromEntries(PASSED.flatMap((name) => (requestHeaders[name] ? [[name, requestHeaders[name]]] : [])))
}

/** Parameters that the record of a generation lists as left out. */
export async function generationDropped({ gateway }: Scene, id: string): Promise<string[]> {
  const found = (await (await gateway.get(`/v1/generation?id=${id}`)).json()) as JsonObject
  const [first] = (object(found.data).provider_responses ?? []) as JsonObject[]
  return Array.isArray(first?.dropped) ? first.dropped.map(String) : []
}
