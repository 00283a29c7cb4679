/**
 * Loops that a provider runs: each call of its tools has the model read the conversation once more, and the provider reports the sum. What is
 * held and kept free pays for every loop that is recorded (docs/decisions/0047-results-that-nothing-caps.md, "Rounds"); what a longer one
 * costs is charged as far as the limit reaches, and the rest is an entry of the ledger.
 */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { usd } from '../../../src/core/money.ts'
import { every } from '../../support/every.ts'
import { KEY } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'

type Loop = readonly [name: string, bytes: number, tool: JsonObject, calls: number, input: number, cached: number, output: number]

const search = { type: 'web_search' }
const code = { type: 'code_execution_20260120', name: 'code_execution' }
const mcp = { type: 'mcp', server_label: 'a', server_url: 'https://a.example' }
const interpreter = { type: 'code_interpreter', container: { type: 'auto' } }

/** Of recorded requests: bytes of the body, calls in the reply, and what it reports. The largest of each kind, and all with several calls. */
const RESPONSES: readonly Loop[] = [
  ['test_openai_responses_model_builtin_tools_web_search', 235, search, 6, 115_886, 92_160, 1_720],
  ['test_openai_responses_model_web_search_tool_with_allowed_domains', 377, search, 4, 22_013, 0, 1_737],
  ['test_openai_responses_model_web_search_tool_with_invalid_region', 364, search, 1, 9_939, 8_320, 1_610],
  ['test_openai_responses_model_mcp_server_tool_with_connector', 429, mcp, 2, 1_065, 0, 760],
  ['test_openai_responses_model_mcp_server_tool', 514, mcp, 1, 1_207, 0, 535],
  ['test_openai_responses_thinking_with_code_execution_tool', 346, interpreter, 1, 1_493, 1_280, 125],
]
const MESSAGES: readonly Loop[] = [
  ['test_anthropic_text_editor_code_execution_tool', 527, code, 4, 10_490, 0, 469],
  ['test_anthropic_code_execution_files_cache_prefix_stable', 10_554, code, 2, 21_023, 20_443, 489],
  ['test_anthropic_code_execution_files_cache_prefix_stable, uncached', 10_554, code, 2, 20_702, 13_637, 344],
  [
    'test_google_model_receive_web_search_history_from_another_provider',
    347,
    { type: 'web_search_20250305', name: 'web_search' },
    1,
    10_809,
    0,
    644,
  ],
  ['test_anthropic_web_fetch_tool', 467, { type: 'web_fetch_20250910', name: 'web_fetch' }, 1, 7_262, 0, 171],
]

const LIMIT = 5

async function scene(t: Test, dialect: string, answer: JsonObject) {
  const seen = { free: Number.NaN }
  const place = await startScene(t, {
    answer: async () => {
      const { data } = (await (await place.gateway.get('/v1/key')).json()) as { data: { limit_remaining: number } }
      seen.free = data.limit_remaining
      return jsonAnswer(answer)
    },
    config: (url) => `
auth: { keys: [ { name: limited, key: "${KEY}", limit: "${LIMIT}" } ] }
providers: { first: { dialect: ${dialect}, base_url: "${url}/v1", key: sk-provider } }
models:
  acme/one:
    context: 400000
    max_output: 32000
    endpoints: [ { provider: first, model: m, price: { prompt: "3.00", completion: "15.00", cached: "0.30", cache_write: "3.75", web_search: "0.01", container: "0.03", tools: { code_interpreter: "0", file_search: "0.0025" } } } ]
`,
  })
  return { ...place, taken: () => LIMIT - seen.free }
}

const ofResponses = ([, , , , input, cached, output]: Loop): JsonObject => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'm',
  output: [
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'hi', annotations: [] }],
    },
  ],
  usage: { input_tokens: input, input_tokens_details: { cached_tokens: cached }, output_tokens: output, total_tokens: input + output },
})
const ofMessages = ([, , , , input, cached, output]: Loop): JsonObject => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: input - cached, cache_read_input_tokens: cached, output_tokens: output },
})

t.test('the hold and the credit kept free pay for every recorded loop', async (t) => {
  await every(t, 'every loop', async (t) => {
    for (const [dialect, path, loops, reply] of [
      ['openai-responses', '/v1/responses', RESPONSES, ofResponses],
      ['anthropic', '/v1/messages', MESSAGES, ofMessages],
    ] as const)
      for (const loop of loops) {
        const [name, bytes, tool] = loop
        const { gateway, rows, taken } = await scene(t, dialect, reply(loop))
        const text = 'x '.repeat(bytes / 2)
        const body =
          dialect === 'anthropic'
            ? { model: 'acme/one', max_tokens: 4096, messages: [{ role: 'user', content: text }], tools: [tool] }
            : { model: 'acme/one', input: text, max_output_tokens: 4096, tools: [tool] }
        const sent = await gateway.post(path, body)
        t.equal(sent.status, 200, name)
        await sent.text()
        const facts = JSON.parse(rows()[0]?.settled?.facts || '{}') as JsonObject
        t.equal(facts.unrecovered_nano, undefined, name)
        t.equal(facts.disputed_nano, undefined, name)
        const cost = usd(rows()[0]?.settled?.cost ?? 0)
        t.ok(cost > 0 && cost <= taken(), `${name}: $${cost} of $${taken()}`)
      }
  })
})

t.test('charges a longer loop up to the limit, and records the rest in the ledger', async (t) => {
  // Eleven rounds of a conversation of 300,000 tokens: possible, and far beyond what is held for 1,000 bytes.
  const loop: Loop = ['a long loop', 1_000, search, 10, 3_300_000, 0, 1_000]
  const { gateway, rows } = await scene(t, 'openai-responses', ofResponses(loop))
  const reply = await gateway.post('/v1/responses', { model: 'acme/one', input: 'x', max_output_tokens: 4096, tools: [search] })
  t.equal(reply.status, 200)
  await reply.text()
  const settled = rows()[0]?.settled
  const facts = JSON.parse(settled?.facts || '{}') as JsonObject
  t.equal(settled?.cost, 5_000_000_000)
  t.equal(Number(facts.unrecovered_nano) + Number(settled?.cost), 3_300_000 * 3_000 + 1_000 * 15_000)
  const { data } = (await (await gateway.get('/v1/key')).json()) as { data: JsonObject }
  t.equal(data.limit_remaining, 0)
})
