/** A gateway whose guardrails a test manages over the API: two ordinary keys, one that manages, one provider. */
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { secretHash } from '../../src/core/secret.ts'
import { adminFetch } from './admin.ts'
import { list, object } from './fold.ts'
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts'
import { startUpstream, type Upstream } from './upstream.ts'
import { answerFor } from './wire.ts'

export const SECRETS = {
  app: 'sk-router-v1-app-0123456789abcdef',
  other: 'sk-router-v1-other-0123456789abcdef',
  boss: 'sk-router-v1-boss-0123456789abcdef',
}
export const HASHES = { app: secretHash(SECRETS.app), other: secretHash(SECRETS.other), boss: secretHash(SECRETS.boss) }

export interface Answered {
  readonly status: number
  readonly body: JsonObject
}

export interface GuardrailScene {
  readonly gateway: Gateway
  readonly upstream: Upstream
  /** A call with the key that manages. */
  call(method: string, path: string, body?: JsonObject, secret?: string): Promise<Answered>
  /** Makes a guardrail and assigns it. @returns its id. */
  make(body: JsonObject, ...hashes: string[]): Promise<string>
  /** A chat with one message. */
  say(content: string, secret?: string, more?: JsonObject): Promise<Answered>
  /** Answer that the command line would get. */
  command(body: JsonObject): Promise<JsonObject>
  /** Last request of the provider. */
  seen(): string
}

/** A call costs exactly $1 at acme/one, nothing at acme/two. */
export async function guardrailScene(t: Test, guardrails = '', options: GatewayOptions & { store?: string } = {}): Promise<GuardrailScene> {
  const { store = 'memory:', ...rest } = options
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['fine'] }))
  t.teardown(() => upstream.close())
  const gateway = await startGateway(
    `store: { url: "${store}" }
auth:
  sign_in: { callbacks: [ "https://app.example/*" ], pkce: optional }
  keys:
    - { name: app, key: "${SECRETS.app}" }
    - { name: other, key: "${SECRETS.other}" }
    - { name: boss, key: "${SECRETS.boss}", management: true }
providers:
  first: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: "sk-provider-secret" }
  second: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: "sk-provider-secret", zdr: true }
models:
  acme/one: { endpoints: [ { provider: first, model: one, price: { prompt: "0", completion: "0", request: "1.00" } } ] }
  acme/two: { endpoints: [ { provider: second, model: two, price: free } ] }
  acme/vectors: { kind: embedding, endpoints: [ { provider: second, model: vectors, price: free } ] }
aliases: { uno: acme/one }
${guardrails === '' ? '' : `guardrails:\n${guardrails}`}
`,
    rest,
  )
  t.teardown(() => gateway.close())
  const call: GuardrailScene['call'] = async (method, path, body, secret = SECRETS.boss) => {
    const response = await fetch(`${gateway.url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      body: body ? JSON.stringify(body) : null,
    })
    return { status: response.status, body: JSON.parse((await response.text()) || '{}') as JsonObject }
  }
  return {
    gateway,
    upstream,
    call,
    make: async (body, ...hashes) => {
      const made = await call('POST', '/guardrails', body)
      if (made.status !== 201) throw new Error(JSON.stringify(made.body))
      const id = String(object(made.body.data).id)
      if (hashes.length > 0) await call('POST', `/guardrails/${id}/assignments/keys`, { key_hashes: hashes })
      return id
    },
    say: async (content, secret = SECRETS.app, more = {}) => {
      const body = { model: 'acme/two', messages: [{ role: 'user', content }], ...more }
      const response = await gateway.post('/v1/chat/completions', body, {
        authorization: `Bearer ${secret}`,
        'x-router-metadata': 'enabled',
      })
      return { status: response.status, body: (await response.json()) as JsonObject }
    },
    command: async (body) => {
      const response = await adminFetch(`${gateway.admin}/guardrails/command`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return (await response.json()) as JsonObject
    },
    seen: () => upstream.requests.at(-1)?.body ?? '',
  }
}

export const answeredData = ({ body }: Answered): JsonObject => object(body.data)
export const bodyRows = (body: JsonObject): JsonObject[] => list(body.data).map(object)
/** Stages of guardrails as `[id, action]`. */
export const answeredStages = ({ body }: Answered): unknown[][] =>
  list(object(body.router_metadata).pipeline ?? []).map((stage) => [object(stage).guardrail_id, object(object(stage).data).action])
