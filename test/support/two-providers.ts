/** One gateway between two providers of different dialects, with a key of every kind: where the wire's rules are checked. */
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { object } from './fold.ts'
import { type Gateway, startGateway } from './gateway.ts'
import { startUpstream, type Upstream } from './upstream.ts'
import { says } from './wire.ts'

export const KEY = 'sk-router-v1-0123456789abcdef'
export const OPS = 'sk-router-v1-fedcba9876543210'
export const POOR = 'sk-router-v1-00112233445566'
export const DISABLED = 'sk-router-v1-66554433221100'

export const RESPONSES = '/v1/responses'
export const CHAT = '/v1/chat/completions'
const PROVIDER = { order: ['first', 'second'] }

/** The least that the operation takes, to the first provider before the second. */
export function question(path: string): JsonObject {
  const common = { model: 'acme/one', provider: PROVIDER }
  return path === RESPONSES ? { ...common, input: 'Hello' } : { ...common, messages: [{ role: 'user', content: 'Hello' }] }
}

export async function json(response: Response): Promise<JsonObject> {
  return (await response.json()) as JsonObject
}

const yaml = (first: string, second: string): string => `
auth:
  keys:
    - { name: app, key: "${KEY}" }
    - { name: ops, key: "${OPS}", management: true }
    - { name: poor, key: "${POOR}", limit: "0.000001" }
    - { name: disabled, key: "${DISABLED}", disabled: true }
providers:
  first: { name: First, dialect: openai-responses, base_url: "${first}/v1", key: "sk-first-secret" }
  second: { name: Second, dialect: openai-chat, base_url: "${second}/v1", key: "sk-second-secret" }
models:
  acme/one:
    context: 128000
    endpoints:
      - { provider: first, model: upstream-model, price: { prompt: "1.00", completion: "2.00" } }
      - { provider: second, model: upstream-model, price: { prompt: "1.00", completion: "2.00" } }
`

export interface TwoProviders {
  readonly first: Upstream
  readonly second: Upstream
  readonly gateway: Gateway
  ask(path: string, more?: JsonObject, headers?: Record<string, string>): Promise<Response>
  /** Checks a refusal: status, standard body, JSON whatever was asked for, nothing upstream. @returns the error. */
  refused(t: Test, name: string, asked: Promise<Response>, status: number): Promise<JsonObject>
  /** As `refused` with 400 for the question with these fields; the message names the field. */
  names(t: Test, path: string, more: JsonObject, field: string): Promise<void>
}

/** Starts all three; they stop when `root` ends. */
export async function startTwoProviders(root: Test): Promise<TwoProviders> {
  const first = await startUpstream(says({ text: ['fine'] }))
  const second = await startUpstream(says({ text: ['second'] }))
  const gateway = await startGateway(yaml(first.url, second.url))
  root.teardown(async () => {
    await gateway.close()
    await Promise.all([first.close(), second.close()])
  })
  const calls = (): number => first.requests.length + second.requests.length
  const ask: TwoProviders['ask'] = (path, more = {}, headers = {}) => gateway.post(path, { ...question(path), ...more }, headers)
  const refused: TwoProviders['refused'] = async (t, name, asked, status) => {
    const before = calls()
    const response = await asked
    const body = await json(response)
    t.equal(response.status, status, name)
    t.match(
      body,
      { error: { code: status, message: String, metadata: { error_type: String } } },
      `${name}: the error body has the status as its code`,
    )
    t.match(response.headers.get('content-type'), /^application\/json/, `${name}: JSON`)
    t.equal(calls(), before, `${name}: the upstream never sees it`)
    return object(body.error)
  }
  const names: TwoProviders['names'] = async (t, path, more, field) => {
    const { message } = await refused(t, `${path} ${JSON.stringify(more).slice(0, 80)}`, ask(path, { stream: true, ...more }), 400)
    t.ok(String(message).includes(field), `${message} names ${field}`)
  }
  return { first, second, gateway, ask, refused, names }
}
