/** One gateway in front of as many scripted providers as a test names, all of them serving `acme/one`. */
import type { Test } from 'tap'
import type { Clock } from '../../src/core/clock.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { bodyText } from './body-text.ts'
import { FakeClock } from './clock.ts'
import { type Gateway, startGateway } from './gateway.ts'
import { type Script, startUpstream, type Upstream } from './upstream.ts'
import { says } from './wire.ts'

export const PATHS = { chat: '/v1/chat/completions', responses: '/v1/responses', messages: '/v1/messages' } as const
export type Client = keyof typeof PATHS
export const CLIENTS = Object.keys(PATHS) as Client[]

export interface ProvidersOptions {
  /** Names and slugs; one is enough. */
  providers: readonly string[]
  clock?: Clock
  /** YAML of each provider's endpoint beside provider and model; two-dollar prices where absent. */
  endpoint?: (provider: string) => string
  /** YAML of each provider beside dialect and address. */
  provider?: (provider: string) => string
  /** YAML after `endpoints` of the first model. */
  models?: string
  /** YAML before the providers, such as `auth`. */
  top?: string
}

export interface Providers {
  clock: FakeClock
  gateway: Gateway
  /** By name. */
  upstreams: Readonly<Record<string, Upstream>>
  /** Calls of each provider so far, in the order of the names. */
  calls(): number[]
  /** Makes these providers behave so; all where none is named. */
  script(script: Script, ...names: string[]): void
  /** Puts the sound scripts back. */
  heal(...names: string[]): void
  ask(client: Client, more?: JsonObject, headers?: Record<string, string>): Promise<Response>
  /** Provider that served, by name; else the status. */
  server(client: Client, more?: JsonObject, headers?: Record<string, string>): Promise<string>
}

/** The least that each operation takes. */
export function questionFor(client: Client, content = 'Hello'): JsonObject {
  if (client === 'responses') return { model: 'acme/one', input: content }
  const question: JsonObject = { model: 'acme/one', messages: [{ role: 'user', content }] }
  return client === 'messages' ? { ...question, max_tokens: 100 } : question
}

/** Starts them; all stops when `root` ends. Each sound provider says its own name. */
export async function startProviders(root: Test, options: ProvidersOptions): Promise<Providers> {
  const { providers: names, clock = new FakeClock(7) } = options
  const { endpoint = () => 'price: { prompt: "1.00", completion: "1.00" }', provider = () => '' } = options
  const upstreams: Record<string, Upstream> = {}
  for (const name of names) upstreams[name] = await startUpstream(says({ text: [name] }))
  root.teardown(() => Promise.all(names.map((name) => upstreams[name].close())))
  const list = names.map((name) => `  ${name}: { dialect: openai-chat, base_url: "${upstreams[name].url}/v1", ${provider(name)} }`)
  const endpoints = names.map((name) => `      - { provider: ${name}, model: m, ${endpoint(name)} }`)
  const gateway = await startGateway(
    `${options.top ?? ''}
providers:
${list.join('\n')}
models:
  acme/one:
    context: 128000
    endpoints:
${endpoints.join('\n')}
${options.models ?? ''}`,
    { clock },
  )
  root.teardown(() => gateway.close())
  const ask: Providers['ask'] = (client, more = {}, headers) => gateway.post(PATHS[client], { ...questionFor(client), ...more }, headers)
  return {
    clock: clock instanceof FakeClock ? clock : new FakeClock(),
    gateway,
    upstreams,
    calls: () => names.map((name) => upstreams[name].requests.length),
    script: (script, ...some) => {
      for (const name of some.length > 0 ? some : names) upstreams[name].script = script
    },
    heal: (...some) => {
      for (const name of some.length > 0 ? some : names) upstreams[name].script = says({ text: [name] })
    },
    ask,
    server: async (client, more, headers) => {
      const response = await ask(client, more, headers)
      const text = await bodyText(response)
      return response.status === 200 ? (names.find((name) => text.includes(`"${name}"`)) ?? 'nobody') : `${response.status}`
    },
  }
}
