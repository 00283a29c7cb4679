/** Guardrails that bound models, providers, data and spend. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { object } from '../../support/fold.ts'
import type { Gateway } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import type { Upstream } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

const APP = 'sk-router-v1-appappappappapp'
const FREE = 'sk-router-v1-freefreefreefree'
const CHAT = '/v1/chat/completions'

interface Guarded {
  gateway: Gateway
  /** Status, message and who served. */
  ask(fields: JsonObject, key?: string): Promise<{ status: number; message: string; provider: unknown; body: JsonObject }>
  upstream: Upstream
}

async function guarded(t: Test, guardrails: string, more: { app?: string; clock?: FakeClock } = {}): Promise<Guarded> {
  const provider = (url: string, name: string, policy = ''): string =>
    `  ${name}: { name: ${name}, dialect: openai-chat, base_url: "${url}/v1", key: sk-x${policy} }`
  const { gateway, upstream } = await startScene(t, {
    answer: says({ text: ['ok'], usage: { input: 1000, output: 1000 } }),
    config: (url) => `auth: { keys: [ { name: app, key: "${APP}"${more.app ?? ''} }, { name: free, key: "${FREE}" } ] }
guardrails:
${guardrails}
providers:
${provider(url, 'aye')}
${provider(url, 'bee', ', zdr: true, data_collection: deny')}
${provider(url, 'cee', ', data_collection: deny')}
models:
  anthropic/one: { endpoints: [ { provider: aye, model: m, price: { prompt: "1", completion: "1" } }, { provider: bee, model: m, price: { prompt: "5", completion: "5" }, supported_parameters: [ temperature ] } ] }
  openai/two: { endpoints: [ { provider: aye, model: m, price: { prompt: "1", completion: "1" } } ] }
  acme/free: { endpoints: [ { provider: aye, model: m, price: free }, { provider: cee, model: m, price: free } ] }
  acme/secret: { endpoints: [ { provider: aye, model: m } ] }
`,
    clock: more.clock,
  })
  return {
    gateway,
    upstream,
    ask: async (fields, key = APP) => {
      const sent = { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 1000, ...fields }
      const response = await gateway.post(CHAT, sent, { authorization: `Bearer ${key}`, 'x-router-metadata': 'enabled' })
      const body = (await response.json()) as JsonObject
      return { status: response.status, message: String(object(body.error).message), provider: body.provider, body }
    },
  }
}

t.test('lists of keys and guardrails intersect; where nothing is left a 403 names them', async (t) => {
  const { ask, upstream } = await guarded(
    t,
    `  - { name: two-authors, allowed_models: [ "anthropic/*", "acme/*" ] }
  - { name: no-acme, scope: { keys: [ app ] }, ignored_models: [ acme/free ] }`,
    { app: ', allowed_models: [ "anthropic/*", "openai/*", acme/free ]' },
  )
  t.equal((await ask({ model: 'anthropic/one' })).status, 200)
  const before = upstream.requests.length
  for (const [model, name] of [
    ['openai/two', 'two-authors'],
    ['acme/free', 'no-acme'],
  ]) {
    const { status, message, body } = await ask({ model })
    t.equal(status, 403, model)
    t.match(message, `The guardrail ${name} allows none of them`)
    t.notOk(object(body.router_metadata).pipeline, 'no stage is told')
  }
  t.equal((await ask({ model: 'acme/secret' })).status, 403, "the key's own list")
  t.equal(upstream.requests.length, before)
  t.equal((await ask({ model: 'acme/free' }, FREE)).status, 200, 'another key')
  t.equal((await ask({ model: 'openai/two' }, FREE)).status, 403, 'a guardrail without scope')
  const { body } = await ask({ models: ['openai/two', 'anthropic/one'] })
  t.match(body.model, 'anthropic/one', 'a fallback that is allowed serves')
})

t.test('providers', async (t) => {
  const { ask } = await guarded(
    t,
    '  - { name: only-bee, scope: { keys: [ app ] }, allowed_providers: [ bee, cee ], ignored_providers: [ cee ] }',
  )
  t.equal((await ask({ model: 'anthropic/one' })).provider, 'bee')
  t.equal((await ask({ model: 'openai/two' })).status, 403)
  t.equal((await ask({ model: 'acme/free' })).status, 403)
  const { status, message } = await ask({ model: 'anthropic/one', provider: { only: ['aye'] } })
  t.equal(status, 403, 'a request cannot loosen it')
  t.match(message, 'only-bee')
  t.equal(
    (await ask({ model: 'anthropic/one', provider: { only: ['cee'] } })).status,
    404,
    'what the request itself rules out is no doing of a guardrail',
  )
})

t.test('a request cannot switch off zero retention by author', async (t) => {
  const { ask } = await guarded(t, '  - { name: encrypted, scope: { keys: [ app ] }, enforce_zdr_anthropic: true }')
  t.equal((await ask({ model: 'anthropic/one', provider: { zdr: false } })).provider, 'bee')
  t.equal((await ask({ model: 'openai/two' })).status, 200, 'another author')
  t.equal((await ask({ model: 'acme/free' })).status, 200)
})

t.test('the old switch stands for those that are not set', async (t) => {
  const { ask } = await guarded(t, '  - { name: encrypted, scope: { keys: [ app ] }, enforce_zdr: true, enforce_zdr_openai: false }')
  t.equal((await ask({ model: 'anthropic/one' })).provider, 'bee')
  t.equal((await ask({ model: 'openai/two' })).status, 200)
  t.equal((await ask({ model: 'acme/free' })).status, 403)
})

t.test('data policy, of free and of paid endpoints', async (t) => {
  const { ask } = await guarded(
    t,
    `  - { name: no-free-training, scope: { keys: [ app ] }, enable_free_model_training: false }
  - { name: no-paid-training, scope: { keys: [ free ] }, enable_paid_model_training: false }`,
  )
  t.equal((await ask({ model: 'acme/free' })).provider, 'cee')
  t.equal((await ask({ model: 'openai/two' })).status, 200)
  t.equal((await ask({ model: 'openai/two' }, FREE)).status, 403)
  t.equal((await ask({ model: 'anthropic/one' }, FREE)).provider, 'bee')
})

t.test('highest price and parameters', async (t) => {
  const { ask } = await guarded(
    t,
    `  - { name: cheap, scope: { keys: [ app ] }, max_price: { prompt: "2" } }
  - { name: exact, scope: { keys: [ free ] }, require_parameters: true }`,
  )
  t.equal((await ask({ model: 'anthropic/one', provider: { order: ['bee'], max_price: { prompt: 9 } } })).provider, 'aye')
  t.equal((await ask({ model: 'anthropic/one', provider: { only: ['bee'] } })).status, 403)
  const exact = await ask({ model: 'anthropic/one', top_k: 5, provider: { require_parameters: false, only: ['bee'] } }, FREE)
  t.equal(exact.status, 404)
  t.match(exact.message, 'require_parameters')
})

t.test('a plan says the same', async (t) => {
  const { gateway } = await guarded(t, '  - { name: only-bee, scope: { keys: [ app ] }, allowed_providers: [ bee ] }')
  const ask = async (model: string): Promise<JsonObject> => {
    const response = await gateway.post(
      '/v1/plan',
      { model, messages: [{ role: 'user', content: 'x' }] },
      { authorization: `Bearer ${APP}` },
    )
    return (await response.json()) as JsonObject
  }
  t.match(await ask('anthropic/one'), {
    guardrails: ['only-bee'],
    candidates: [{ provider: 'bee' }],
    excluded: [{ provider: 'aye', filter: 'guardrail', from: 'only-bee' }],
  })
  t.match(await ask('openai/two'), { error: { code: 403 } })
})

t.test('a budget holds for each of its keys by itself, and begins anew', async (t) => {
  const clock = new FakeClock(3)
  const { ask, upstream } = await guarded(
    t,
    `  - { name: pocket, limit_usd: 0.005, reset_interval: daily }
  - { name: purse, scope: { keys: [ free ] }, limit_usd: 10 }`,
    { clock },
  )
  const spend = async (key: string): Promise<number> => {
    for (let served = 0; ; served++) {
      const { status, message, body } = await ask({ model: 'openai/two' }, key)
      if (status === 200) continue
      t.equal(status, 403)
      t.match(message, /The daily budget of \$0\.005 of the guardrail pocket (is spent|has \$0\.00\d+ left)/)
      t.notOk(object(body.router_metadata).pipeline)
      return served
    }
  }
  t.equal(await spend(APP), 2, 'two of two thousandths, and no hold for a third')
  t.equal(await spend(FREE), 2, 'the other key has its own')
  t.match(JSON.parse(upstream.requests[0].body), { max_tokens: 1000 }, 'what may be written is bounded')
  t.equal((await ask({ model: 'acme/free' })).status, 200, 'what is free is served')
  t.equal((await ask({ model: 'acme/secret' })).status, 403, 'a price that nobody knows is not')
  await clock.advance(86_400_000)
  t.equal((await ask({ model: 'openai/two' })).status, 200, 'the next day')
})

t.test('many at once spend no more than the budget', async (t) => {
  const { ask } = await guarded(t, '  - { name: pocket, limit_usd: 0.0205 }')
  const statuses = await Promise.all(Array.from({ length: 40 }, async () => (await ask({ model: 'openai/two' })).status))
  const served = statuses.filter((status) => status === 200).length
  t.ok(served >= 1 && served <= 10, `${served} served of two thousandths each`)
  t.same([...new Set(statuses)].sort(), [200, 403])
})

t.test("the tighter of a key's limit and a budget decides", async (t) => {
  const { ask } = await guarded(t, '  - { name: pocket, limit_usd: 5 }', { app: ', limit: "0.001"' })
  t.equal((await ask({ model: 'openai/two' })).status, 402)
})
