/** Every client format against every provider format: one provider that speaks all wires, and a gateway for each lane. */
import type { Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import type { FoldedReply } from '../fold.ts'
import { object } from '../fold.ts'
import { type Gateway, KEY, startGateway } from '../gateway.ts'
import { countLane, type Lane, lanesBetween } from '../lanes.ts'
import { type Script, type Seen, startUpstream, type Upstream } from '../upstream.ts'
import { type AnyWireName, WIRES, type WireName } from '../wire.ts'
import { CLIENTS, type Client } from './clients.ts'

/** USD per million tokens. */
export const PRICES = { prompt: 1, completion: 2, cached: 0.1, cache_write: 1.25, cache_write_1h: 3 }

export const WIRE_NAMES = Object.keys(WIRES) as WireName[]

/** The model that a provider of this wire serves. */
export const wireModel = (wire: AnyWireName): string => `acme/${wire}`

const yaml = (url: string, wires: readonly AnyWireName[]): string => {
  const price = Object.entries(PRICES)
    .map(([name, value]) => `${name}: "${value}"`)
    .join(', ')
  return `
# Requests name files, stores and containers that were made at the provider.
auth: { keys: [ { name: test, key: "${KEY}", provider_ids: [ "*" ] } ] }
prompts:
  stored: { messages: [ { role: user, content: "Say {{what}} to {{whom}} about {{picture}} and {{paper}}." } ] }
providers:
${wires.map((wire) => `  ${wire}: { name: ${wire}, dialect: ${wire}, base_url: "${url}/${wire}", key: "sk-provider-secret" }`).join('\n')}
models:
${wires
  .map(
    (wire) => `  ${wireModel(wire)}:
    context: 128000
    max_output: 64000
    input: [ text, image, file, audio, video ]
    output: [ text, image, audio ]
    endpoints: [ { provider: ${wire}, model: upstream-model, price: { ${price} } } ]`,
  )
  .join('\n')}
`
}

/** One client, one wire, one lane. */
export interface Cell<W extends AnyWireName = WireName> {
  readonly name: string
  readonly client: Client
  readonly wire: W
  readonly lane: Lane
  readonly upstream: Upstream
  /** Posts this body for the wire's model. */
  ask(body: JsonObject, headers?: Record<string, string>): Promise<Response>
  /** The last request that the provider saw. */
  seen(): Seen
  /** The record of the exchange that this reply ended. */
  generation(response: Response): Promise<JsonObject>
}

export interface Field<W extends AnyWireName = WireName> {
  readonly upstream: Upstream
  readonly cells: readonly Cell<W>[]
  gateway(lane: Lane): Gateway
}

/** Starts a gateway per lane before one provider; they stop when `root` ends. */
export function startField(root: Test): Promise<Field> {
  return startWires(root, WIRE_NAMES)
}

/** The same for these formats of providers. */
export async function startWires<W extends AnyWireName>(root: Test, wires: readonly W[]): Promise<Field<W>> {
  const upstream = await startUpstream(() => ({ status: 500 }))
  root.teardown(() => upstream.close())
  const gateways = new Map<Lane, Gateway>()
  for (const lane of ['pass', 'observe', 'translate'] as const) {
    const gateway = await startGateway(yaml(upstream.url, wires), { lane })
    root.teardown(() => gateway.close())
    gateways.set(lane, gateway)
  }
  const gateway = (lane: Lane): Gateway => gateways.get(lane) as Gateway
  const cells = CLIENTS.flatMap((client) =>
    wires.flatMap((wire) =>
      lanesBetween(client.id, wire).map((lane): Cell<W> => {
        const ask: Cell['ask'] = (body, headers) => {
          countLane(root, lane)
          return gateway(lane).post(client.path, { model: wireModel(wire), ...body }, headers)
        }
        const seen = (): Seen => {
          const last = upstream.requests.at(-1)
          if (!last) throw new Error('the provider saw nothing')
          return last
        }
        const generation: Cell['generation'] = async (response) => {
          const id = response.headers.get('x-generation-id')
          const found = await gateway(lane).get(`/v1/generation?id=${id}`)
          return object(((await found.json()) as JsonObject).data)
        }
        return { name: `${client.id} → ${wire} (${lane})`, client, wire, lane, upstream, ask, seen, generation }
      }),
    ),
  )
  return { upstream, cells, gateway }
}

export interface Told {
  whole: FoldedReply
  stream: FoldedReply
  /** The whole reply as it came. */
  reply: JsonObject
  /** Requests that the provider saw, for the whole and for the streamed request. */
  seen: [whole: Seen, stream: Seen]
  generations: [whole: JsonObject, stream: JsonObject]
}

/** Asks the same twice, whole and streamed. @throws Error where a status is not 200. */
export async function tell(cell: Cell, script: Script, body: JsonObject): Promise<Told> {
  cell.upstream.script = script
  const whole = await cell.ask(body)
  const text = await whole.text()
  if (whole.status !== 200) throw new Error(`${cell.name}: ${whole.status} ${text}`)
  const seenWhole = cell.seen()
  const streamed = await cell.ask({ ...body, stream: true })
  const stream = await streamed.text()
  if (streamed.status !== 200) throw new Error(`${cell.name}: ${streamed.status} ${stream}`)
  const reply = JSON.parse(text) as JsonObject
  return {
    reply,
    whole: cell.client.fold(reply),
    stream: cell.client.foldStream(stream),
    seen: [seenWhole, cell.seen()],
    generations: [await cell.generation(whole), await cell.generation(streamed)],
  }
}
