/** One gateway per allowed lane of a client dialect, each with an upstream of its own: contract tests run over all. */
import OpenAI from 'openai'
import type { Test } from 'tap'
import { every } from './every.ts'
import { type Gateway, type GatewayOptions, oneModel, startGateway } from './gateway.ts'
import { countLane, type Lane, lanesBetween } from './lanes.ts'
import { type Script, startUpstream, type Upstream } from './upstream.ts'

export const DIALECTS = ['openai-chat', 'openai-responses'] as const

export interface Rig {
  /** `openai-chat in lane pass`. */
  name: string
  dialect: string
  lane: Lane
  upstream: Upstream
  gateway: Gateway
  /** The official SDK, pointed at this gateway, without retries of its own. */
  openai: OpenAI
}

export interface RigOptions extends GatewayOptions {
  /** YAML before the provider and model. */
  yaml?: string
  /** Arguments of `oneModel`. */
  more?: Parameters<typeof oneModel>[2]
}

/** Starts them all; they stop when `root` ends. */
export async function startRigs(root: Test, client: string, options: RigOptions = {}): Promise<Rig[]> {
  const { yaml = '', more = { model: 'input: [ text, image ]' }, ...rest } = options
  const rigs: Rig[] = []
  for (const dialect of DIALECTS)
    for (const lane of lanesBetween(client, dialect)) {
      const upstream = await startUpstream(() => ({ status: 500 }))
      root.teardown(() => upstream.close())
      const gateway = await startGateway(`${yaml}${oneModel(upstream.url, dialect, more)}`, { ...rest, lane })
      root.teardown(() => gateway.close())
      const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 })
      rigs.push({ name: `${dialect} in lane ${lane}`, dialect, lane, upstream, gateway, openai })
    }
  return rigs
}

/** Runs `body` on every rig with the upstream scripted so; all results must be equal. @returns the one result. */
export async function onEach<Result>(
  { root, t, rigs }: { root: Test; t: Test; rigs: readonly Rig[] },
  script: Script,
  body: (rig: Rig, t: Test) => Promise<Result>,
): Promise<Result> {
  const results: Result[] = []
  await every(t, 'the same in every lane', async (t) => {
    for (const rig of rigs) {
      rig.upstream.script = script
      results.push(await body(rig, t))
      countLane(root, rig.lane)
      t.same(results.at(-1), results[0], `${rig.name} gives what ${rigs[0].name} gives`)
    }
  })
  return results[0]
}

/** The lane of the last exchange, as the gateway's log tells it. */
export function lastLane(gateway: Gateway): string | undefined {
  const line = gateway.logs.findLast((text) => text.includes('"lane"'))
  return line === undefined ? undefined : String((JSON.parse(line) as { lane: unknown }).lane)
}

/** Starts a gateway that chooses its lanes itself. @returns the lane that it took for each upstream dialect. */
export async function chosenLanes(
  script: Script,
  ask: (gateway: Gateway) => Promise<unknown>,
): Promise<Record<string, string | undefined>> {
  const chosen: Record<string, string | undefined> = {}
  for (const dialect of DIALECTS) {
    const upstream = await startUpstream(script)
    const gateway = await startGateway(oneModel(upstream.url, dialect))
    await ask(gateway)
    chosen[dialect] = lastLane(gateway)
    await gateway.close()
    await upstream.close()
  }
  return chosen
}

/** The last request that the upstream has seen. */
export function lastSeen(rig: Rig): Upstream['requests'][number] {
  const seen = rig.upstream.requests.at(-1)
  if (!seen) throw new Error('the upstream saw nothing')
  return seen
}
