/** Fees of what a provider runs beside the model: its tools, containers for code, a region of the caller's choice. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer, sseAnswer } from '../../support/upstream.ts'

const message = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Found', annotations: [] }],
}
const search = { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['q'], results: null }
const code = { type: 'code_interpreter_call', id: 'ci_1', status: 'completed', code: '1', container_id: 'cntr_1', outputs: [] }
const image = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'iVBORw0KGgo=' }
let output: JsonObject[] = [message]
let toolUsage: JsonObject | undefined

const finished = (): JsonObject => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'up',
  output,
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  ...(toolUsage === undefined ? {} : { tool_usage: toolUsage }),
})
const streamed = () =>
  [
    { type: 'response.created', response: { ...finished(), status: 'in_progress', output: [] } },
    ...output.flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item: { ...item, content: [] } },
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: 'response.completed', response: finished() },
  ].map((event) => `data: ${JSON.stringify(event)}\n\n`)
const LIMITED = 'sk-router-v1-0123456789abcdef'
const OPEN = 'sk-router-v1-abcdef0123456789'
const { gateway, upstream } = await startScene(t, {
  answer: (seen) => {
    const body = seen.json
    if (seen.path.includes('messages')) {
      const usage = { input_tokens: 10, output_tokens: 5, inference_geo: body.inference_geo ?? 'global' }
      return jsonAnswer({
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        content: [{ type: 'text', text: 'Yes' }],
        stop_reason: 'end_turn',
        usage,
      })
    }
    return body.stream === true ? sseAnswer(streamed()) : jsonAnswer(finished())
  },
  config: (url) => `
auth:
  keys: [ { name: app, key: ${LIMITED}, limit: "2.00", provider_ids: [ vs_1, cntr_1 ] }, { name: open, key: ${OPEN}, provider_ids: [ vs_1, cntr_1 ] } ]
providers:
  openai: { dialect: openai-responses, base_url: "${url}", key: sk-up }
  anthropic: { dialect: anthropic, base_url: "${url}", key: sk-up }
models:
  m/gpt:
    max_output: 100
    endpoints: [ { provider: openai, model: up, price: { prompt: "1.00", completion: "2.00", container: "0.03", web_search: "0.01", tools: { file_search: "0.0025", image_generation: { prompt: "8.00", completion: "30.00" } } } } ]
  m/plain:
    max_output: 100
    endpoints: [ { provider: openai, model: up, price: { prompt: "1.00", completion: "2.00" } } ]
  m/grok:
    max_output: 100
    endpoints: [ { provider: openai, model: up, price: { prompt: "1.00", completion: "2.00", tools: { code_interpreter: "0.005" } } } ]
  m/claude:
    max_output: 100
    endpoints: [ { provider: anthropic, model: up, price: { prompt: "1.00", completion: "2.00", request: "0.001", inference_geo: { us: 1.1 } } } ]
`,
})

const TOKENS = 20_000
let spentBefore = 0
/** Nano-dollars since the last call. */
async function spent(key = LIMITED): Promise<number> {
  const { data } = (await (await gateway.get('/v1/key', { authorization: `Bearer ${key}` })).json()) as { data: { usage: number } }
  const now = Math.round(data.usage * 1e9)
  const since = now - spentBefore
  spentBefore = now
  return since
}
const ask = (body: JsonObject, key = LIMITED) =>
  gateway.post('/v1/responses', { model: 'm/gpt', input: 'Look it up', ...body }, { authorization: `Bearer ${key}` })

t.test('calls of file search, streamed and not', async (t) => {
  output = [search, { ...search, id: 'fs_2' }, { ...search, id: 'fs_3', status: 'failed' }, message]
  const tools = [{ type: 'file_search', vector_store_ids: ['vs_1'] }]
  t.equal((await ask({ tools })).status, 200)
  t.equal(await spent(), TOKENS + 2 * 2_500_000)
  const reply = await ask({ tools, stream: true })
  await reply.text()
  t.equal(await spent(), TOKENS + 2 * 2_500_000)
})

t.test('a container is paid with the request that has it started, by its memory', async (t) => {
  output = [message]
  const inContainer = async (tool: JsonObject) => {
    t.equal((await ask({ tools: [tool] })).status, 200)
    return (await spent()) - TOKENS
  }
  t.equal(await inContainer({ type: 'code_interpreter', container: { type: 'auto' } }), 30_000_000)
  t.equal(await inContainer({ type: 'code_interpreter', container: { type: 'auto', memory_limit: '4g' } }), 120_000_000)
  t.equal(await inContainer({ type: 'code_interpreter', container: 'cntr_1' }), 0, 'one that is there was paid for before')
  const input = [
    { type: 'additional_tools', role: 'developer', tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] },
    { role: 'user', content: 'Look it up' },
  ]
  t.equal((await ask({ input })).status, 200)
  t.equal(await spent(), TOKENS + 30_000_000, 'among the input items as well')
  const found = { type: 'tool_search_output', call_id: 'call_1', status: 'completed', execution: 'client', tools: input[0].tools }
  t.equal((await ask({ input: [found, input[1]] })).status, 200)
  t.equal(await spent(), TOKENS + 30_000_000, 'and in the result of a search for tools')
  const before = upstream.requests.length
  const large = await ask({ tools: [{ type: 'code_interpreter', container: { type: 'auto', memory_limit: '64g' } }] })
  t.equal(large.status, 402, 'the key has less left than 64 GB cost')
  t.equal(upstream.requests.length, before)
})

t.test('runs of a code interpreter that is priced by the call', async (t) => {
  output = [code, { ...code, id: 'ci_2' }, message]
  t.equal((await ask({ model: 'm/grok', tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] })).status, 200)
  t.equal(await spent(), TOKENS + 2 * 5_000_000)
})

t.test('a tool whose fee is not known is not for a key with a limit', async (t) => {
  output = [message]
  const before = upstream.requests.length
  const tools = [{ type: 'file_search', vector_store_ids: ['vs_1'] }]
  const refused = await ask({ model: 'm/plain', tools })
  t.equal(refused.status, 403)
  t.match(
    ((await refused.json()) as { error: JsonObject }).error.message,
    /m\/plain has no known price for the tool file_search: a key with a limit cannot use it/,
  )
  t.equal(upstream.requests.length, before)
  const fallback = await ask({ model: 'm/plain', models: ['m/plain', 'm/gpt'], tools })
  t.equal(((await fallback.json()) as JsonObject).model, 'm/gpt', 'a model with a price takes its place')
  t.equal((await ask({ model: 'm/plain', tools }, OPEN)).status, 200)
})

t.test('images that a tool of the provider draws', async (t) => {
  await spent()
  output = [image, message]
  const tools = [{ type: 'image_generation', quality: 'max', size: '3840x2160' }]
  const drawn = {
    input_tokens: 100,
    input_tokens_details: { image_tokens: 80, text_tokens: 20 },
    output_tokens: 9_000,
    total_tokens: 9_100,
  }
  toolUsage = { image_gen: drawn, web_search: { num_requests: 0 } }
  t.equal((await ask({ tools })).status, 200)
  t.equal(await spent(), TOKENS + 800_000 + 270_000_000, 'as the provider reports them apart')
  toolUsage = undefined
  await (await ask({ tools, stream: true })).text()
  t.equal(await spent(), TOKENS + 1_290 * 30_000, 'estimated where it does not')
  const refused = await ask({ model: 'm/plain', tools })
  t.equal(refused.status, 403)
  t.match(((await refused.json()) as { error: JsonObject }).error.message, /no known price for the tool image_generation/)
})

t.test('the provider says which searches are billed', async (t) => {
  const searched = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } }
  output = [searched, { ...searched, id: 'ws_2' }, message]
  toolUsage = { image_gen: { input_tokens: 0, output_tokens: 0, total_tokens: 0 }, web_search: { num_requests: 1 } }
  t.equal((await ask({ tools: [{ type: 'web_search' }] })).status, 200)
  t.equal(await spent(), TOKENS + 10_000_000)
  toolUsage = undefined
  t.equal((await ask({ tools: [{ type: 'web_search' }] })).status, 200)
  t.equal(await spent(), TOKENS + 20_000_000, 'those that its output shows where it does not say')
})

t.test('a region costs what its factor says, per token', async (t) => {
  await spent()
  const messages = (more: JsonObject) =>
    gateway.post(
      '/v1/messages',
      { model: 'm/claude', max_tokens: 20, messages: [{ role: 'user', content: 'Where?' }], ...more },
      { authorization: `Bearer ${LIMITED}` },
    )
  t.equal((await messages({ inference_geo: 'us' })).status, 200)
  t.equal(await spent(), 22_000 + 1_000_000)
  t.equal((await messages({ inference_geo: 'global' })).status, 200)
  t.equal(await spent(), 20_000 + 1_000_000)
})
