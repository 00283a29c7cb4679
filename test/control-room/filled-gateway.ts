/** A real gateway with something of everything that the control room shows: keys, failures, tools, guardrails, entries of the ledger. */
import type { Test } from 'tap'
import { type Room, startRoom } from '../support/browser.ts'
import { KEY } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'
import { answerFor, upstreamError } from '../support/wire.ts'

export const BOSS = 'sk-router-v1-boss0000000000000000000000'

export interface Filled {
  readonly room: Room
  /** The request that has something of everything. */
  readonly request: string
  /** A request that a guardrail has blocked. */
  readonly blocked: string
  /** The key that has made them: it has a limit, and entries of the ledger. */
  readonly hash: string
}

const TOOL = { type: 'router:datetime' }

/** @param more YAML that is added to the configuration. */
export async function startFilledRoom(t: Test, more = ''): Promise<Filled> {
  const upstream = await startUpstream((seen) => {
    if (seen.path.startsWith('/broken')) return upstreamError(503, 'down')
    const usage = { input: 2_000, output: 100, cached: 500, written: 10, reasoning: 20 }
    const wantsTool = seen.body.includes('datetime') && !seen.body.includes('"role":"tool"')
    const [, name = 'router_datetime'] = /"name":"([^"]*datetime[^"]*)"/.exec(seen.body) ?? []
    if (wantsTool) return answerFor(seen, { calls: [{ id: 'call_1', name, args: ['{}'] }], usage })
    return answerFor(seen, { text: ['fine'], usage })
  })
  t.teardown(() => upstream.close())
  const room = await startRoom(
    t,
    `
auth:
  sign_in: {}
  keys:
    - { name: test, key: "${KEY}", limit: "20", limit_reset: monthly }
    - { name: boss, key: "${BOSS}", management: true }
providers:
  well: { dialect: openai-chat, name: Well, base_url: "${upstream.url}/well/v1", key: sk-up }
  broken: { dialect: openai-chat, name: Broken, base_url: "${upstream.url}/broken/v1", key: sk-up }
models:
  m/both:
    name: Both
    context: 100000
    max_output: 4000
    endpoints:
      - { provider: broken, model: m, price: { prompt: "10", completion: "20" } }
      - { provider: well, model: m, price: { prompt: "30", completion: "60" } }
  m/well: { name: Well, context: 100000, max_output: 4000, endpoints: [ { provider: well, model: m, price: { prompt: "30", completion: "60" } } ] }
guardrails:
  - { name: words, phrases: [forbidden], action: block }
  - { name: mail, content_filter_builtins: [ { slug: email, action: redact } ], direction: both }
  - { name: budget, limit_usd: 50, reset_interval: monthly, allowed_models: [m/both, m/well] }
${more}`,
  )
  const { gateway } = room
  const post = async (path: string, body: object, secret: string = KEY) => {
    const reply = await gateway.post(path, body, { authorization: `Bearer ${secret}` })
    return { id: reply.headers.get('x-generation-id') ?? '', status: reply.status, body: (await reply.json()) as { data?: unknown } }
  }
  const chat = (content: string, model: string, extra: object = {}) =>
    post('/v1/chat/completions', { model, max_tokens: 200, messages: [{ role: 'user', content }], ...extra })
  const full = await chat('Write to ann@example.com', 'm/both', { tools: [TOOL], session_id: 'a-session', user: 'ann' })
  t.equal(full.status, 200, JSON.stringify(full.body))
  await chat('Hello', 'm/well')
  const blocked = await chat('forbidden', 'm/well')
  t.equal(blocked.status, 403)
  const keys = (await (await gateway.get('/v1/keys', { authorization: `Bearer ${BOSS}` })).json()) as {
    data: { name: string; hash: string }[]
  }
  const hash = keys.data.find(({ name }) => name === 'test')?.hash ?? ''
  const made = await post('/v1/ledger/entries', { kind: 'refund', amount: 0.001, generation_id: full.id, reason: 'Too dear' }, BOSS)
  t.equal(made.status, 201, JSON.stringify(made.body))
  await post('/v1/ledger/entries', { kind: 'correction', amount: 0.002, api_key_hash: hash, reason: 'Priced too low' }, BOSS)
  await post('/v1/keys', { name: 'stored', limit: 3, limit_reset: 'weekly', creator_user_id: 'ann' }, BOSS)
  return { room, request: full.id, blocked: blocked.id, hash }
}
