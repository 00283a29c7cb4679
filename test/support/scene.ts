/** A gateway in front of one scripted provider, on a clock that stands still: where most tests begin. */
import type { Test } from 'tap'
import type { Clock } from '../../src/core/clock.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { GenerationRecord } from '../../src/ledger/types.ts'
import { FakeClock } from './clock.ts'
import { type Gateway, type GatewayOptions, oneModel, startGateway } from './gateway.ts'
import { type Client, PATHS, questionFor } from './providers.ts'
import { type Script, startUpstream, type Upstream } from './upstream.ts'
import { says } from './wire.ts'

export interface Scene<SomeClock = FakeClock> {
  readonly clock: SomeClock
  readonly gateway: Gateway
  readonly upstream: Upstream
  /** Asks `acme/one` with the key of the test; the members of `more` are added to the least that the operation takes. */
  ask(more?: JsonObject, client?: Client, headers?: Record<string, string>): Promise<Response>
  /** Rows of the ledger. */
  rows(): GenerationRecord[]
}

export interface SceneOptions<SomeClock = FakeClock> extends Omit<GatewayOptions, 'clock'> {
  /** Behaviour of the provider; it says `fine` where absent. */
  answer?: Script | undefined
  /** The whole configuration, of the provider's address. Where absent there is one provider, `first`, with one model, `acme/one`. */
  config?: (url: string) => string
  /** YAML beside the one model. */
  yaml?: string
  /** Of the one provider; `openai-chat` where absent. */
  dialect?: string
  /** Further settings of the one provider, model and endpoint, as YAML. */
  provider?: string
  model?: string
  endpoint?: string | undefined
  clock?: SomeClock | undefined
}

/** Starts both; they stop when `t` ends. */
export async function startScene<SomeClock extends Clock = FakeClock>(
  t: Test,
  options: SceneOptions<SomeClock> = {},
): Promise<Scene<SomeClock>> {
  const { answer = says({ text: ['fine'] }), config, yaml = '', dialect = 'openai-chat', provider, model, endpoint, ...rest } = options
  const clock = (options.clock ?? new FakeClock()) as SomeClock
  const upstream = await startUpstream(answer)
  t.teardown(() => upstream.close())
  const more = { ...(provider && { provider }), ...(model && { model }), endpoint }
  const text = config?.(upstream.url) ?? `${yaml}\n${oneModel(upstream.url, dialect, more)}`
  const gateway = await startGateway(text, { ...rest, clock })
  t.teardown(() => gateway.close())
  return {
    clock,
    gateway,
    upstream,
    ask: (more = {}, client = 'chat', headers) => gateway.post(PATHS[client], { ...questionFor(client), ...more }, headers),
    rows: () => [...gateway.running.store.journal.export()],
  }
}
