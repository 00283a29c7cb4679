/**
 * Fees that providers state for their own tools beside tokens are charged: Perplexity's searches, citations and hidden reasoning by their cost in USD
 * (npm @perplexity-ai/perplexity_ai 0.38.5, generated/api.d.ts, `UsageInfo`), xAI's calls of tools by their kind (docs.x.ai, "Tools overview").
 */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, Gate, jsonAnswer, sseAnswer } from '../../support/upstream.ts'

let usage: JsonObject = {}

const chat = (streamed: boolean): Answer => {
  const own = { id: 'chatcmpl-1', model: 'up', created: 1 }
  const content = { role: 'assistant', content: 'hi' }
  if (!streamed)
    return jsonAnswer({ ...own, object: 'chat.completion', choices: [{ index: 0, message: content, finish_reason: 'stop' }], usage })
  const chunk = { ...own, object: 'chat.completion.chunk' }
  // Perplexity reports the usage in each chunk.
  const chunks = [
    { ...chunk, choices: [{ index: 0, delta: content, finish_reason: null }], usage },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage },
  ]
  return sseAnswer([...chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`), 'data: [DONE]\n\n'])
}

const responses = (streamed: boolean): Answer => {
  const item = {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'hi', annotations: [] }],
  }
  // Of its tools xAI shows calls of the type `custom_tool_call`.
  const call = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'xs_1', name: 'x_keyword_search', input: '{}', status: 'completed' }
  const response = { id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'up', output: [call, item], usage }
  if (!streamed) return jsonAnswer(response)
  const events = [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    ...[call, item].flatMap((each, output_index) => [
      { type: 'response.output_item.added', output_index, item: { ...each, status: 'in_progress' } },
      { type: 'response.output_item.done', output_index, item: each },
    ]),
    { type: 'response.completed', response },
  ]
  return sseAnswer(events.map((event) => `data: ${JSON.stringify(event)}\n\n`))
}

const { gateway } = await startScene(t, {
  answer: (seen) => (seen.path.includes('responses') ? responses(seen.json.stream === true) : chat(seen.json.stream === true)),
  config: (url) => `
auth: { keys: [ { name: app, key: sk-router-v1-0123456789abcdef, limit: "100.00" }, { name: poor, key: sk-router-v1-poor56789abcdef0123, limit: "0.08" }, { name: boss, key: sk-router-v1-boss56789abcdef0123, management: true } ] }
providers:
  sonar: { dialect: openai-chat, base_url: "${url}", key: sk-up }
  grok: { dialect: openai-responses, base_url: "${url}", key: sk-up }
models:
  m/deep: { max_output: 1000, endpoints: [ { provider: sonar, model: up, price: { prompt: "2.00", completion: "8.00", reasoning: "3.00" } } ] }
  m/pro: { max_output: 1000, endpoints: [ { provider: sonar, model: up, price: { prompt: "2.00", completion: "8.00", request: "0.006" } } ] }
  m/grok: { max_output: 1000, input: [text, file], endpoints: [ { provider: grok, model: up, price: { prompt: "1.00", completion: "1.00", web_search: "0.005", tools: { x_search: "0.005", code_interpreter: "0.005", file_search: "0.0025", document_search: "0.01" } } } ] }
  m/chat: { max_output: 1000, endpoints: [ { provider: sonar, model: up, price: { prompt: "1.00", completion: "1.00", web_search: "0.005", tools: { x_search: "0.005" } } } ] }
`,
})

interface Charged {
  readonly total_cost: number
  readonly money: readonly { item: string; usd: number; units: number }[]
}

async function charged(model: string, stream: boolean): Promise<Charged> {
  const headers = { authorization: 'Bearer sk-router-v1-0123456789abcdef' }
  const tools = model === 'm/grok' ? { tools: [{ type: 'x_search' }, { type: 'web_search' }] } : {}
  const body = model === 'm/grok' ? { model, input: 'x', stream, ...tools } : { model, messages: [{ role: 'user', content: 'x' }], stream }
  const reply = await gateway.post(model === 'm/grok' ? '/v1/responses' : '/v1/chat/completions', body, headers)
  t.equal(reply.status, 200, await reply.text())
  const id = reply.headers.get('x-generation-id')
  const of = async (path: string, secret: string) =>
    ((await (await gateway.get(path, { authorization: `Bearer ${secret}` })).json()) as { data: Charged }).data
  const { money } = await of(`/v1/generations/${id}`, 'sk-router-v1-boss56789abcdef0123')
  return { ...(await of(`/v1/generation?id=${id}`, 'sk-router-v1-0123456789abcdef')), money }
}

const deep = {
  prompt_tokens: 33,
  completion_tokens: 7163,
  total_tokens: 7196,
  search_context_size: 'low',
  citation_tokens: 20_016,
  num_search_queries: 18,
  reasoning_tokens: 73_997,
  cost: {
    input_tokens_cost: 0.000066,
    output_tokens_cost: 0.057304,
    citation_tokens_cost: 0.040032,
    reasoning_tokens_cost: 0.221991,
    search_queries_cost: 0.09,
    total_cost: 0.409393,
  },
}

t.test('searches, citations and reasoning with a cost of their own', async (t) => {
  usage = deep
  for (const stream of [false, true]) {
    const { total_cost: cost, money } = await charged('m/deep', stream)
    t.equal(cost, 0.409393, stream ? 'streamed' : 'whole')
    t.match(
      money.find(({ item }) => item === 'provider_fees'),
      { usd: 0.352023, units: 1 },
    )
  }
})

t.test('a fee for each request that the endpoint has a price for is charged once', async (t) => {
  const cost = { input_tokens_cost: 0.0002, output_tokens_cost: 0.004, request_cost: 0.01, total_cost: 0.0142 }
  usage = { prompt_tokens: 100, completion_tokens: 500, total_tokens: 600, cost }
  t.equal((await charged('m/pro', false)).total_cost, 0.0142)
  usage = { ...usage, cost: { ...cost, request_cost: 0.006, total_cost: 0.0102 } }
  t.equal((await charged('m/pro', true)).total_cost, 0.0102)
})

t.test('fees that cannot be true are disputed', async (t) => {
  usage = { prompt_tokens: 100, completion_tokens: 500, total_tokens: 600, cost: { total_cost: 1e9 } }
  const { total_cost: cost, ...data } = await charged('m/pro', false)
  t.ok(cost < 0.05, `$${cost}`)
  t.match(data, { disputed_nano: /^\d{15}$/ })
})

t.test('a cost in other words is no fee', async (t) => {
  for (const cost of [0.5, '0.5', null, { total_cost: '1' }, { input_tokens_cost: 1 }, [1]]) {
    usage = { prompt_tokens: 100, completion_tokens: 500, total_tokens: 600, cost }
    t.equal((await charged('m/deep', false)).total_cost, 0.0042, JSON.stringify(cost))
  }
})

t.test('calls of tools that the usage alone names', async (t) => {
  const calls = { web_search_calls: 2, x_search_calls: 3, code_interpreter_calls: 1, file_search_calls: 0, mcp_calls: 4 }
  const details = { num_server_side_tools_used: 10, server_side_tool_usage_details: calls, cost_in_usd_ticks: 318_319_000 }
  for (const stream of [false, true]) {
    usage = { input_tokens: 9212, output_tokens: 3417, total_tokens: 12_629, num_sources_used: 0, ...details }
    t.equal((await charged('m/grok', stream)).total_cost, 0.042629, stream ? 'streamed' : 'whole')
    usage = { prompt_tokens: 9212, completion_tokens: 3417, total_tokens: 12_629, num_sources_used: 0, ...details }
    t.equal((await charged('m/chat', stream)).total_cost, 0.037629, stream ? 'streamed' : 'whole')
  }
})

t.test('searches of the files of a request, which nobody asked for', async (t) => {
  const details = { num_server_side_tools_used: 3, server_side_tool_usage_details: { web_search_calls: 0, document_search_calls: 3 } }
  usage = { input_tokens: 1000, output_tokens: 1000, total_tokens: 2000, ...details }
  const content = [
    { type: 'input_text', text: 'x' },
    { type: 'input_file', filename: 'report.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQK' },
  ]
  const ask = (key: string): Promise<Response> =>
    gateway.post('/v1/responses', { model: 'm/grok', input: [{ role: 'user', content }] }, { authorization: `Bearer ${key}` })
  const reply = await ask('sk-router-v1-0123456789abcdef')
  t.equal(reply.status, 200, await reply.text())
  const path = `/v1/generation?id=${reply.headers.get('x-generation-id')}`
  const { data } = (await (await gateway.get(path, { authorization: 'Bearer sk-router-v1-0123456789abcdef' })).json()) as { data: Charged }
  t.equal(data.total_cost, 0.032, 'three searches for $0.03 beside the tokens')
  t.equal((await ask('sk-router-v1-poor56789abcdef0123')).status, 402, 'ten searches are held')
})

t.test('requests whose files may be searched a thousand times do not run beside each other on the same credit', async (t) => {
  const gate = new Gate()
  const details = { server_side_tool_usage_details: { document_search_calls: 900 } }
  const message = {
    type: 'message',
    id: 'm',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'x', annotations: [] }],
  }
  const reply = {
    id: 'r',
    object: 'response',
    status: 'completed',
    model: 'up',
    output: [message],
    usage: { input_tokens: 100, output_tokens: 10, total_tokens: 110, ...details },
  }
  const { gateway: small, upstream } = await startScene(t, {
    answer: async () => {
      await gate.opened
      return jsonAnswer(reply)
    },
    config: (url) => `
auth: { keys: [ { name: small, key: "sk-router-v1-small6789abcdef0123", limit: "0.50" } ] }
providers: { grok: { dialect: openai-responses, base_url: "${url}/v1", key: sk-up } }
models:
  m/grok: { max_output: 1000, input: [text, file], endpoints: [ { provider: grok, model: up, price: { prompt: "1.00", completion: "1.00", tools: { document_search: "0.01" } } } ] }
`,
  })
  const content = [{ type: 'input_file', filename: 'report.txt', file_data: 'data:text/plain;base64,aGVsbG8=' }]
  const ask = (): Promise<Response> =>
    small.post('/v1/responses', { model: 'm/grok', input: [{ role: 'user', content }], max_output_tokens: 100 })
  const first = ask()
  await upstream.request(0)
  const others = await Promise.all([ask(), ask(), ask()])
  t.same(
    others.map(({ status }) => status),
    [402, 402, 402],
    'while one runs',
  )
  gate.open()
  const { usage: shown } = (await (await first).json()) as { usage: { cost: number } }
  t.equal(shown.cost, 0.5, 'it pays with all that the key has')
})

t.test('searches of files beside tools that the caller bounds', async (t) => {
  const content = [
    { type: 'input_text', text: 'x' },
    { type: 'input_file', filename: 'report.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQK' },
  ]
  const charge = async (bound: number | undefined, calls: JsonObject): Promise<number> => {
    usage = { input_tokens: 1000, output_tokens: 1000, total_tokens: 2000, server_side_tool_usage_details: calls }
    const body = { model: 'm/grok', input: [{ role: 'user', content }], tools: [{ type: 'x_search' }], max_tool_calls: bound }
    const reply = await gateway.post('/v1/responses', body, { authorization: 'Bearer sk-router-v1-0123456789abcdef' })
    t.equal(reply.status, 200, await reply.text())
    const path = `/v1/generation?id=${reply.headers.get('x-generation-id')}`
    const found = await gateway.get(path, { authorization: 'Bearer sk-router-v1-0123456789abcdef' })
    return ((await found.json()) as { data: Charged }).data.total_cost
  }
  t.equal(await charge(1, { x_search_calls: 1, document_search_calls: 3 }), 0.037, 'no bound of tools holds for searches of files')
  t.equal(await charge(2, { x_search_calls: 5 }), 0.012, 'calls beyond the bound are disputed, those within are charged')
  const poor = { authorization: 'Bearer sk-router-v1-poor56789abcdef0123' }
  const held = await gateway.post('/v1/responses', { model: 'm/grok', input: [{ role: 'user', content }], max_tool_calls: 1 }, poor)
  t.equal(held.status, 402, 'ten searches are held: the provider is sent no bound of them')
  await held.text()
})

t.test('calls by their other names', async (t) => {
  const calls = { code_execution_calls: 2, collections_search_calls: 4, attachment_search_calls: 3, document_search_calls: 3 }
  usage = { input_tokens: 1000, output_tokens: 1000, total_tokens: 2000, server_side_tool_usage_details: calls }
  t.equal((await charged('m/grok', false)).total_cost, 0.052)
})
