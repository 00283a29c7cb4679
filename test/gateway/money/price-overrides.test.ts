/** Prices that depend on the length of the prompt and the time of day: charge, hold, order, ceiling, lists. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { object } from '../../support/fold.ts'
import type { Gateway } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import type { Upstream } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

const LONG_PRICE = `{ prompt: "1.00", completion: "2.00", cached: "0.10", overrides: [ { min_prompt_tokens: 1000, prompt: "2.00", completion: "3.00", cached: "0.20" } ] }`
const NIGHT_PRICE = `{ prompt: "4.00", completion: "4.00", overrides: [ { utc_start: "2200", utc_end: "0600", prompt: "0.50", completion: "0.50" } ] }`
const FLAT_PRICE = `{ prompt: "1.50", completion: "2.50" }`

const yaml = (url: string, limit = '10.00'): string => `
auth: { keys: [ { name: app, key: sk-router-v1-0123456789abcdef, limit: "${limit}" } ] }
providers:
  long: { name: Long, dialect: openai-chat, base_url: "${url}/v1" }
  night: { name: Night, dialect: openai-chat, base_url: "${url}/v1" }
  flat: { name: Flat, dialect: openai-chat, base_url: "${url}/v1" }
models:
  acme/long: { context: 100000, max_output: 1000, endpoints: [ { provider: long, model: m, price: ${LONG_PRICE} } ] }
  acme/night: { context: 100000, max_output: 1000, endpoints: [ { provider: night, model: m, price: ${NIGHT_PRICE} } ] }
  acme/choice:
    context: 100000
    max_output: 1000
    endpoints:
      - { provider: night, model: m, price: ${NIGHT_PRICE} }
      - { provider: long, model: m, price: ${LONG_PRICE} }
      - { provider: flat, model: m, price: ${FLAT_PRICE} }
`

interface AtTime {
  gateway: Gateway
  upstream: Upstream
  clock: FakeClock
}

/** @param time of day in UTC, HHMM. */
async function atTime(t: Test, time = '1200', limit?: string): Promise<AtTime> {
  const clock = new FakeClock(3, Date.UTC(2026, 10, 21, Number(time.slice(0, 2)), Number(time.slice(2))))
  const { gateway, upstream } = await startScene(t, {
    answer: says({ text: ['ok'], usage: { input: 100, output: 10 } }),
    config: (url) => yaml(url, limit),
    clock,
  })
  return { gateway, upstream, clock }
}

const question = (model: string, more: JsonObject = {}, words = 1): JsonObject => ({
  model,
  max_tokens: 100,
  messages: [{ role: 'user', content: 'word '.repeat(words) }],
  ...more,
})

/** Nano-dollars that the reply shows, the generation has and the key was charged. */
async function chargedCost(t: Test, { gateway }: AtTime, body: JsonObject): Promise<number> {
  const usage = async (): Promise<number> => Number(object((await json(await gateway.get('/v1/key'))).data).usage)
  const before = await usage()
  const response = await gateway.post('/v1/chat/completions', body)
  t.equal(response.status, 200)
  const { cost } = object((await json(response)).usage)
  const record = object((await json(await gateway.get(`/v1/generation?id=${response.headers.get('x-generation-id')}`))).data)
  t.equal(record.total_cost, cost)
  t.equal(Math.round(((await usage()) - before) * 1e9), Math.round(Number(cost) * 1e9))
  return Math.round(Number(cost) * 1e9)
}

const json = async (response: Response): Promise<JsonObject> => (await response.json()) as JsonObject

const plan = async ({ gateway }: AtTime, body: JsonObject): Promise<JsonObject> => json(await gateway.post('/v1/plan', body))

t.test('the billed prompt decides the length, strictly above', async (t) => {
  const scene = await atTime(t)
  for (const stream of [false, true]) {
    for (const [input, expected] of [
      [1000, 1000 * 1000 - 400 * 900 + 10 * 2000],
      [1001, 1001 * 2000 - 400 * 1800 + 10 * 3000],
    ] as const) {
      scene.upstream.script = says({ text: ['ok'], usage: { input, output: 10, cached: 400 } })
      if (!stream) t.equal(await chargedCost(t, scene, question('acme/long')), expected, `${input} tokens`)
      else {
        const text = await (await scene.gateway.post('/v1/chat/completions', question('acme/long', { stream }))).text()
        t.match(text, `"cost":${expected / 1e9},`, `${input} tokens, streamed`)
      }
    }
  }
})

t.test('each turn of a tool loop by its own prompt', async (t) => {
  const scene = await atTime(t)
  scene.upstream.script = (request, index) =>
    request.body.includes('"role":"tool"')
      ? says({ text: ['ok'], usage: { input: 1200, output: 10 } })(request, index)
      : says({ calls: [{ id: 'call_1', name: 'router_datetime', args: ['{}'] }], usage: { input: 900, output: 10 } })(request, index)
  const cost = await chargedCost(t, scene, question('acme/long', { tools: [{ type: 'router:datetime' }] }))
  t.equal(cost, 900 * 1000 + 10 * 2000 + 1200 * 2000 + 10 * 3000)
  t.equal(scene.upstream.requests.length, 2)
})

t.test('the time of admission decides the hour, whenever the answer ends', async (t) => {
  const scene = await atTime(t, '2159')
  t.equal(await chargedCost(t, scene, question('acme/night')), 110 * 4000)
  const { clock, upstream } = scene
  upstream.script = async (request, index) => {
    await clock.advance(60_000)
    return says({ text: ['ok'], usage: { input: 100, output: 10 } })(request, index)
  }
  t.equal(await chargedCost(t, scene, question('acme/night')), 110 * 4000, 'it was admitted before the hour')
  t.equal(new Date(clock.now()).toISOString().slice(11, 16), '22:00')
  upstream.script = says({ text: ['ok'], usage: { input: 100, output: 10 } })
  t.equal(await chargedCost(t, scene, question('acme/night')), 110 * 500)
  await clock.advance(8 * 3_600_000 - 60_000)
  t.equal(await chargedCost(t, scene, question('acme/night')), 110 * 500, '05:59')
  await clock.advance(60_000)
  t.equal(await chargedCost(t, scene, question('acme/night')), 110 * 4000, '06:00')
})

t.test('a hold covers the dearest price that the prompt may get, and no dearer one', async (t) => {
  const scene = await atTime(t)
  const plannedHold = async (model: string, words: number): Promise<{ hold: number; bound: number }> => {
    const { hold } = await plan(scene, question(model, {}, words))
    const { usd, input_tokens_bound: bound } = object(hold)
    return { hold: Math.round(Number(usd) * 1e9), bound: Number(bound) }
  }
  const long = await plannedHold('acme/long', 1)
  t.ok(long.bound > 1000, `the bound is ${long.bound} tokens`)
  t.equal(long.hold, long.bound * 2000 + 100 * 3000)
  const noon = await plannedHold('acme/night', 1)
  t.equal(noon.hold, noon.bound * 4000 + 100 * 4000)
  const night = await atTime(t, '2330')
  const { hold } = await plan(night, question('acme/night'))
  t.equal(Math.round(Number(object(hold).usd) * 1e9), noon.bound * 500 + 100 * 500, 'at night the dear price cannot come')
  const poor = await atTime(t, '1200', '0.002')
  const refused = await poor.gateway.post('/v1/chat/completions', question('acme/long'))
  t.equal(refused.status, 402)
  t.equal(poor.upstream.requests.length, 0)
})

t.test('order, ceiling and plan go by the price of this request at this time', async (t) => {
  const noon = await atTime(t, '1200')
  const night = await atTime(t, '0200')
  const sorted = (words: number): JsonObject => question('acme/choice', { provider: { sort: 'price' } }, words)
  const order = async (scene: AtTime, body: JsonObject): Promise<unknown[]> =>
    ((await plan(scene, body)).candidates as JsonObject[]).map(({ provider }) => provider)
  t.same(await order(noon, sorted(1)), ['Long', 'Flat', 'Night'])
  t.same(await order(noon, sorted(2000)), ['Flat', 'Long', 'Night'], 'a long prompt costs more there')
  t.same(await order(night, sorted(1)), ['Night', 'Long', 'Flat'])
  const capped = (words: number): JsonObject => question('acme/choice', { provider: { max_price: { prompt: 1.2 } } }, words)
  t.same(await order(noon, capped(1)), ['Long'])
  t.same(await order(night, capped(2000)), ['Night'])
  t.equal((await noon.gateway.post('/v1/chat/completions', capped(2000))).status, 404, 'nothing is below the ceiling')
  const [first] = (await plan(night, sorted(1))).candidates as JsonObject[]
  t.match(first, { price: { prompt: '0.5', completion: '0.5' }, why: { by: 'price', value: 1 } })
  const [, , last] = (await plan(noon, sorted(2000))).candidates as JsonObject[]
  t.match(last, { price: { prompt: '4', completion: '4' } })
  const answer = await json(await noon.gateway.post('/v1/chat/completions', sorted(1)))
  t.equal(answer.provider, 'Long')
})

t.test('lists show overrides as documented', async (t) => {
  const { gateway } = await atTime(t)
  const { data } = (await (await gateway.get('/v1/models')).json()) as { data: JsonObject[] }
  const modelPricing = (id: string): JsonObject => object(data.find((model) => model.id === id)?.pricing)
  t.same(modelPricing('acme/long').overrides, [
    { min_prompt_tokens: 1000, prompt: '0.000002', completion: '0.000003', input_cache_read: '0.0000002' },
  ])
  t.match(modelPricing('acme/long'), { prompt: '0.000001', completion: '0.000002' }, 'the price itself is that of ordinary conditions')
  t.same(modelPricing('acme/night').overrides, [{ utc_start: 2200, utc_end: 600, prompt: '0.0000005', completion: '0.0000005' }])
  const endpoints = object((await json(await gateway.get('/v1/models/acme/choice/endpoints'))).data).endpoints as JsonObject[]
  t.same(
    endpoints.map(({ pricing }) => (object(pricing).overrides as JsonObject[] | undefined)?.length),
    [1, 1, undefined],
  )
})

t.test('a night that begins on a Friday lasts until Saturday, and whole days of the week are prices of their own', async (t) => {
  const prices = `{ prompt: "4.00", completion: "4.00", overrides: [ { utc_start: "2200", utc_end: "0600", days: [fri], prompt: "1.00", completion: "1.00" }, { days: [sun], not_on: ["2026-12-06"], prompt: "2.00", completion: "2.00" } ] }`
  const costAt = async (at: string): Promise<number> => {
    const { gateway } = await startScene(t, {
      answer: says({ text: ['ok'], usage: { input: 100, output: 10 } }),
      clock: new FakeClock(3, Date.parse(at)),
      config: (url) => `
auth: { keys: [ { name: app, key: sk-router-v1-0123456789abcdef, limit: "10.00" } ] }
providers: { week: { dialect: openai-chat, base_url: "${url}/v1" } }
models: { acme/week: { max_output: 1000, endpoints: [ { provider: week, model: m, price: ${prices} } ] } }
`,
    })
    return Number(object((await json(await gateway.post('/v1/chat/completions', question('acme/week')))).usage).cost)
  }
  t.equal(await costAt('2026-11-27T05:00:00Z'), 0.00044, 'the night before is a Thursday')
  t.equal(await costAt('2026-11-27T22:00:00Z'), 0.00011)
  t.equal(await costAt('2026-11-28T05:59:00Z'), 0.00011)
  t.equal(await costAt('2026-11-28T22:00:00Z'), 0.00044, 'a Saturday')
  t.equal(await costAt('2026-11-29T00:00:00Z'), 0.00022, 'a Sunday')
  t.equal(await costAt('2026-12-06T12:00:00Z'), 0.00044, 'but not this one')
})
