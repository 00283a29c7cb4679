/** `GET /v1/generations/{id}`: what one request did and what it cost, line by line, over real sockets. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { list, object } from '../support/fold.ts'
import type { Scene } from '../support/scene.ts'
import { startScene } from '../support/scene.ts'
import { jsonAnswer, REFUSING_URL } from '../support/upstream.ts'
import { answerFor, type Utterance, upstreamError } from '../support/wire.ts'

const APP = 'sk-router-v1-app00000000000000000000000'
const BOSS = 'sk-router-v1-boss0000000000000000000000'
const KEYS = `auth: { keys: [ { name: app, key: "${APP}", limit: "10" }, { name: boss, key: "${BOSS}", management: true } ] }`

const PROMPT = 'Write to ann@example.com and bob@example.com'

async function askDetail(scene: Scene, body: JsonObject = {}): Promise<JsonObject> {
  const reply = await scene.ask({ messages: [{ role: 'user', content: PROMPT }], ...body }, 'chat', { authorization: `Bearer ${APP}` })
  await reply.text()
  const id = reply.headers.get('x-generation-id')
  const found = await scene.gateway.get(`/v1/generations/${id}`, { authorization: `Bearer ${BOSS}` })
  return object(((await found.json()) as JsonObject).data)
}

/** The lines sum up to the charge of the row exactly, and none of them is there to make it so. */
function sound(t: Test, scene: Scene, detail: JsonObject): void {
  const lines = list(detail.money).map(object)
  const sum = lines.reduce((all, { nano }) => all + Number(nano), 0)
  t.equal(sum, scene.rows().at(-1)?.settled?.cost, 'the lines sum up to the charge')
  t.notMatch(
    lines.map(({ item }) => item),
    ['other'],
  )
  for (const { units, unit_price: price, nano } of lines)
    if (price !== null) t.ok(Math.abs(Number(units) * Number(price) * 1e9 - Number(nano)) <= 1, 'a line is its units at their price')
}

const priced = (url: string, more = ''): string => `
${KEYS}
${more}
providers:
  first: { name: First, dialect: openai-chat, base_url: "${url}/v1", key: "sk-provider-secret" }
  second: { name: Second, dialect: openai-chat, base_url: "${url}/v1", key: "sk-other-secret" }
models:
  acme/one:
    endpoints:
      - { provider: first, model: one, price: { prompt: "1.0001", completion: "2.5", cached: "0.1", reasoning: "7" } }
      - { provider: second, model: one-b, price: { prompt: "3", completion: "4" } }
  acme/two: { endpoints: [ { provider: first, model: two, price: { prompt: "0.3333", completion: "0.7777" } } ] }
`

t.test('a plain request: one attempt, its times, each quantity at its price', async (t) => {
  const scene: Scene = await startScene(t, {
    config: priced,
    answer: async (seen) => {
      await scene.clock.advance(40)
      return answerFor(seen, { text: ['fine'], usage: { input: 111, output: 17, cached: 33, reasoning: 5 } })
    },
  })
  const detail = await askDetail(scene, { provider: { order: ['first', 'second'] } })
  t.match(detail, {
    attempts: [
      { position: 1, provider_name: 'First', status: 200, at_ms: 0, time_to_first_token: 40, reason: 'first', choice: 'order', turn: 1 },
    ],
    timeline: [{ kind: 'admitted' }, { kind: 'attempt', at_ms: 0 }, { kind: 'first_content', at_ms: 40 }, { kind: 'settled' }],
    money: [
      { item: 'prompt', units: 78, unit_price: '0.0000010001', nano: 78_008 },
      { item: 'cached', units: 33, unit_price: '0.0000001', nano: 3_300 },
      { item: 'completion', units: 12, unit_price: '0.0000025', nano: 30_000 },
      { item: 'reasoning', units: 5, unit_price: '0.000007', nano: 35_000 },
    ],
    steps: [],
    guardrails: [],
    plugins: [],
  })
  sound(t, scene, detail)
  const { settled, hold } = scene.rows().at(-1) ?? {}
  t.match(detail.reservation, {
    held: [{ nano: hold?.hold }],
    charged: { nano: settled?.cost },
    released: { nano: Number(hold?.hold) - Number(settled?.cost) },
  })
  const facts = JSON.parse(settled?.facts ?? '') as JsonObject
  t.match(facts, { rates: '1.0001 2.5 0.1 - 7', why: 'order' })
  t.notOk('detail' in facts || 'provider_responses' in facts || 'sent_at' in facts, 'nothing is written where there is nothing to say')
})

t.test('a failover: each attempt with its time, its status and why it was made', async (t) => {
  const scene: Scene = await startScene(t, {
    config: priced,
    answer: async (seen) => {
      await scene.clock.advance(25)
      return seen.json.model === 'one' ? upstreamError(503) : answerFor(seen, { text: ['fine'], usage: { input: 100, output: 10 } })
    },
  })
  const detail = await askDetail(scene, { provider: { order: ['first', 'second'] } })
  t.match(detail, {
    attempts: [
      { provider_name: 'First', status: 503, at_ms: 0, duration_ms: 25, time_to_first_token: null, reason: 'first', choice: 'order' },
      { provider_name: 'Second', status: 200, at_ms: 25, time_to_first_token: 25, reason: 'previous_failed', error: null },
    ],
    timeline: [{ kind: 'admitted' }, { kind: 'attempt', at_ms: 0 }, { kind: 'attempt', at_ms: 25 }, { kind: 'first_content' }, {}],
    money: [
      { item: 'prompt', nano: 300_000 },
      { item: 'completion', nano: 40_000 },
    ],
  })
  sound(t, scene, detail)
})

t.test('all attempts failed: there was no first content, and nothing is charged', async (t) => {
  const scene = await startScene(t, { config: priced, answer: () => upstreamError(503) })
  const detail = await askDetail(scene)
  t.strictSame(
    list(detail.timeline).map((event) => object(event).kind),
    ['admitted', 'attempt', 'attempt', 'settled'],
  )
  t.match(detail.money, [{ item: 'providers', nano: 0 }])
})

const ASKS: Utterance = {
  calls: [{ id: 'call_1', name: 'router_advisor', args: [JSON.stringify({ prompt: 'the question of the model' })] }],
  usage: { input: 101, output: 11 },
}

t.test('a tool loop: the tool, the model that it called, and the lines of every turn', async (t) => {
  const scene: Scene = await startScene(t, {
    config: priced,
    answer: async (seen) => {
      await scene.clock.advance(10)
      if (seen.json.model === 'two') return answerFor(seen, { text: ['Do nothing.'], usage: { input: 1001, output: 51 } })
      return answerFor(seen, seen.body.includes('call_1') ? { text: ['So be it.'], usage: { input: 203, output: 21 } } : ASKS)
    },
  })
  const detail = await askDetail(scene, {
    provider: { order: ['first'] },
    tools: [{ type: 'router:advisor', parameters: { model: 'acme/two' } }],
  })
  t.match(detail, {
    steps: [
      { kind: 'tool', name: 'advisor', at_ms: 10, duration_ms: 10, within: null, error: null },
      {
        kind: 'model',
        name: 'acme/two',
        within: 1,
        at_ms: 10,
        duration_ms: 10,
        tokens: { prompt: 1001, completion: 51 },
        usd: 0.000373296,
        attempts: [{ provider_name: 'First', status: 200, at_ms: 10 }],
      },
    ],
    attempts: [
      { turn: 1, reason: 'first' },
      { turn: 2, reason: 'next_turn', at_ms: 20 },
    ],
  })
  const lines = list(detail.money).map(object)
  t.strictSame(
    lines.map(({ item, model, units }) => [item, model, units]),
    [
      ['prompt', 'acme/one', 101],
      ['completion', 'acme/one', 11],
      ['prompt', 'acme/two', 1001],
      ['completion', 'acme/two', 51],
      ['prompt', 'acme/one', 203],
      ['completion', 'acme/one', 21],
    ],
  )
  sound(t, scene, detail)
  t.ok(list(object(detail.reservation).held).length > 1, 'each turn and call has extended the hold')
  t.notMatch(scene.rows().at(-1)?.settled?.facts, /question of the model|Do nothing|So be it/)
})

t.test('guardrails and plugins: rule, action and number, and no text', async (t) => {
  const engine = `engine: { type: webhook, url: "${REFUSING_URL}/check", on_error: open }`
  const scene: Scene = await startScene(t, {
    config: (url) =>
      priced(
        url,
        `guardrails: [ { name: mail, content_filter_builtins: [ { slug: email, action: redact } ] }, { name: hook, ${engine} } ]
plugins: { defaults: { moderation: { url: "${url}/v1", key: sk-judge } } }`,
      ),
    answer: async (seen) => {
      if (!seen.path.endsWith('/moderations')) return answerFor(seen, { text: ['fine'], usage: { input: 100, output: 10 } })
      await scene.clock.advance(30)
      return jsonAnswer({ id: 'm', model: 'm', results: [{ flagged: false, categories: {}, category_scores: {} }] })
    },
  })
  const detail = await askDetail(scene, {
    plugins: [{ id: 'moderation' }],
  })
  t.match(detail, {
    guardrails: [
      { guardrail: 'mail', action: 'redacted', direction: 'input', count: 2, rule: 'content-filter', kinds: ['EMAIL'] },
      { guardrail: 'hook', action: 'unchecked', direction: 'input', count: 0 },
    ],
    plugins: [{ name: 'moderation', figures: { flagged: false }, usd: 0 }],
    steps: [
      { kind: 'guardrail', name: 'hook', error: 'unanswered' },
      { kind: 'plugin', name: 'moderation', error: null, duration_ms: 30 },
    ],
  })
  t.match(list(detail.timeline).slice(0, 2), [{ kind: 'admitted' }, { kind: 'layers', at_ms: 0, duration_ms: 30 }], 'before the first call')
  sound(t, scene, detail)
  t.notMatch(JSON.stringify(detail) + scene.rows().at(-1)?.settled?.facts, /example\.com|ann@/)
})

t.test('a row that an earlier version has written still shows', async (t) => {
  const scene = await startScene(t, { config: priced })
  await askDetail(scene)
  const { journal } = scene.gateway.running.store
  const key = scene.rows().at(-1)?.hold.key ?? ''
  const seq = (scene.rows().at(-1)?.hold.seq ?? 0) + 1
  journal.hold({ seq, tag: 'oldoldoldold', key, payer: undefined, model: 'acme/one', endpoint: 'acme/one@first', hold: 500_000, floor: 1 })
  const facts = JSON.stringify({
    provider: 'First',
    latency: 1200,
    generation_time: 3000,
    tools_cost: 5_000,
    provider_responses: [
      { provider_name: 'Second', endpoint: 'b', status: 500, latency: 300, code: 'upstream_error' },
      { provider_name: 'First', endpoint: 'a', status: 200, latency: 900 },
    ],
  })
  const counts = { input: 10, output: 5, cached: 0, cacheWrite: 0, reasoning: 0 }
  journal.settle({ seq, status: 'completed', cost: 25_000, at: 1, ...counts, estimated: false, facts, owner: undefined, use: undefined })
  await journal.committed()
  const row = scene.rows().at(-1)
  const found = await scene.gateway.get(`/v1/generations/${row?.id}`, { authorization: `Bearer ${BOSS}` })
  t.match(object(((await found.json()) as JsonObject).data), {
    attempts: [
      { at_ms: null, duration_ms: 300, error: 'upstream_error' },
      { at_ms: null, latency: 900, reason: 'previous_failed' },
    ],
    timeline: [{ kind: 'admitted' }, { kind: 'attempt' }, { kind: 'attempt' }, { kind: 'first_content', at_ms: 1200 }, { kind: 'settled' }],
    money: [
      { item: 'providers', nano: 20_000, units: null },
      { item: 'tools', nano: 5_000 },
    ],
    reservation: { held: [{ nano: 500_000 }] },
  })
})
