/** Which output cap a provider is sent where the caller set none. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Gateway } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { Gate, type Script, type Seen, type Upstream } from '../../support/upstream.ts'
import { answerFor, says, type Utterance } from '../../support/wire.ts'

const KEY = 'sk-router-v1-limited0000000000'
const HELLO = { messages: [{ role: 'user', content: 'Hello' }] }
/** Output costs 10,000 nano-dollars a token and input nothing, so that caps are round numbers. */
const PRICE = '{ prompt: "0", completion: "10.00" }'

interface Setting {
  /** USD; undefined for a key without a limit. */
  limit?: string
  /** More of the key, of the model, and of the configuration. */
  key?: string
  model?: string
  configuration?: string
  /** Of the endpoint; `max_output` is 128,000 unless it says otherwise. */
  endpoint?: string
  dialect?: string
  price?: string
  script?: Script
}

interface Capped {
  gateway: Gateway
  upstream: Upstream
  /** @returns the body that the provider was sent for one chat request. */
  send(fields?: JsonObject): Promise<JsonObject>
}

async function capped(t: Test, setting: Setting): Promise<Capped> {
  const {
    limit,
    key = '',
    model = '',
    configuration = '',
    endpoint = ', max_output: 128000',
    dialect = 'openai-chat',
    price = PRICE,
  } = setting
  const { gateway, upstream } = await startScene(t, {
    answer: setting.script ?? says({ text: ['ok'], usage: { input: 10, output: 0 } }),
    config: (url) => `
${configuration}
auth: { keys: [ { name: a, key: "${KEY}"${limit === undefined ? '' : `, limit: "${limit}"`}${key} } ] }
providers:
  first: { dialect: ${dialect}, base_url: "${url}/v1", key: "sk-provider-secret" }
models:
  acme/one:
    context: 1000000
    ${model}
    endpoints: [ { provider: first, model: upstream-model, price: ${price}${endpoint} } ]
`,
  })
  return {
    gateway,
    upstream,
    send: async (fields = {}) => {
      const response = await gateway.post('/v1/chat/completions', { model: 'acme/one', ...HELLO, ...fields })
      const text = await response.text()
      if (response.status !== 200) throw new Error(text)
      return (upstream.requests.at(-1) as Seen).json
    },
  }
}

t.test('a key with plenty of credit never meets a cap', async (t) => {
  const { send } = await capped(t, { limit: '1000.00' })
  t.equal((await send()).max_tokens, undefined, 'max_output is declared: nothing is sent')
})

t.test('an endpoint without a declared max_output is sent 32,768 tokens', async (t) => {
  const { send } = await capped(t, { limit: '1000.00', endpoint: '' })
  t.equal((await send()).max_tokens, 32_768)
})

t.test('no cap is sent without a limit, or where output costs nothing', async (t) => {
  const cases: Setting[] = [
    { endpoint: '' },
    { endpoint: '', limit: '1.00', price: 'free' },
    { endpoint: '', limit: '1.00', price: '{ prompt: "1.00", completion: "0" }' },
  ]
  for (const setting of cases) {
    const { send } = await capped(t, setting)
    t.equal((await send()).max_tokens, undefined, JSON.stringify(setting))
  }
})

t.test('near the limit a request gets half of what is left, in the form of each provider', async (t) => {
  const sent: Record<string, (body: JsonObject) => unknown> = {
    'openai-chat': (body) => body.max_tokens,
    'openai-responses': (body) => body.max_output_tokens,
    anthropic: (body) => body.max_tokens,
    gemini: (body) => (body.generationConfig as JsonObject).maxOutputTokens,
  }
  for (const [dialect, readCap] of Object.entries(sent)) {
    const { send } = await capped(t, { limit: '0.40', dialect })
    t.equal(readCap(await send()), 20_000, dialect)
  }
})

t.test('the last dollars still pay for 4,096 tokens, and less is refused', async (t) => {
  const { send } = await capped(t, { limit: '0.05' })
  t.equal((await send()).max_tokens, 4096, 'half of what is left would be 2,500 tokens')
  const poor = await capped(t, { limit: '0.03' })
  const response = await poor.gateway.post('/v1/chat/completions', { model: 'acme/one', ...HELLO })
  t.equal(response.status, 402)
  t.match(await response.json(), { error: { metadata: { needed: '0.04096', left: '0.03', affordable_output_tokens: 3000 } } })
  t.equal(poor.upstream.requests.length, 0)
})

t.test("the caller's own cap is held as it is", async (t) => {
  const { send, gateway } = await capped(t, { limit: '0.40' })
  t.equal((await send({ max_tokens: 39_999 })).max_tokens, 39_999, 'all but one token of what is left')
  t.equal((await gateway.post('/v1/chat/completions', { model: 'acme/one', ...HELLO, max_tokens: 40_001 })).status, 402)
})

t.test('a default_max_output of key, model or configuration is the cap', async (t) => {
  const cases: [Setting, number][] = [
    [{ key: ', default_max_output: 500' }, 500],
    [{ model: 'default_max_output: 600' }, 600],
    [{ configuration: 'default_max_output: 700' }, 700],
    [{ key: ', default_max_output: 500', model: 'default_max_output: 600', configuration: 'default_max_output: 700' }, 500],
    [{ model: 'default_max_output: 600', configuration: 'default_max_output: 700' }, 600],
  ]
  for (const [setting, cap] of cases) {
    const { send } = await capped(t, { limit: '1000.00', ...setting })
    t.equal((await send()).max_tokens, cap, JSON.stringify(setting))
  }
})

t.test('parallel requests share the last dollars and stay within the limit', async (t) => {
  const gate = new Gate()
  const utterance: Utterance = { text: ['ok'], usage: { input: 10, output: 4096 } }
  const script: Script = async (seen) => {
    await gate.opened
    return answerFor(seen, utterance)
  }
  const { gateway, upstream } = await capped(t, { limit: '0.40', script })
  const waiting: Promise<Response>[] = []
  for (let index = 0; index < 3; index++) {
    waiting.push(gateway.post('/v1/chat/completions', { model: 'acme/one', ...HELLO }))
    await upstream.request(index)
  }
  t.same(
    upstream.requests.map(({ json }) => json.max_tokens),
    [20_000, 10_000, 5000],
    'each gets half of what the others leave',
  )
  gate.open()
  await Promise.all(waiting.map(async (response) => (await response).text()))
  const { data } = (await (await gateway.get('/v1/key')).json()) as { data: { usage: number } }
  t.equal(data.usage, (3 * 4096 * 10_000) / 1e9)
})

t.test('each turn of a tool loop is settled, and the next cap is computed anew', async (t) => {
  const calls: Utterance = { calls: [{ id: 'call_1', name: 'router_datetime', args: ['{}'] }], usage: { input: 10, output: 1000 } }
  const done: Utterance = { text: ['done'], usage: { input: 10, output: 1000 } }
  const { send, upstream } = await capped(t, {
    limit: '0.40',
    script: (seen) => answerFor(seen, /"role":"tool"/.test(seen.body) ? done : calls),
  })
  await send({ tools: [{ type: 'router:datetime' }] })
  t.same(
    upstream.requests.map(({ json }) => json.max_tokens),
    [20_000, 19_500],
    'the first turn cost $0.01: half of $0.39 is left',
  )
})

t.test('an answer that ended because of the credit says so', async (t) => {
  const utterance: Utterance = { text: ['ok'], end: 'length', usage: { input: 10, output: 20_000 } }
  const { gateway } = await capped(t, { limit: '0.40', script: (seen) => answerFor(seen, utterance) })
  const response = await gateway.post('/v1/chat/completions', { model: 'acme/one', ...HELLO }, { 'x-router-metadata': 'enabled' })
  t.match(await response.json(), { router_metadata: { output_cap: { tokens: 20_000, reason: 'credit' } } })
  const id = response.headers.get('x-generation-id')
  t.match(await (await gateway.get(`/v1/generation?id=${id}`)).json(), { data: { credit_output_cap: 20_000, finish_reason: 'length' } })
})

t.test('an answer that ended at the declared max_output says nothing of the credit', async (t) => {
  const utterance: Utterance = { text: ['ok'], end: 'length', usage: { input: 10, output: 128_000 } }
  const { gateway } = await capped(t, { limit: '1000.00', script: (seen) => answerFor(seen, utterance) })
  const response = await gateway.post('/v1/chat/completions', { model: 'acme/one', ...HELLO }, { 'x-router-metadata': 'enabled' })
  t.equal(((await response.json()) as { router_metadata: JsonObject }).router_metadata.output_cap, undefined)
})

t.test('an endpoint that the credit cannot pay leaves the plan, and the plan shows the figures', async (t) => {
  const { gateway } = await startScene(t, {
    answer: says({ text: ['ok'] }),
    config: (url) => `
auth: { keys: [ { name: a, key: "${KEY}", limit: "0.40" } ] }
providers:
  dear: { dialect: openai-chat, base_url: "${url}/v1", key: "sk-provider-secret" }
  cheap: { dialect: openai-chat, base_url: "${url}/v1", key: "sk-provider-secret" }
models:
  acme/one:
    context: 1000000
    max_output: 128000
    endpoints:
      - { provider: dear, model: dear-model, price: { prompt: "0", completion: "100.00" } }
      - { provider: cheap, model: cheap-model, price: ${PRICE} }
`,
  })
  const preferences = { provider: { order: ['dear', 'cheap'] } }
  const plan = (await (await gateway.post('/v1/plan', { model: 'acme/one', ...HELLO, ...preferences })).json()) as JsonObject
  t.match(plan, {
    hold: { usd: '0.20', output_cap: 20_000, left_usd: '0.40' },
    candidates: [{ provider: 'cheap', output_cap: { tokens: 20_000, lowered_by_credit: true } }],
  })
  t.equal((plan.candidates as unknown[]).length, 1, '$0.20 pays for 2,000 tokens of the dear one: below 4,096')
  const own = (await (
    await gateway.post('/v1/plan', { model: 'acme/one', ...HELLO, ...preferences, max_tokens: 10_000 })
  ).json()) as JsonObject
  t.equal((own.candidates as unknown[]).length, 1, "a cap of the caller's own that the dear one could not be paid for")
})

const CALLERS: Record<string, { cap: string; turns: string }> = {
  chat: { cap: 'max_tokens', turns: 'messages' },
  responses: { cap: 'max_output_tokens', turns: 'input' },
  messages: { cap: 'max_tokens', turns: 'messages' },
}
const PATHS: Record<string, string> = { chat: '/v1/chat/completions', responses: '/v1/responses', messages: '/v1/messages' }
const SENT_CAPS: Record<string, (body: JsonObject) => unknown> = {
  'openai-chat': (body) => body.max_tokens,
  'openai-responses': (body) => body.max_output_tokens,
  anthropic: (body) => body.max_tokens,
  gemini: (body) => (body.generationConfig as JsonObject).maxOutputTokens,
}

t.test('a cap above what the endpoint writes is lowered to that and recorded, in every pair', async (t) => {
  for (const [dialect, readCap] of Object.entries(SENT_CAPS))
    for (const limit of [undefined, '100.00'])
      for (const [client, { cap, turns }] of Object.entries(CALLERS)) {
        const { gateway, upstream } = await capped(t, {
          dialect,
          ...(limit === undefined ? {} : { limit }),
          endpoint: ', max_output: 8192',
        })
        const send = async (tokens: number) => {
          const body = { model: 'acme/one', [turns]: [{ role: 'user', content: 'Hello' }], [cap]: tokens }
          const response = await gateway.post(PATHS[client], body, { 'x-router-metadata': 'enabled' })
          t.equal(response.status, 200)
          const { router_metadata: metadata } = (await response.json()) as { router_metadata: JsonObject }
          const [attempt] = metadata.attempts as JsonObject[]
          return [readCap((upstream.requests.at(-1) as Seen).json), attempt.dropped ?? []]
        }
        t.same(await send(128_000), [8192, ['max_tokens']], `${client} to ${dialect}, limit ${limit}`)
        t.same(await send(8192), [8192, []], 'a cap that the endpoint writes is not touched')
      }
})

t.test('a lowered cap counts as what it is lowered to where the context is short', async (t) => {
  const { gateway, upstream } = await capped(t, { endpoint: ', max_output: 8192, context: 20000' })
  const response = await gateway.post('/v1/chat/completions', { model: 'acme/one', ...HELLO, max_tokens: 32_000 })
  t.equal(response.status, 200)
  t.equal((upstream.requests.at(-1) as Seen).json.max_tokens, 8192)
})

t.test('returns 400 for a cap that no endpoint can write, with require_parameters', async (t) => {
  const { gateway, upstream } = await capped(t, { endpoint: ', max_output: 8192' })
  for (const [client, { cap, turns }] of Object.entries(CALLERS)) {
    const body = { model: 'acme/one', [turns]: [{ role: 'user', content: 'Hello' }], provider: { require_parameters: true } }
    const refused = await gateway.post(PATHS[client], { ...body, [cap]: 8193 })
    t.equal(refused.status, 400, client)
    const { error } = (await refused.json()) as { error: JsonObject }
    t.match(String(error.message), /removed by max_output \(writes at most 8192 tokens\)/)
    t.match(error.availability, { code: 'constraint_filtered', constraint: { field: 'max_output_tokens' } })
    t.equal(upstream.requests.length, 0)
  }
  const honoured = { model: 'acme/one', ...HELLO, provider: { require_parameters: true }, max_tokens: 8192 }
  t.equal((await gateway.post('/v1/chat/completions', honoured)).status, 200)
})

t.test('an endpoint of the same model that writes as much is preferred, a fallback model is kept', async (t) => {
  const { gateway } = await startScene(t, {
    answer: says({ text: ['ok'] }),
    config: (url) => `
providers:
  short: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up }
  long: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up }
models:
  acme/one:
    endpoints:
      - { provider: short, model: m, price: free, max_output: 4000 }
      - { provider: long, model: m, price: free, max_output: 64000 }
  acme/two: { endpoints: [ { provider: short, model: m, price: free, max_output: 4000 } ] }
`,
  })
  const body = { model: 'acme/one', models: ['acme/two'], ...HELLO, max_tokens: 32_000 }
  t.match(await (await gateway.post('/v1/plan', body)).json(), {
    candidates: [
      { model: 'acme/one', provider: 'long', dropped: [] },
      { model: 'acme/two', provider: 'short', dropped: ['max_tokens'] },
    ],
    excluded: [{ model: 'acme/one', provider: 'short', filter: 'max_output' }],
  })
})
