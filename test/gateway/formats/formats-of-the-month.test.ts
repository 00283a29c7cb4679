/**
 * Formats of Anthropic and OpenAI from the autumn of 2026 (types of npm @anthropic-ai/sdk 1.14.0 and openai 7.59.0): what reaches a provider
 * of the same wire, what one of another, and what the record says.
 */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import { generationDropped } from '../../support/matrix/observe.ts'
import type { Client } from '../../support/providers.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { jsonAnswer, sseAnswer } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

interface Sent {
  readonly status: number
  readonly reply: JsonObject
  readonly body: JsonObject
  readonly dropped: readonly string[]
  readonly record: JsonObject
}

async function send({ ask, gateway, upstream }: Scene, client: Client, more: JsonObject): Promise<Sent> {
  const response = await ask(more, client)
  const reply = (await response.json()) as JsonObject
  const id = response.headers.get('x-generation-id')
  const found = object(((await (await gateway.get(`/v1/generation?id=${id}`)).json()) as JsonObject).data)
  const dropped = Array.isArray(found.provider_responses) ? generationDropped(found) : []
  return { status: response.status, reply, body: object(upstream.requests.at(-1)?.json), dropped, record: found }
}

/** A reply to a request that only fills the cache (platform.claude.com, Prompt caching, "Pre-warming the cache"). */
const FILLED = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [],
  stop_reason: 'max_tokens',
  stop_sequence: null,
  usage: { input_tokens: 3, cache_creation_input_tokens: 2000, cache_read_input_tokens: 0, output_tokens: 0 },
}

const PRICE = 'price: { prompt: "1", completion: "2", cache_write: "1.25" }'

t.test('max_tokens: 0 fills the cache of a provider of the same wire, and is charged', async (t) => {
  const scene = await startScene(t, {
    answer: () => jsonAnswer(FILLED),
    config: (url) => `
auth: { keys: [ { name: test, key: sk-hg-test-0001, limit: "1.00" } ] }
providers: { first: { dialect: anthropic, base_url: "${url}", key: sk-provider } }
models: { acme/one: { context: 100000, max_output: 1000, endpoints: [ { provider: first, model: m, ${PRICE} } ] } }
`,
  })
  for (const more of [{}, { reasoning: { exclude: true } }]) {
    const { status, reply, body, record } = await send(scene, 'messages', { max_tokens: 0, ...more })
    t.equal(status, 200, JSON.stringify(reply))
    t.equal(body.max_tokens, 0)
    t.match(reply, { content: [], stop_reason: 'max_tokens', usage: { cache_creation_input_tokens: 2000, output_tokens: 0 } })
    t.equal(record.total_cost, 0.002503)
  }
  t.equal(scene.upstream.requests.length, 2, 'an empty answer is the answer')
})

t.test('max_tokens: 0 is refused where no endpoint has a cache that it could fill', async (t) => {
  for (const dialect of ['openai-chat', 'openai-responses', 'gemini']) {
    const scene = await startScene(t, { dialect })
    const { status, reply } = await send(scene, 'messages', { max_tokens: 0 })
    t.equal(status, 400)
    t.match(JSON.stringify(reply), /max_tokens: 0 fills the cache/)
    t.equal(scene.upstream.requests.length, 0)
  }
})

t.test('a stream that only fills the cache', async (t) => {
  const { content: _, stop_reason, usage, ...head } = FILLED
  const events: JsonObject[] = [
    { type: 'message_start', message: { ...head, content: [], stop_reason: null, usage } },
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 0 } },
    { type: 'message_stop' },
  ]
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
  const scene = await startScene(t, { dialect: 'anthropic', answer: () => sseAnswer([text]) })
  const reply = await scene.ask({ max_tokens: 0, stream: true }, 'messages')
  const utterance = await reply.text()
  t.match(utterance, /"stop_reason":"max_tokens"/)
  t.match(utterance, /message_stop/)
  t.equal(scene.upstream.requests.length, 1)
})

t.test('fallbacks: default is recorded as left out: the provider would choose models with prices of their own', async (t) => {
  for (const dialect of ['anthropic', 'openai-chat']) {
    const scene = await startScene(t, { dialect })
    for (const more of [{}, { reasoning: { exclude: true } }]) {
      const chosen = await send(scene, 'messages', { fallbacks: 'default', ...more })
      t.match(chosen, { status: 200, body: { fallbacks: undefined } })
      t.ok(chosen.dropped.includes('fallbacks'))
      const listed = await send(scene, 'messages', { fallbacks: [{ model: 'acme/one' }], ...more })
      t.notOk(listed.dropped.includes('fallbacks'))
    }
    t.equal((await send(scene, 'messages', { fallbacks: 'others' })).status, 400)
    t.equal((await send(scene, 'messages', { fallbacks: [{ model: 'acme/one', max_tokens: 5 }] })).status, 400, 'settings of an entry')
  }
})

const program = { type: 'program', caller_id: 'prog_1' }
const RESPONSES_TOOL = {
  type: 'function',
  name: 'f',
  parameters: { type: 'object', properties: {} },
  allowed_callers: ['programmatic'],
  async: true,
}
const MESSAGES_TOOL = { name: 'f', input_schema: { type: 'object' }, allowed_callers: ['code_execution_20260120'] }

t.test('calls from programs and tools that reply later go on as they are, or are recorded', async (t) => {
  const input = [
    { role: 'user', content: 'Hello' },
    { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}', caller: program },
    { type: 'function_call_output', call_id: 'c1', output: 'x', caller: program },
  ]
  const own = await startScene(t, { dialect: 'openai-responses' })
  const same = await send(own, 'responses', { input, tools: [RESPONSES_TOOL] })
  t.match(list(same.body.input).slice(1), [{ caller: program }, { caller: program }])
  t.match(list(same.body.tools)[0], { allowed_callers: ['programmatic'], async: true })
  t.same(same.dropped, [])
  const other = await startScene(t, { dialect: 'anthropic' })
  const { dropped, status } = await send(other, 'responses', { input, tools: [RESPONSES_TOOL] })
  t.equal(status, 200)
  const names = [
    'input.function_call.caller',
    'input.function_call_output.caller',
    'tools.function.allowed_callers',
    'tools.function.async',
  ]
  t.same(dropped.filter((name) => names.includes(name)).sort(), names)
  const messages = await send(other, 'messages', { tools: [MESSAGES_TOOL] })
  t.match(list(messages.body.tools)[0], MESSAGES_TOOL)
  const chat = await startScene(t)
  t.ok((await send(chat, 'messages', { tools: [MESSAGES_TOOL] })).dropped.includes('tools.custom.allowed_callers'))
})

t.test('ends of Responses that are new', async (t) => {
  // No other format has a word for an answer that a message over the socket has stopped.
  for (const [reason, shown] of [
    ['max_messages', 'length'],
    ['steered', 'error'],
  ] as const) {
    const item = {
      type: 'message',
      id: 'm1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'fine', annotations: [] }],
    }
    const body = {
      id: 'resp_1',
      object: 'response',
      status: 'incomplete',
      incomplete_details: { reason },
      model: 'm',
      output: [item],
      usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
    }
    const scene = await startScene(t, { dialect: 'openai-responses', answer: () => jsonAnswer(body) })
    t.match((await send(scene, 'responses', {})).reply, { status: 'incomplete', incomplete_details: { reason } })
    const chat = await send(scene, 'chat', {})
    t.equal(chat.status, 200)
    t.equal(object(list(chat.reply.choices)[0].message).content, 'fine')
    t.equal(list(chat.reply.choices)[0].finish_reason, shown, reason)
  }
})

t.test("typed error codes of the provider's wire reach its callers, where the request is at fault", async (t) => {
  const refusal = (status: number, type: string, code: string) => () =>
    jsonAnswer({ type: 'error', error: { type, message: 'No.', details: { error_code: code } }, request_id: 'req_1' }, status)
  const scene = await startScene(t, { dialect: 'anthropic' })
  scene.upstream.script = refusal(400, 'invalid_request_error', 'image_dimensions_too_large')
  const refused = await send(scene, 'messages', {})
  t.match(refused, { status: 400, reply: { error: { details: { error_code: 'image_dimensions_too_large' } } } })
  scene.upstream.script = refusal(403, 'permission_error', 'cmek_key_disabled')
  t.notMatch(
    JSON.stringify((await send(scene, 'messages', {})).reply.error),
    'details',
    "what is wrong with the gateway's account is not the caller's",
  )
})

t.test('a typed error code within a stream reaches its callers as well', async (t) => {
  const begun: JsonObject = { ...FILLED, content: [], stop_reason: null }
  const error = { type: 'invalid_request_error', message: 'No.', details: { error_code: 'image_dimensions_too_large' } }
  const frames = [
    { type: 'message_start', message: begun },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'fine' } },
    { type: 'error', error },
  ].map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`)
  for (const body of [frames, frames.slice(3)]) {
    const scene = await startScene(t, { dialect: 'anthropic', answer: () => sseAnswer(body) })
    const text = await (await scene.ask({ stream: true }, 'messages')).text()
    t.match(text, /"details":\{"error_code":"image_dimensions_too_large"\}/, `behind ${body.length - 1} events`)
  }
})

/** Beta mid-conversation-tool-changes-2026-07-01 and inline-tools-2026-09-15 (npm @anthropic-ai/sdk 1.14.0, BetaRequestToolAdditionBlock). */
t.test('tools that come and go within a conversation', async (t) => {
  const schema = { type: 'object', properties: {} }
  const tools = [
    { name: 'stays', input_schema: schema },
    { name: 'goes', input_schema: schema },
    { name: 'comes', input_schema: schema, defer_loading: true },
    { name: 'never', input_schema: schema, defer_loading: true },
  ]
  const definition = { name: 'inline', description: 'Inline.', input_schema: schema }
  const changes = [
    { type: 'tool_addition', tool: { type: 'tool_reference', name: 'comes' } },
    { type: 'tool_removal', tool: { type: 'tool_reference', name: 'goes' } },
    { type: 'tool_addition', tool: { type: 'tool_definition', definition } },
  ]
  const messages = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Hi' },
    { role: 'user', content: [{ type: 'text', text: 'Next' }, ...changes] },
  ] as unknown as JsonObject[]
  const own = await startScene(t, { dialect: 'anthropic' })
  const same = await send(own, 'messages', { messages, tools })
  t.equal(same.status, 200, JSON.stringify(same.reply))
  t.same(list(list(same.body.messages)[2]?.content).slice(1), changes, 'a provider of the format gets the blocks')
  t.same(same.dropped, [])
  for (const dialect of ['openai-chat', 'openai-responses', 'gemini']) {
    const other = await startScene(t, { dialect })
    const { status, reply, body } = await send(other, 'messages', { messages, tools })
    t.equal(status, 200, JSON.stringify(reply))
    const offered = [...JSON.stringify(body.tools).matchAll(/"name":"(\w+)"/g)].map(([, name]) => name)
    t.same(offered.toSorted(), ['comes', 'inline', 'stays'], `${dialect}: what the conversation has at its end`)
    t.notMatch(JSON.stringify(body), /tool_addition|tool_removal/, dialect)
  }
})

t.test('the plain requests of each format are still served', async (t) => {
  const scene = await startScene(t, { dialect: 'anthropic', answer: says({ text: ['fine'] }) })
  t.equal((await send(scene, 'messages', { max_tokens: 1 })).status, 200)
  t.equal((await send(scene, 'messages', { max_tokens: -1 })).status, 400)
})
