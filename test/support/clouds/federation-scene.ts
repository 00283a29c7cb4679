/** A gateway whose providers exchange identities. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { FakeClock } from '../clock.ts'
import { type Gateway, KEY, startGateway } from '../gateway.ts'
import { type Answer, jsonAnswer, type Seen } from '../upstream.ts'
import { ANTHROPIC, AUDIENCES, Federation, OPENAI, WORKSPACE } from './federation.ts'
import { ANSWER } from './scene.ts'

/** A management key. */
export const BOSS = 'sk-router-v1-boss-0123456789abcdef'

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
}
const LIST = { object: 'list', data: [{ id: 'listed', object: 'model', created: 1, owned_by: 'acme' }], has_more: false }

function answer({ path }: Seen): Answer {
  if (path.includes('/models')) return jsonAnswer(LIST)
  if (path.endsWith('/count_tokens')) return jsonAnswer({ input_tokens: 42 })
  if (path.endsWith('/embeddings'))
    return jsonAnswer({ object: 'list', data: [{ index: 0, embedding: [0.5, 0.5] }], usage: { prompt_tokens: 1 } })
  return jsonAnswer(path.includes('/messages') ? MESSAGE : ANSWER)
}

export type Provider = 'openai' | 'anthropic'
export const PROVIDERS: readonly Provider[] = ['openai', 'anthropic']

export interface FederationScene {
  readonly clock: FakeClock
  readonly federation: Federation
  readonly gateway: Gateway
  readonly token: Record<Provider, string>
  chat(provider: Provider): Promise<Response>
  shown(replies: string): Promise<string[]>
}

interface Options {
  readonly clock?: FakeClock
  /** YAML of the identity token. */
  readonly identity?: (provider: Provider, file: string) => string
  readonly env?: Record<string, string>
  readonly more?: string
}

/** A gateway before OpenAI and Anthropic, whose identity tokens stand in files unless the options say otherwise. */
export async function federationScene(
  t: Test,
  { clock = new FakeClock(), identity, env = {}, more = '' }: Options = {},
): Promise<FederationScene> {
  const federation = await Federation.start(clock, answer)
  const directory = t.testdir()
  const token = { openai: join(directory, 'openai'), anthropic: join(directory, 'anthropic') }
  for (const provider of PROVIDERS) writeFileSync(token[provider], `${federation.clusterToken(AUDIENCES[provider])}\n`)
  const given = (provider: Provider): string => identity?.(provider, token[provider]) ?? `{ file: "${token[provider]}" }`
  const fields = (ids: object): string =>
    Object.entries(ids)
      .map(([name, id]) => `${name}: "${id}"`)
      .join(', ')
  const gateway = await startGateway(
    `
auth: { keys: [ { name: test, key: "${KEY}", pass_through: true }, { name: boss, key: "${BOSS}", management: true } ] }
pass_through: { enabled: true }
providers:
  openai:
    name: OpenAI
    dialect: openai-chat
    base_url: "${federation.url}/openai/v1"
    credential: { openai: { ${fields(OPENAI)}, identity_token: ${given('openai')}, token_url: "${federation.url}/oauth/token" } }
    discover: { price: free }
    pass_through: { price: "0" }
  anthropic:
    name: Anthropic
    dialect: anthropic
    base_url: "${federation.url}/anthropic"
    credential: { anthropic: { ${fields(ANTHROPIC)}, workspace_id: ${WORKSPACE}, identity_token: ${given('anthropic')}, token_url: "${federation.url}/v1/oauth/token" } }
    pass_through: { price: "0" }
  other: { dialect: sim }
models:
  acme/openai: { endpoints: [ { provider: openai, model: m, price: free } ] }
  acme/anthropic: { endpoints: [ { provider: anthropic, model: m, price: free } ] }
  acme/either: { endpoints: [ { provider: openai, model: m, price: free }, { provider: other, model: echo, price: free } ] }
  acme/vectors: { kind: embedding, endpoints: [ { provider: openai, model: m, price: free } ] }
${more}`,
    { clock, env },
  )
  t.teardown(() => Promise.all([gateway.close(), federation.server.close()]))
  return {
    clock,
    federation,
    gateway,
    token,
    chat: (provider) => gateway.post('/v1/chat/completions', { model: `acme/${provider}`, messages: [{ role: 'user', content: 'hi' }] }),
    shown: async (replies) => {
      const metrics = await (await fetch(`${gateway.admin}/metrics`)).text()
      return federation.secrets.filter((secret) => (gateway.logs.join('') + metrics + replies).includes(secret))
    },
  }
}
