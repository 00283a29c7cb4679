/** Requests of the pass-through that may be served at a price which is not known are refused to keys with a limit: tiers, and models of the provider's choice. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'

const KEYS = { limited: 'sk-router-v1-limited-0123456789abcdef', open: 'sk-router-v1-open-0123456789abcdef012' }

const scene = (t: Test, more = '') =>
  startScene(t, {
    answer: () => jsonAnswer({ fine: true }),
    config: (url) => `
auth: { keys: [ { name: limited, key: "${KEYS.limited}", limit: "5.00", pass_through: true }, { name: open, key: "${KEYS.open}", pass_through: true } ] }
providers: { first: { dialect: anthropic, base_url: "${url}/v1", key: sk-provider, pass_through: { price: "0" } }, second: { dialect: openai-chat, base_url: "${url}/v1", key: sk-provider, pass_through: { price: "0" } } }
models:
  acme/one:
    context: 10000
    max_output: 100
    endpoints:
      - { provider: first, model: m, price: { prompt: "1.00", completion: "1.00" } }
${more}
  acme/vectors: { kind: embedding, context: 32000, endpoints: [ { provider: second, model: v, price: { prompt: "1.00", completion: "0" } } ] }
`,
  })

const PRIORITY = '      - { provider: first, model: m, tier: priority, price: { prompt: "2.00", completion: "2.00" } }'

const messages = (more: JsonObject): JsonObject => ({ model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'x' }], ...more })

/** Each may be billed at another price than the usual one. */
const DEARER: readonly [path: string, body: JsonObject, headers?: Record<string, string>][] = [
  ['chat/completions', messages({ service_tier: 'priority' })],
  ['chat/completions', messages({ service_tier: 'ultrafast' })],
  ['responses', { model: 'm', input: 'x', service_tier: 'fast' }],
  ['messages', messages({ speed: 'fast' })],
  ['messages', messages({ service_tier: 'a_new_tier' })],
  ['models/m:generateContent', { contents: [], serviceTier: 'priority' }],
  ['models/m:generateContent', { contents: [] }, { 'x-vertex-ai-llm-shared-request-type': 'priority' }],
  ['model/m/converse', { messages: [], serviceTier: { type: 'priority' } }],
  ['model/m/converse', { messages: [], performanceConfig: { latency: 'optimized' } }],
  ['model/m/converse', { messages: [], additionalModelRequestFields: { speed: 'fast' } }],
  ['model/m/converse', { messages: [], guardrailConfig: { guardrailIdentifier: 'a', guardrailVersion: '1' } }],
  ['chat/completions', messages({ extra_body: { google: { service_tier: 'priority' } } })],
  ['model/m/invoke', { messages: [] }, { 'x-amzn-bedrock-service-tier': 'priority' }],
  ['model/m/invoke', { messages: [] }, { 'x-amzn-bedrock-performanceconfig-latency': 'optimized' }],
  ['messages', messages({ fallbacks: 'default' })],
  ['messages', messages({ fallbacks: { model: 'm' } })],
  ['chat/completions', messages({ models: 'other' })],
]

t.test('a tier or a model without a known price is refused', async (t) => {
  const { gateway, upstream } = await scene(t)
  await every(t, 'each request', async (t) => {
    for (const [path, body, headers] of DEARER) {
      const send = (key: string): Promise<Response> =>
        gateway.post(`/v1/passage/first/${path}`, body, { authorization: `Bearer ${key}`, ...headers })
      const name = `${path} ${JSON.stringify({ ...body, ...headers })}`
      const reply = await send(KEYS.limited)
      t.equal(reply.status, 403, name)
      t.match(await reply.text(), /no price is known|does not name/, name)
      t.equal((await send(KEYS.open)).status, 200, `${name} of a key without a limit`)
    }
  })
  t.equal(upstream.requests.length, DEARER.length)
})

t.test('tiers with a price, and those that cost no more than the usual one, go through', async (t) => {
  const { gateway } = await scene(t, PRIORITY)
  const authorization = `Bearer ${KEYS.limited}`
  await every(t, 'each tier', async (t) => {
    for (const [path, body] of [
      ...['priority', 'fast', 'default', 'auto', 'flex', 'standard_only', 'scale', null].map(
        (tier) => ['chat/completions', messages({ service_tier: tier })] as const,
      ),
      ['messages', messages({ speed: 'fast' })],
      ['messages', messages({ speed: 'standard' })],
      ['messages', messages({ fallbacks: null })],
      ['messages', messages({ fallbacks: [{ model: 'm' }] })],
      ['model/m/converse', { messages: [], serviceTier: { type: 'default' }, performanceConfig: { latency: 'standard' } }],
    ] as const)
      t.equal((await gateway.post(`/v1/passage/first/${path}`, body, { authorization })).status, 200, JSON.stringify(body))
  })
})

t.test('a cap among the fields of a model of Converse counts as the longest', async (t) => {
  const { gateway, rows } = await scene(t)
  const send = async (fields: JsonObject): Promise<number> => {
    const body = { messages: [], inferenceConfig: { maxTokens: 1 }, additionalModelRequestFields: fields }
    const reply = await gateway.post('/v1/passage/first/model/m/converse', body, { authorization: `Bearer ${KEYS.limited}` })
    t.equal(reply.status, 200, await reply.text())
    return Number(rows().at(-1)?.hold.hold)
  }
  const short = await send({})
  t.ok((await send({ max_tokens: 90 })) >= short + 89_000)
  t.ok((await send({ inferenceConfig: { maxTokens: 90 } })) >= short + 89_000)
})

t.test('an image of a list of vectors is held as the whole context', async (t) => {
  const { gateway, rows } = await scene(t)
  const image = { type: 'image_url', image_url: 'data:image/png;base64,iVBORw0KGgo=' }
  const body = { model: 'v', input: [{ content: [image, image] }] }
  t.equal((await gateway.post('/v1/passage/second/embeddings', body, { authorization: `Bearer ${KEYS.limited}` })).status, 200)
  t.ok(Number(rows()[0]?.hold.hold) >= 64_000_000)
})
