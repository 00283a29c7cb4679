/** POST /v1/plan: what it says, what it refuses, and that it leaves no trace. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { startUpstream, type Upstream } from '../../support/upstream.ts'
import { says, upstreamError } from '../../support/wire.ts'

const RICH = 'sk-router-v1-0123456789abcdef'
const POOR = 'sk-router-v1-00112233445566'
const SLOW = 'sk-router-v1-66554433221100'
const OPS = 'sk-router-v1-fedcba9876543210'

const yaml = (a: Upstream, b: Upstream): string => `
auth:
  keys:
    - { name: rich, key: "${RICH}", limit: "10.00" }
    - { name: poor, key: "${POOR}", limit: "0.000001", allowed_models: [ "acme/one" ] }
    - { name: slow, key: "${SLOW}", limits: { requests: 2 } }
    - { name: ops, key: "${OPS}", management: true }
provider: { ignore: [ cee ] }
providers:
  aye: { name: Aye, dialect: openai-chat, base_url: "${a.url}/v1", zdr: true }
  bee: { name: Bee, dialect: openai-responses, base_url: "${b.url}/v1" }
  cee: { name: Cee, dialect: openai-chat, base_url: "${b.url}/v1" }
models:
  acme/one:
    context: 128000
    endpoints:
      - { provider: aye, model: m, price: { prompt: "1.00", completion: "3.00", request: "0.001" } }
      - { provider: bee, model: m, quantization: fp8, price: { prompt: "2.00", completion: "6.00" } }
      - { provider: cee, model: m, price: { prompt: "1.00", completion: "1.00" } }
  acme/small:
    context: 8000
    endpoints: [ { provider: aye, model: s, price: free } ]
  acme/secret:
    context: 128000
    endpoints: [ { provider: aye, model: s } ]
guardrails:
  - { name: no-names, scope: { keys: [ rich ] }, content_filters: [ { pattern: "aurora", action: block, label: PROJECT } ] }
  - { name: never-asked, scope: { keys: [ ops ] }, content_filters: [ { pattern: "borealis", action: block } ] }
`

interface Planning {
  clock: FakeClock
  gateway: Gateway
  a: Upstream
  b: Upstream
}

async function planning(t: Test, script = says({ text: ['fine'] })): Promise<Planning> {
  const clock = new FakeClock(11)
  const [a, b] = [await startUpstream(script), await startUpstream(script)]
  const gateway = await startGateway(yaml(a, b), { clock })
  t.teardown(async () => {
    await gateway.close()
    await Promise.all([a.close(), b.close()])
  })
  return { clock, gateway, a, b }
}

const QUESTION = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }
const json = async (response: Response): Promise<JsonObject> => (await response.json()) as JsonObject
const bodyError = (body: JsonObject): JsonObject => object(body.error)
const list = (value: unknown): JsonObject[] => value as JsonObject[]
const as = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` })

t.test('a plan tells candidates, exclusions, hold and who would act', async (t) => {
  const { gateway, a, b } = await planning(t)
  const response = await gateway.post('/v1/plan', { ...QUESTION, max_tokens: 1000, provider: { sort: 'price' }, seed: 4 })
  t.equal(response.status, 200)
  t.match(response.headers.get('content-type'), 'application/json')
  const plan = await json(response)
  t.match(plan, {
    object: 'plan',
    format: 'chat',
    requested: 'acme/one',
    strategy: 'direct',
    models: ['acme/one'],
    stream: false,
    key: 'rich',
  })
  t.same(plan.candidates, [
    {
      position: 1,
      provider: 'Aye',
      model: 'acme/one',
      endpoint: 'aye',
      price: { prompt: '1', completion: '3', request: '0.001' },
      context: 128000,
      max_output: null,
      output_cap: { tokens: 1000, lowered_by_credit: false },
      quantization: 'unknown',
      tier: null,
      why: { by: 'price', value: 4, health: 'ok', band: 0 },
      lane: 'pass',
      dropped: [],
    },
    {
      position: 2,
      provider: 'Bee',
      model: 'acme/one',
      endpoint: 'bee',
      price: { prompt: '2', completion: '6' },
      context: 128000,
      max_output: null,
      output_cap: { tokens: 1000, lowered_by_credit: false },
      quantization: 'fp8',
      tier: null,
      why: { by: 'price', value: 8, health: 'ok', band: 0 },
      lane: 'translate',
      dropped: ['seed'],
    },
  ])
  t.match(plan.excluded, [
    { provider: 'Cee', model: 'acme/one', endpoint: 'cee', filter: 'ignore', detail: /ignore of the account: \[cee\]/, from: 'account' },
  ])
  const hold = object(plan.hold)
  t.match(hold, { output_cap: 1000, left_usd: '10.00' })
  const bound = Number(hold.input_tokens_bound)
  t.ok(bound > 0)
  t.equal(Number(hold.usd), Math.max((bound * 1 + 1000 * 3) / 1e6 + 0.001, (bound * 2 + 1000 * 6) / 1e6), 'the dearest candidate')
  t.match(plan, { preferences: { sort: 'price', ignore: [{ from: 'account', slugs: ['cee'] }] }, plugins: [], guardrails: ['no-names'] })
  t.equal(a.requests.length + b.requests.length, 0, 'no provider is asked')
})

t.test('the format is told by the body, by a header or by the query', async (t) => {
  const { gateway } = await planning(t)
  const detectedFormat = async (body: JsonObject, query = '', headers: Record<string, string> = {}): Promise<string> => {
    const reply = await json(await gateway.post(`/v1/plan${query}`, { model: 'acme/one', ...body }, headers))
    return String(reply.format ?? bodyError(reply).message)
  }
  const messages = QUESTION.messages
  t.equal(await detectedFormat({ input: 'Hello' }), 'responses')
  t.equal(await detectedFormat({ messages }), 'chat')
  t.equal(await detectedFormat({ messages, max_tokens: 9 }), 'chat', 'a body without a word of its own')
  t.equal(await detectedFormat({ messages, max_tokens: 9 }, '', { 'anthropic-version': '2023-06-01' }), 'messages')
  for (const own of [
    { system: 'Be brief.' },
    { stop_sequences: ['x'] },
    { thinking: { type: 'disabled' } },
    { tools: [{ name: 'look', input_schema: { type: 'object' } }] },
    {
      messages: [
        ...messages,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'there' }] },
      ],
    },
  ])
    t.equal(await detectedFormat({ messages, max_tokens: 9, ...own }), 'messages', JSON.stringify(own))
  t.equal(await detectedFormat({ messages, max_tokens: 9 }, '?format=messages'), 'messages')
  t.equal(await detectedFormat({ messages, max_tokens: 9, system: 'x' }, '?format=chat'), 'chat')
  t.match(await detectedFormat({ messages }, '?format=gemini'), /^format: expected one of: responses, chat, messages, embeddings$/)
  t.match(await detectedFormat({}), /expected input \(Responses and embeddings\) or messages/)
  t.match(await detectedFormat({ input: 3 }), /^input/, 'the rules of the format hold')
})

t.test('a plan holds, journals, pins and measures nothing', async (t) => {
  const { gateway, a, b } = await planning(t)
  const { journal } = gateway.running.store
  const session = { session_id: 'conversation', provider: { sort: 'price' } }
  const account = async (): Promise<JsonObject> => json(await gateway.get('/v1/key'))
  const before = await account()
  const models = await json(await gateway.get('/v1/models'))
  for (let i = 0; i < 5; i++) t.equal((await gateway.post('/v1/plan', { ...QUESTION, ...session, stream: i % 2 === 0 })).status, 200)
  t.same(await account(), before, 'the balance is the same')
  t.same(await json(await gateway.get('/v1/models')), models)
  t.same([...journal.export()], [], 'the ledger is empty')
  t.equal(journal.lastSeq(), 0)
  t.equal(a.requests.length + b.requests.length, 0)
  t.equal((await gateway.post('/v1/chat/completions', { ...QUESTION, ...session, provider: { only: ['bee'] } })).status, 200)
  const metrics = await (await fetch(`${gateway.admin}/metrics`)).text()
  const counted = [...metrics.matchAll(/^headgate_requests_total\{[^}]*\} (\d+)/gm)].reduce((sum, [, count]) => sum + Number(count), 0)
  t.equal(counted, 1, 'the request is counted, the plans are not')
  t.same(gateway.logs.filter((line) => line.includes('"msg":"plan"')).length, 5, 'each is logged')
  t.equal([...journal.export()].length, 1)
})

t.test('statistics and sessions show, and stay as they are', async (t) => {
  const { clock, gateway, a, b } = await planning(t)
  const plan = async (more: JsonObject = {}): Promise<JsonObject[]> =>
    list((await json(await gateway.post('/v1/plan', { ...QUESTION, ...more }))).candidates)
  const why = (candidates: readonly JsonObject[], endpoint: string): JsonObject =>
    object(candidates.find((each) => each.endpoint === endpoint)?.why)
  const [first, second] = await plan()
  t.same(new Set([first.endpoint, second.endpoint]), new Set(['aye', 'bee']))
  // 1/price², at prices of 4 and 8 together.
  t.match(
    [why([first, second], 'aye'), why([first, second], 'bee')],
    [
      { by: 'draw', share: 0.8 },
      { by: 'draw', share: 0.2 },
    ],
  )
  a.script = () => upstreamError(500)
  await gateway.post('/v1/chat/completions', { ...QUESTION, provider: { order: ['aye'] } })
  const behind = await plan()
  t.match(behind, [
    { endpoint: 'bee', why: { by: 'price', share: undefined, health: 'ok' } },
    { endpoint: 'aye', why: { by: 'price', share: undefined, health: 'recent_outage' } },
  ])
  t.same(await plan(), behind, 'a plan is no evidence of health')
  await clock.advance(31_000)
  t.match(why(await plan(), 'aye'), { by: 'draw', share: 0.8, health: 'ok' })
  a.script = says({ text: ['fine'] })
  t.equal((await gateway.post('/v1/chat/completions', { ...QUESTION, session_id: 's', provider: { only: ['bee'] } })).status, 200)
  t.match((await plan({ session_id: 's' }))[0], { endpoint: 'bee', why: { by: 'session' } }, 'the session stays where it was served')
  t.match((await plan({ session_id: 's', provider: { order: ['aye'] } }))[0], { endpoint: 'aye', why: { by: 'order' } })
  t.match((await plan({ session_id: 's' }))[0], { endpoint: 'bee', why: { by: 'session' } }, 'and no plan moves it')
  t.equal(b.requests.length, 2)
})

t.test('goals, fallbacks and single endpoints are told', async (t) => {
  const { gateway } = await planning(t)
  const plan = async (more: JsonObject): Promise<JsonObject> => json(await gateway.post('/v1/plan', { ...QUESTION, ...more }))
  const alone = await plan({ provider: { zdr: true } })
  t.match(alone.candidates, [{ endpoint: 'aye', why: { by: 'only_one' } }])
  t.match(alone.excluded, [{ endpoint: 'bee', filter: 'zdr' }, { endpoint: 'cee' }])
  const single = await plan({ provider: { sort: 'price', allow_fallbacks: false } })
  t.equal(list(single.candidates).length, 1)
  t.match(list(single.excluded).at(-1), { endpoint: 'bee', filter: 'allow_fallbacks' })
  const two = await plan({ models: ['acme/small'] })
  t.match(two, { strategy: 'fallback', models: ['acme/one', 'acme/small'] })
  t.match(list(two.candidates).at(-1), { model: 'acme/small', why: { by: 'only_one' }, price: { prompt: '0', completion: '0' } })
})

t.test('a plugin that would run is named and has its effect', async (t) => {
  const { gateway } = await planning(t)
  const messages = Array.from({ length: 60 }, (_, i) => ({
    role: i % 2 ? 'assistant' : 'user',
    content: `number ${i}. ${'word '.repeat(400)}`,
  }))
  const long = { model: 'acme/small', messages: [...messages, { role: 'user', content: 'the last' }] }
  const plan = await json(await gateway.post('/v1/plan', long))
  t.match(plan, { plugins: ['context-compression'], candidates: [{ endpoint: 'aye', lane: 'translate' }] })
  const off = await gateway.post('/v1/plan', { ...long, plugins: [{ id: 'context-compression', enabled: false }] })
  t.equal(off.status, 400)
  t.match(bodyError(await json(off)), {
    message: /context-compression/,
    metadata: { error_type: 'context_length_exceeded', excluded: [{ endpoint: 'aye', filter: 'context' }] },
  })
})

t.test('refuses a plan for the same reasons as its request', async (t) => {
  const { gateway, a, b } = await planning(t)
  const cases: [name: string, status: number, body: JsonObject, key?: string][] = [
    ['no key that is known', 401, QUESTION, 'sk-router-v1-nobody'],
    ['a key that manages', 403, QUESTION, OPS],
    ['a field that is wrong', 400, { ...QUESTION, temperature: 'hot' }],
    ['no such model', 404, { ...QUESTION, model: 'acme/none' }],
    ['no endpoint is left', 404, { ...QUESTION, provider: { zdr: true, ignore: ['aye'] } }],
    ['a model that the key may not use', 403, { ...QUESTION, model: 'acme/small' }, POOR],
    ['a price that nobody knows', 403, { ...QUESTION, model: 'acme/secret' }],
    ['not enough money', 402, QUESTION, POOR],
    ['a guardrail', 403, { ...QUESTION, messages: [{ role: 'user', content: 'about aurora' }] }],
    ['no such plugin', 400, { ...QUESTION, plugins: [{ id: 'nothing' }] }],
    ['no such server tool', 400, { ...QUESTION, tools: [{ type: 'router:nothing' }] }],
  ]
  await every(t, 'every case', async (t) => {
    for (const [name, status, body, key = RICH] of cases) {
      const planned = await gateway.post('/v1/plan', body, as(key))
      const real = await gateway.post('/v1/chat/completions', body, as(key))
      t.equal(planned.status, status, name)
      t.equal(real.status, status, `${name}: the request`)
      const [told, utterance] = [bodyError(await json(planned)), bodyError(await json(real))]
      const { excluded, ...metadata } = object(told.metadata)
      const { excluded: listed, ...meant } = object(utterance.metadata)
      t.same({ ...told, metadata }, { ...utterance, metadata: meant }, `${name}: the same error`)
      if (listed !== undefined) t.same(excluded, listed, `${name}: the same exclusions`)
      if (name === 'no endpoint is left')
        t.same(
          list(excluded).map((each) => each.filter),
          ['ignore', 'zdr', 'ignore'],
        )
      if (name === 'a price that nobody knows') t.match(excluded, [{ endpoint: 'aye', filter: 'unpriced' }])
    }
  })
  t.equal(a.requests.length + b.requests.length, 0)
  t.same([...gateway.running.store.journal.export()], [])
})

t.test('the edge of the operation', async (t) => {
  const { gateway } = await planning(t)
  const got = await gateway.get('/v1/plan')
  t.equal(got.status, 405)
  t.equal(got.headers.get('allow'), 'POST')
  const broken = await gateway.post('/v1/plan', '{"model":')
  t.match([broken.status, await json(broken)], [400, { error: { message: /valid JSON/ } }])
  const messages = await gateway.post('/v1/plan?format=messages', { ...QUESTION, max_tokens: 'many' })
  t.match(
    [messages.status, await json(messages)],
    [400, { error: { code: 400, metadata: { error_type: 'invalid_request' } } }],
    'the standard body',
  )
})

t.test('a plan counts against the rate limit of its key', async (t) => {
  const { gateway } = await planning(t)
  const statuses: number[] = []
  for (const path of ['/v1/plan', '/v1/plan', '/v1/chat/completions', '/v1/plan'])
    statuses.push((await gateway.post(path, QUESTION, as(SLOW))).status)
  t.same(statuses, [200, 200, 429, 429])
})
