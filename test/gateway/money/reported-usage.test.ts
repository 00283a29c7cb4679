/** Reports of usage by providers: where the counts stand, as what they are written, at which tier, and what cannot be true. */
import t from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { jsonAnswer, type Seen, sseAnswer } from '../../support/upstream.ts'

/** Prices in nano-dollars for each token. */
const PROMPT = 1_000
const COMPLETION = 2_000
const CACHED = 100
const WRITTEN = 1_250
const WRITTEN_LONG = 2_000
const PRICE = '{ prompt: "1.00", completion: "2.00", cached: "0.10", cache_write: "1.25", cache_write_1h: "2.00" }'
const PATHS = { chat: '/v1/chat/completions', responses: '/v1/responses', gemini: '/v1/chat/completions', messages: '/v1/messages' }

type Way = keyof typeof PATHS

/** Members of the provider's reply: its usage, and what stands beside it or in its choice. */
interface Report {
  usage?: JsonObject | undefined
  beside?: JsonObject
  /** The same behind the choices. */
  behind?: JsonObject
  inChoice?: JsonObject
}

let report: Report = {}

function answer(seen: Seen) {
  const { usage, beside, behind, inChoice } = report
  if (seen.path.includes('generateContent') || seen.path.includes('GenerateContent')) {
    const reply = {
      candidates: [{ content: { role: 'model', parts: [{ text: 'fine' }] }, finishReason: 'STOP' }],
      usageMetadata: usage ?? {},
    }
    return seen.path.includes('stream') ? sseAnswer([`data: ${JSON.stringify(reply)}\n\n`]) : jsonAnswer(reply)
  }
  if (seen.path.includes('messages')) {
    const content = [{ type: 'text', text: 'fine' }]
    return jsonAnswer({ id: 'm1', type: 'message', role: 'assistant', model: 'm', content, stop_reason: 'end_turn', usage: usage ?? {} })
  }
  if (seen.path.includes('responses')) {
    const output = [
      {
        id: 'm1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'fine', annotations: [] }],
      },
    ]
    return jsonAnswer({ id: 'r1', object: 'response', status: 'completed', model: 'm', output, usage: usage ?? null, ...beside })
  }
  const head = { id: 'c1', created: 1, model: 'm', ...beside }
  if (!seen.body.includes('"stream":true')) {
    const choice = { index: 0, message: { role: 'assistant', content: 'fine' }, finish_reason: 'stop', ...inChoice }
    return jsonAnswer({ object: 'chat.completion', ...head, choices: [choice], usage, ...behind })
  }
  const frames: JsonObject[] = [
    { choices: [{ index: 0, delta: { role: 'assistant', content: 'fine' }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop', ...inChoice }], ...(usage ? { usage } : {}) },
  ]
  return sseAnswer([
    ...frames.map((frame) => `data: ${JSON.stringify({ object: 'chat.completion.chunk', ...head, ...frame, ...behind })}\n\n`),
    'data: [DONE]\n\n',
  ])
}

const MODEL = { chat: 'm/chat', responses: 'm/responses', gemini: 'm/gemini', messages: 'm/messages' } as const

const scene = await startScene(t, {
  answer,
  config: (url) => `
auth:
  keys:
    - { name: free, key: sk-router-v1-0123456789abcdef0123456789abcdef }
    - { name: small, key: sk-router-v1-small6789abcdef0123456789abcdef, limit: "500.00" }
    - { name: boss, key: sk-router-v1-boss56789abcdef0123456789abcdef, management: true }
providers:
  chat: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up }
  responses: { dialect: openai-responses, base_url: "${url}/v1", key: sk-up }
  messages: { dialect: anthropic, base_url: "${url}", key: sk-up }
  gemini: { dialect: gemini, base_url: "${url}/v1beta", key: sk-up }
models:
  m/chat: { endpoints: [ { provider: chat, model: m, price: ${PRICE} } ] }
  m/responses: { endpoints: [ { provider: responses, model: m, price: ${PRICE} } ] }
  m/messages: { endpoints: [ { provider: messages, model: m, price: ${PRICE} } ] }
  m/gemini: { endpoints: [ { provider: gemini, model: m, price: ${PRICE} } ] }
  m/short: { endpoints: [ { provider: responses, model: s, price: { prompt: "1.00", completion: "2.00", cache_write: "1.25" } } ] }
  m/sized: { context: 100000, max_output: 8000, endpoints: [ { provider: chat, model: m, supported_parameters: [max_tokens, tools], price: ${PRICE} } ] }
  m/sized-messages: { context: 100000, max_output: 8000, endpoints: [ { provider: messages, model: m, supported_parameters: [max_tokens, tools], price: ${PRICE} } ] }
  m/tiers:
    context: 100000
    endpoints:
      - { provider: chat, model: t, price: { prompt: "1.00", completion: "2.00" } }
      - { provider: chat, model: t, tier: flex, price: { prompt: "0.50", completion: "1.00" } }
      - { provider: chat, model: t, tier: priority, price: { prompt: "2.00", completion: "4.00" } }
      - { provider: chat, model: t, tier: ultrafast, price: { prompt: "6.00", completion: "12.00" } }
  m/gemini-tiers:
    endpoints:
      - { provider: gemini, model: t, price: { prompt: "1.00", completion: "2.00" } }
      - { provider: gemini, model: t, tier: flex, price: { prompt: "0.50", completion: "1.00" } }
      - { provider: gemini, model: t, tier: priority, price: { prompt: "2.00", completion: "4.00" } }
`,
})
const SMALL = { authorization: 'Bearer sk-router-v1-small6789abcdef0123456789abcdef' }
const BOSS = { authorization: 'Bearer sk-router-v1-boss56789abcdef0123456789abcdef' }

interface Asked {
  readonly body: JsonObject
  readonly row: { cost: number; input: number; output: number; cached: number; cacheWrite: number; estimated: boolean }
  readonly record: JsonObject
}

async function ask(of: Scene, way: Way, more: JsonObject = {}, headers?: Record<string, string>): Promise<Asked> {
  const messages = [{ role: 'user', content: 'Hi' }]
  const own = way === 'responses' ? { input: 'Hi' } : way === 'messages' ? { messages, max_tokens: 100 } : { messages }
  const reply = await of.gateway.post(PATHS[way], { model: MODEL[way], ...own, ...more }, headers)
  const text = await reply.text()
  const body = text.startsWith('{') ? (JSON.parse(text) as JsonObject) : { text }
  const id = reply.headers.get('x-generation-id')
  const last = of.rows().find((record) => record.id === id)
  if (!last?.settled) throw new Error(text)
  const found = (await (await of.gateway.get(`/v1/generation?id=${id}`, headers)).json()) as { data: JsonObject }
  return { body, row: last.settled, record: found.data }
}

interface Case {
  name: string
  way: Way
  report: Report
  counts: { input: number; output: number; cached?: number; cacheWrite?: number }
  /** Written for one hour or longer. */
  long?: number
}

const TOKENS = { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 }
const CASES: Case[] = [
  {
    name: 'DashScope: writes in the details, with their lifetime',
    way: 'chat',
    report: {
      usage: {
        ...TOKENS,
        prompt_tokens_details: {
          cached_tokens: 200,
          cache_creation_input_tokens: 300,
          cache_creation: { ephemeral_5m_input_tokens: 300 },
          cache_type: 'ephemeral',
        },
      },
    },
    counts: { input: 1000, output: 500, cached: 200, cacheWrite: 300 },
  },
  {
    name: 'writes by lifetime alone',
    way: 'chat',
    report: {
      usage: { ...TOKENS, prompt_tokens_details: { cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 50 } } },
    },
    counts: { input: 1000, output: 500, cacheWrite: 150 },
    long: 50,
  },
  {
    name: 'beside the details, within the prompt',
    way: 'chat',
    report: { usage: { ...TOKENS, cache_creation_input_tokens: 300, cache_read_input_tokens: 200 } },
    counts: { input: 1000, output: 500, cached: 200, cacheWrite: 300 },
  },
  {
    name: "beside the prompt, as in Anthropic's own wire",
    way: 'chat',
    report: { usage: { prompt_tokens: 100, completion_tokens: 500, cache_creation_input_tokens: 300, cache_read_input_tokens: 200 } },
    counts: { input: 600, output: 500, cached: 200, cacheWrite: 300 },
  },
  { name: 'Moonshot: in the choice', way: 'chat', report: { inChoice: { usage: TOKENS } }, counts: { input: 1000, output: 500 } },
  {
    name: 'texts',
    way: 'chat',
    report: { usage: { prompt_tokens: '1000', completion_tokens: '500', total_tokens: '1500' } },
    counts: { input: 1000, output: 500 },
  },
  {
    name: 'fractions',
    way: 'chat',
    report: { usage: { prompt_tokens: 999.2, completion_tokens: 499.5 } },
    counts: { input: 1000, output: 500 },
  },
  {
    name: 'texts of Gemini',
    way: 'gemini',
    report: { usage: { promptTokenCount: '1000', candidatesTokenCount: '400', thoughtsTokenCount: '100' } },
    counts: { input: 1000, output: 500 },
  },
  {
    name: 'texts of Anthropic',
    way: 'messages',
    report: { usage: { input_tokens: '900', output_tokens: '500', cache_read_input_tokens: '100' } },
    counts: { input: 1000, output: 500, cached: 100 },
  },
  {
    name: 'OpenAI: writes for 30 minutes and for 12 hours',
    way: 'responses',
    report: {
      usage: {
        input_tokens: 1000,
        output_tokens: 500,
        input_tokens_details: {
          cached_tokens: 0,
          cache_write_tokens: 400,
          cache_write_tokens_details: { ttl_30m_tokens: 300, ttl_12h_tokens: 100 },
        },
      },
    },
    counts: { input: 1000, output: 500, cacheWrite: 400 },
    long: 100,
  },
]

t.test('counts are read wherever they stand and as whatever they are written', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const { name, way, report: reported, counts, long = 0 } of CASES)
      for (const stream of way === 'chat' ? [false, true] : [false]) {
        report = reported
        const { row } = await ask(scene, way, stream ? { stream } : {})
        const { input, output, cached = 0, cacheWrite = 0 } = counts
        const kept = { input: row.input, output: row.output, cached: row.cached, cacheWrite: row.cacheWrite, estimated: row.estimated }
        t.same(kept, { input, output, cached, cacheWrite, estimated: false }, `${name}${stream ? ', streamed' : ''}`)
        const writes = (cacheWrite - long) * WRITTEN + long * WRITTEN_LONG
        t.equal(row.cost, (input - cached - cacheWrite) * PROMPT + cached * CACHED + writes + output * COMPLETION, name)
      }
  })
})

t.test('a count below zero, or that is no number, is none: it is estimated', async (t) => {
  for (const wrong of [-5, 'many', null, {}] as Json[]) {
    report = { usage: { prompt_tokens: wrong, completion_tokens: 500 } }
    const { row } = await ask(scene, 'chat')
    t.match(row, { output: 500, estimated: true }, JSON.stringify(wrong))
    t.ok(row.input > 0)
  }
})

t.test('a write to the cache whose lifetime has no price takes the dearest, and says so', async (t) => {
  const details = { cache_write_tokens: 100, cache_write_tokens_details: { ttl_30m_tokens: 0, ttl_12h_tokens: 100 } }
  report = { usage: { input_tokens: 1000, output_tokens: 0, input_tokens_details: details } }
  const { row, record } = await ask(scene, 'responses', { model: 'm/short' })
  t.equal(row.cost, 900 * PROMPT + 100 * WRITTEN)
  t.same(record.price_assumed, ['cache_write'])
})

const PLAIN = 1000 * 1000 + 500 * 2000

t.test('the tier that served is charged, by the words of each wire', async (t) => {
  await every(t, 'every word', async (t) => {
    for (const [usage, factor] of [
      [{ serviceTier: 'priority' }, 2],
      [{ serviceTier: 'flex' }, 0.5],
      [{ serviceTier: 'standard' }, 1],
      [{ serviceTier: 'unspecified' }, 1],
      [{ trafficType: 'ON_DEMAND_PRIORITY' }, 2],
    ] as [JsonObject, number][]) {
      report = { usage: { promptTokenCount: 1000, candidatesTokenCount: 500, ...usage } }
      t.equal((await ask(scene, 'gemini', { model: 'm/gemini-tiers' })).row.cost, PLAIN * factor, JSON.stringify(usage))
    }
    for (const stream of [false, true]) {
      report = { usage: { ...TOKENS, service_tier: 'priority' } }
      t.equal((await ask(scene, 'chat', { model: 'm/tiers', stream })).row.cost, PLAIN * 2, 'Mistral has it within the usage')
      report = { usage: TOKENS, beside: { service_tier: 'ultrafast' } }
      t.equal((await ask(scene, 'chat', { model: 'm/tiers', stream })).row.cost, PLAIN * 6)
    }
  })
})

t.test('a tier by a word that is not known is charged at the dearest of the endpoint, recorded, and not shown to callers', async (t) => {
  for (const word of ['standard_plus', 'Turbo'])
    for (const stream of [false, true]) {
      // Before the choices of a chunk or behind them.
      report = word === 'Turbo' ? { usage: TOKENS, behind: { service_tier: word } } : { usage: TOKENS, beside: { service_tier: word } }
      const { body, row, record } = await ask(scene, 'chat', { model: 'm/tiers', stream })
      t.equal(row.cost, PLAIN * 6)
      t.match(record, { service_tier: 'unknown', native_service_tier: word, price_assumed: ['service_tier'] })
      t.notMatch(JSON.stringify(body), new RegExp(word))
    }
  report = { usage: TOKENS, beside: { service_tier: 'standard' } }
  t.equal((await ask(scene, 'chat', { model: 'm/tiers' })).body.service_tier, 'default')
  report = { usage: TOKENS, beside: { service_tier: 'ultrafast' } }
  t.equal((await ask(scene, 'chat', { model: 'm/tiers' })).body.service_tier, 'priority', 'the nearest word that clients know')
})

t.test('an endpoint of the tier `ultrafast` serves requests for it alone, and is sent its word', async (t) => {
  report = { usage: TOKENS }
  await ask(scene, 'chat', { model: 'm/tiers' })
  t.equal(scene.upstream.requests.at(-1)?.json.service_tier, undefined)
  const { row } = await ask(scene, 'chat', { model: 'm/tiers', service_tier: 'ultrafast' })
  t.equal(scene.upstream.requests.at(-1)?.json.service_tier, 'ultrafast')
  t.equal(row.cost, PLAIN * 6)
})

t.test('a report beyond what is possible is charged what was held, and the rest is disputed', async (t) => {
  const spent = async (): Promise<number> => {
    const key = (await (await scene.gateway.get('/v1/key', SMALL)).json()) as { data: { usage: number } }
    return Math.round(key.data.usage * 1e9)
  }
  const billed = (input: number, output: number): number => input * PROMPT + output * COMPLETION
  for (const stream of [false, true])
    for (const headers of [SMALL, undefined])
      for (const [name, usage, input, output] of [
        ['an unexplained total', { prompt_tokens: 5, completion_tokens: 3, total_tokens: 1e12 }, 5, 1e12 - 5],
        ['output', { prompt_tokens: 5, completion_tokens: 3e9 }, 5, 3e9],
        ['input', { prompt_tokens: '1e9', completion_tokens: 3 }, 1e9, 3],
      ] as [string, JsonObject, number, number][]) {
        report = { usage }
        const before = await spent()
        const { row, record } = await ask(scene, 'chat', { model: 'm/sized', max_tokens: 10, stream }, headers)
        const hold = Number(scene.rows().find(({ id }) => id === record.id)?.hold.hold)
        t.ok(row.cost <= hold && row.cost > hold - 2 * COMPLETION, `${name}: ${row.cost} of ${hold}`)
        t.match(record, { disputed_nano: billed(input, output) - row.cost, unrecovered_nano: 0, estimated: true })
        if (headers) t.equal((await spent()) - before, row.cost)
      }
  const metrics = await (await fetch(`${scene.gateway.admin}/metrics`)).text()
  t.match(metrics, /headgate_disputed_usd_total \d{4}/)
  const found = await eventually('the event', async () => {
    const { data } = (await (await scene.gateway.get('/v1/events?type=headgate.ledger.loss', BOSS)).json()) as { data: JsonObject[] }
    return data[0]
  })
  t.match(found, { data: { kind: 'disputed', provider: 'chat' } })
})

t.test('one claimed search makes two contexts possible, and no more; a side that can be true is charged and shown as it is', async (t) => {
  const searches = { server_tool_use_details: { web_search_requests: 1 } }
  report = { usage: { prompt_tokens: 200_000, completion_tokens: 3, ...searches } }
  t.match((await ask(scene, 'chat', { model: 'm/sized', max_tokens: 10 })).record, { disputed_nano: 0, estimated: false })
  for (const [usage, sent, made] of [
    [{ prompt_tokens: 5_000_000, completion_tokens: 3, ...searches }, 5_000_000, 3],
    [{ prompt_tokens: 5_000_000, completion_tokens: 3 }, 5_000_000, 3],
    [{ prompt_tokens: 7, completion_tokens: 5_000_000 }, 7, 5_000_000],
  ] as [JsonObject, number, number][]) {
    report = { usage }
    const { row, record } = await ask(scene, 'chat', { model: 'm/sized', max_tokens: 10 })
    t.equal(row.cost + Number(record.disputed_nano), sent * PROMPT + made * COMPLETION, JSON.stringify(usage))
    if (made === 3) t.match(record, { tokens_completion: 3, disputed_nano: /^[1-9]\d{8,}$/ })
    else t.match(record, { tokens_prompt: 7, disputed_nano: /^[1-9]\d{8,}$/ })
  }
})

t.test('tools that the caller runs make no further round possible, and those of the provider ten', async (t) => {
  const disputed = async (input: number, tool: JsonObject): Promise<number> => {
    report = { usage: { input_tokens: input, output_tokens: 3 } }
    return Number((await ask(scene, 'messages', { model: 'm/sized-messages', max_tokens: 10, tools: [tool] })).record.disputed_nano)
  }
  const editor = { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' }
  const code = { type: 'code_execution_20250825', name: 'code_execution' }
  t.ok((await disputed(400_000, editor)) > 0)
  t.equal(await disputed(400_000, code), 0)
  t.ok((await disputed(5_000_000, code)) > 0)
  const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 2 }
  t.equal(await disputed(300_000, search), 0)
  t.equal(await disputed(500_000, search), 0, 'calls that the tool refuses are rounds, too')
  t.ok((await disputed(700_000, search)) > 0)
  report = { usage: { input_tokens: 500_000, output_tokens: 3 } }
  const bounded = { model: 'm/sized-messages', max_tokens: 10, tools: [code], max_tool_calls: 1 }
  t.equal((await ask(scene, 'messages', bounded)).record.disputed_nano, 0, 'a bound that the provider does not know bounds nothing')
})

t.test('charges reported usage above the hold as it is', async (t) => {
  await every(t, 'every report', async (t) => {
    for (const [name, model, usage, more] of [
      ['the whole context', 'm/sized', { prompt_tokens: 100_000, completion_tokens: 10 }, {}],
      ['reasoning beyond the cap', 'm/chat', { prompt_tokens: 5, completion_tokens: 120_000 }, { max_tokens: 10 }],
      ['a context that is not known', 'm/chat', { prompt_tokens: 20_000_000, completion_tokens: 10 }, {}],
    ] as [string, string, { prompt_tokens: number; completion_tokens: number }, JsonObject][]) {
      report = { usage }
      const { row, record } = await ask(scene, 'chat', { model, ...more })
      t.equal(row.cost, usage.prompt_tokens * PROMPT + usage.completion_tokens * COMPLETION, name)
      t.match(record, { disputed_nano: 0, estimated: false })
    }
  })
})
