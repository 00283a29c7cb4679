/** A cap that bounds an answer without its thought: what is held has room for the thought as well. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { startScene } from '../../support/scene.ts'
import { says } from '../../support/wire.ts'

const KEY = 'sk-router-v1-limited0000000000'
/** Of the provider; `siliconflow` and `qwen` of `config/providers/` have sources for theirs. */
const THOUGHT = 10_000

/** The key has $0.40, and output costs 10,000 nano-dollars a token: 40,000 tokens. */
async function thinker(t: Test, { quirks = '', endpoint = '', output = 0 } = {}) {
  const { gateway, upstream } = await startScene(t, {
    answer: says({ text: ['ok'], usage: { input: 10, output } }),
    config: (url) => `
auth: { keys: [ { name: a, key: "${KEY}", limit: "0.40" } ] }
providers:
  first: { dialect: openai-chat, base_url: "${url}/v1", key: "sk-provider-secret", quirks: { thought_beyond_max_tokens: ${THOUGHT}${quirks} } }
models:
  acme/one:
    context: 1000000
    endpoints: [ { provider: first, model: m, max_output: 128000, price: { prompt: "0", completion: "10.00" }${endpoint} } ]
`,
  })
  return {
    send: async (fields: JsonObject) => {
      const body = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }], ...fields }
      const response = await gateway.post('/v1/chat/completions', body)
      await response.text()
      const { max_tokens: old, max_completion_tokens: both } = upstream.requests.at(-1)?.json ?? {}
      return response.status === 200 ? (old ?? both) : response.status
    },
    usage: async () => ((await (await gateway.get('/v1/key')).json()) as { data: { usage: number } }).data.usage,
  }
}

t.test("the caller's own cap is sent as it is and held with the longest thought", async (t) => {
  const { send } = await thinker(t)
  t.equal(await send({ max_tokens: 30_001 }), 402)
  t.equal(await send({ max_tokens: 29_999 }), 29_999)
})

t.test('a cap by the credit leaves room for the thought', async (t) => {
  const { send } = await thinker(t)
  t.equal(await send({}), 10_000, 'half of what is left pays for 20,000 tokens')
})

t.test('a field that bounds the thought, and an endpoint that does not reason, need no more than the cap', async (t) => {
  for (const setting of [
    { quirks: ', max_tokens_field: max_completion_tokens' },
    { endpoint: ', supported_parameters: [max_tokens, temperature]' },
  ]) {
    const { send } = await thinker(t, setting)
    t.equal(await send({ max_tokens: 39_999 }), 39_999, JSON.stringify(setting))
  }
  const older = await thinker(t, {
    quirks: ', max_tokens_field: max_completion_tokens',
    endpoint: ', quirks: { max_tokens_field: max_tokens }',
  })
  t.equal(await older.send({ max_tokens: 30_001 }), 402, 'an endpoint with the other field')
})

t.test('a thought beyond the cap is charged as it is reported', async (t) => {
  const { send, usage } = await thinker(t, { output: 9000 })
  t.equal(await send({ max_tokens: 16 }), 16)
  t.equal(await usage(), 0.09)
})

t.test('presets whose max_tokens bounds no thought state the longest one', async (t) => {
  for (const [preset, endpoint, limit, fitting] of [
    // docs.siliconflow.com, Reasoning models: 40,000 tokens
    ['siliconflow', '', '0.41', 1000],
    // Older models of Qwen, which know this field alone: 131,072 tokens
    ['qwen', ', quirks: { max_tokens_field: max_tokens }', '1.32', 928],
  ] as const) {
    const { gateway, upstream } = await startScene(t, {
      answer: says({ text: ['ok'], usage: { input: 10, output: 0 } }),
      config: (url) => `
auth: { keys: [ { name: a, key: "${KEY}", limit: "${limit}" } ] }
providers:
  first: { preset: ${preset}, discover: false, base_url: "${url}/v1", key: "sk-provider-secret" }
models:
  acme/one:
    context: 1000000
    endpoints: [ { provider: first, model: m, max_output: 128000, price: { prompt: "0", completion: "10.00" }${endpoint} } ]
`,
    })
    const send = async (cap: number) => {
      const body = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }], max_tokens: cap }
      const response = await gateway.post('/v1/chat/completions', body)
      await response.text()
      return response.status
    }
    t.equal(await send(fitting + 1), 402, preset)
    t.equal(await send(fitting), 200, preset)
    t.equal(upstream.requests.at(-1)?.json.max_tokens, fitting, preset)
  }
})
