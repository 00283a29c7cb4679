/** One gateway in front of one scripted provider per upstream dialect, shared by the tests of a file. */
import type { Test } from 'tap'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { type Answer, type Seen, startUpstream, type Upstream } from '../../support/upstream.ts'
import { answerFor, type Utterance, upstreamError, type WireName } from '../../support/wire.ts'

/** Every upstream dialect, and the path of its base URL. */
const PATHS: Readonly<Record<WireName, string>> = {
  'openai-chat': '/v1',
  'openai-responses': '/v1',
  anthropic: '',
  gemini: '/v1beta',
}

export const DIALECTS = Object.keys(PATHS) as WireName[]

/** Public slug of the model that is served in this dialect. */
export const dialectModel = (dialect: WireName): string => `via/${dialect}`

type Turn = Utterance | ((seen: Seen) => Answer)

export interface House {
  readonly gateway: Gateway
  /** The provider answers the next requests so, one after the other; a request beyond fails. */
  script(...turns: Turn[]): void
  /** Requests since the last `script`. */
  seen(): readonly Seen[]
}

/** The chat provider is one that takes what others refuse, as aggregators do. */
const QUIRKS: Partial<Record<WireName, string>> = {
  'openai-chat': ', quirks: { reasoning_replay: details, developer: developer, cache_control: true }',
}

/** Providers that stand at one address, and the models that they serve: dialect by slug. */
export function houseConfig(url: string, models: Readonly<Record<string, WireName>>): string {
  const providers = [...new Set(Object.values(models))].map(
    (dialect) => `  ${dialect}: { dialect: ${dialect}, base_url: "${url}${PATHS[dialect]}", key: "sk-provider-secret"${QUIRKS[dialect] ?? ''} }`,
  )
  const served = Object.entries(models).map(
    ([slug, dialect]) => `  ${slug}:
    context: 200000
    max_output: 64000
    input: [ text, image, file ]
    endpoints: [ { provider: ${dialect}, model: upstream-model, price: { prompt: "1.00", completion: "2.00" } } ]`,
  )
  return `providers:\n${providers.join('\n')}\nmodels:\n${served.join('\n')}\n`
}

/** @param yaml lines in front of providers and models. Everything stops when `root` ends. */
export async function startHouse(root: Test, yaml = ''): Promise<House> {
  const upstream: Upstream = await startUpstream(() => ({ status: 500 }))
  root.teardown(() => upstream.close())
  const gateway = await startGateway(
    `${yaml}\n${houseConfig(upstream.url, Object.fromEntries(DIALECTS.map((dialect) => [dialectModel(dialect), dialect])))}`,
  )
  root.teardown(() => gateway.close())
  let first = 0
  return {
    gateway,
    script: (...turns) => {
      first = upstream.requests.length
      upstream.script = (seen, index) => {
        const turn = turns[index - first]
        if (!turn) return upstreamError(400, 'nothing more was scripted')
        return typeof turn === 'function' ? turn(seen) : answerFor(seen, turn)
      }
    },
    seen: () => upstream.requests.slice(first),
  }
}
