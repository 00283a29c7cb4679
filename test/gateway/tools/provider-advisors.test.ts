/** Other models that a provider's own tool asks (Anthropic's `advisor_20260301`): what they cost, and who may have them asked. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer, sseAnswer } from '../../support/upstream.ts'

const round = {
  type: 'advisor_message',
  model: 'up-large',
  input_tokens: 1000,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
  output_tokens: 100,
}
const usage = {
  input_tokens: 10,
  output_tokens: 5,
  iterations: [{ ...round, type: 'message', model: 'up-small', input_tokens: 10, output_tokens: 5 }, round],
}
const frame = (type: string, more: JsonObject) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'up-small', content: [], stop_reason: null }
const LIMITED = 'sk-router-v1-0123456789abcdef'
const BOUND = 'sk-router-v1-abcdef0123456789'
const OPEN = 'sk-router-v1-aaaaaaaaaaaaaaaa'
const { gateway, upstream } = await startScene(t, {
  answer: (seen) =>
    seen.json.stream === true
      ? sseAnswer([
          frame('message_start', { message: { ...message, usage: { input_tokens: 10, output_tokens: 1 } } }),
          frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
          frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Yes' } }),
          frame('content_block_stop', { index: 0 }),
          frame('message_delta', { delta: { stop_reason: 'end_turn' }, usage }),
          frame('message_stop', {}),
        ])
      : jsonAnswer({ ...message, content: [{ type: 'text', text: 'Yes' }], stop_reason: 'end_turn', usage }),
  config: (url) => `
auth:
  keys:
    - { name: app, key: ${LIMITED}, limit: "1.00", pass_through: true }
    - { name: bound, key: ${BOUND}, allowed_models: [ m/small ] }
    - { name: open, key: ${OPEN} }
providers:
  anthropic: { dialect: anthropic, base_url: "${url}", key: sk-up, pass_through: { price: "0" } }
models:
  m/small: { max_output: 100, endpoints: [ { provider: anthropic, model: up-small, price: { prompt: "0.10", completion: "0.50" } } ] }
  m/large: { max_output: 100, endpoints: [ { provider: anthropic, model: up-large, price: { prompt: "10.00", completion: "50.00" } } ] }
`,
})

const spent = async (key: string): Promise<number> => {
  const { data } = (await (await gateway.get('/v1/key', { authorization: `Bearer ${key}` })).json()) as { data: { usage: number } }
  return Math.round(data.usage * 1e9)
}
const advisor = (model: string, more: JsonObject = {}) => ({ type: 'advisor_20260301', name: 'advisor', model, ...more })
const ask = (key: string, body: JsonObject) =>
  gateway.post(
    '/v1/messages',
    { model: 'm/small', max_tokens: 20, messages: [{ role: 'user', content: 'Is it so?' }], ...body },
    { authorization: `Bearer ${key}` },
  )
/** 10 and 5 tokens of the small model, 1,000 and 100 of the large one. */
const BOTH = 1_000 + 2_500 + 10_000_000 + 5_000_000

t.test('advice is charged at the price of the model that gave it', async (t) => {
  const reply = await ask(LIMITED, { tools: [advisor('up-large')] })
  t.equal(reply.status, 200)
  t.match(
    ((await reply.json()) as JsonObject).usage,
    { input_tokens: 10, output_tokens: 5 },
    'the counts are those of the model that serves',
  )
  t.equal(await spent(LIMITED), BOTH)
  await (await ask(LIMITED, { tools: [advisor('up-large')], stream: true })).text()
  t.equal(await spent(LIMITED), 2 * BOTH)
})

t.test('advice is held for', async (t) => {
  const before = upstream.requests.length
  // Each piece of advice may have 4,096 tokens: $0.20.
  t.equal((await ask(LIMITED, { tools: [advisor('up-large', { max_uses: 6 })] })).status, 402)
  t.equal(upstream.requests.length, before)
})

t.test('a key has no model asked that it may not use itself', async (t) => {
  const before = upstream.requests.length
  const refused = await ask(BOUND, { tools: [advisor('up-large')] })
  t.equal(refused.status, 403)
  t.match(((await refused.json()) as { error: JsonObject }).error.message, /the key may not use its advisor up-large/)
  t.equal((await ask(BOUND, { tools: [advisor('up-unknown')] })).status, 403, 'nor one that the catalogue does not have')
  t.equal(upstream.requests.length, before)
  t.equal((await ask(BOUND, { tools: [advisor('up-small')] })).status, 200)
})

t.test('a model without a price is not asked for a key with a limit', async (t) => {
  const refused = await ask(LIMITED, { tools: [advisor('up-unknown')] })
  t.equal(refused.status, 403)
  t.match(((await refused.json()) as { error: JsonObject }).error.message, /its advisor up-unknown has no price, and the key has a limit/)
  t.equal((await ask(OPEN, { tools: [advisor('up-unknown')] })).status, 200)
})

/** A tool that the conversation adds in its middle. */
const adding = (definition: JsonObject): JsonObject => ({
  messages: [
    { role: 'user', content: 'Is it so?' },
    { role: 'system', content: [{ type: 'tool_addition', tool: { type: 'tool_definition', definition } }] },
  ],
})
const PASSED = '/v1/passage/anthropic/v1/messages'
const pass = (body: JsonObject) =>
  gateway.post(
    PASSED,
    { model: 'up-small', max_tokens: 20, messages: [{ role: 'user', content: 'Is it so?' }], ...body },
    { authorization: `Bearer ${LIMITED}` },
  )

t.test('an advisor is sent with the questions that are held for', async (t) => {
  for (const [more, most] of [
    [{}, 3],
    [{ max_uses: 2 }, 2],
  ] as const) {
    t.equal((await ask(LIMITED, { tools: [advisor('up-large', more)] })).status, 200)
    t.match(upstream.requests.at(-1)?.json.tools, [{ max_uses: most }])
  }
  t.equal((await ask(OPEN, { tools: [advisor('up-large')] })).status, 200)
  t.match(upstream.requests.at(-1)?.json.tools, [{ max_uses: undefined }], 'of a key without a limit as it is')
})

t.test('tools that a conversation adds are held, capped and refused like all others', async (t) => {
  const before = upstream.requests.length
  t.equal((await ask(BOUND, adding(advisor('up-large')))).status, 403, 'a model that the key may not use')
  t.equal((await ask(LIMITED, adding(advisor('up-unknown')))).status, 403, 'a model without a price')
  t.equal((await ask(LIMITED, adding(advisor('up-large', { max_uses: 6 })))).status, 402, 'more advice than the key can pay')
  t.equal(upstream.requests.length, before)
  const spentBefore = await spent(LIMITED)
  t.equal((await ask(LIMITED, adding(advisor('up-large')))).status, 200)
  t.match(upstream.requests.at(-1)?.json.messages, [{}, { content: [{ tool: { definition: { max_uses: 3 } } }] }])
  t.equal((await spent(LIMITED)) - spentBefore, BOTH)
  t.equal((await ask(LIMITED, adding({ type: 'web_search_20250305', name: 'web_search' }))).status, 200)
  t.match(upstream.requests.at(-1)?.json.messages, [{}, { content: [{ tool: { definition: { max_uses: 10 } } }] }])
})

t.test('advice of the pass-through is held and charged at the price of its model', async (t) => {
  const before = await spent(LIMITED)
  const reply = await pass({ tools: [advisor('up-large', { max_uses: 1 })] })
  t.equal(reply.status, 200, await reply.text())
  t.equal((await spent(LIMITED)) - before, BOTH)
  const sent = upstream.requests.length
  for (const body of [{ tools: [advisor('up-unknown')] }, adding(advisor('up-unknown'))]) {
    const refused = await pass(body)
    t.equal(refused.status, 403)
    t.match(await refused.text(), /up-unknown, of which no price is known/)
  }
  t.equal((await pass({ tools: [advisor('up-large', { max_uses: 6 })] })).status, 402)
  t.equal(upstream.requests.length, sent)
})
