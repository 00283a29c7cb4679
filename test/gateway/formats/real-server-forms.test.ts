/**
 * Forms of real model servers that depart from those of the formats' makers: streams of llama.cpp (release b11549) as recorded, of Ollama
 * 0.17.4 as its server writes them. What callers get is what the formats say, and it is taken back in the next turn.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { list, object, parseFrames } from '../../support/fold.ts'
import { CLIENTS } from '../../support/matrix/clients.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer, sseAnswer } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

const recorded = (name: string): string => readFileSync(new URL(`../../fixtures/responses/${name}.sse`, import.meta.url), 'utf8')
const TWO_CALLS = recorded('llama-cpp-two-calls')
const TEXT = recorded('llama-cpp-text')
const WEATHER = { name: 'get_weather', description: 'The weather.', schema: { type: 'object', properties: { city: { type: 'string' } } } }
const ASKED = { turns: [{ user: [{ text: 'two weather' }] }], tools: [WEATHER] }

const events = (stream: string): JsonObject[] =>
  parseFrames(stream)
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => JSON.parse(data) as JsonObject)

t.test('items without indexes: each call and each text comes once', async (t) => {
  const { gateway, upstream } = await startScene(t, { dialect: 'openai-responses' })
  for (const client of CLIENTS) {
    const ask = async (frames: string) => {
      upstream.script = () => sseAnswer([frames])
      const response = await gateway.post(client.path, { model: 'acme/one', stream: true, ...client.write(ASKED) })
      return client.foldStream(await response.text())
    }
    const calls = await ask(TWO_CALLS)
    t.same(
      calls.calls.map(({ args }) => JSON.parse(args) as JsonObject),
      [{ city: 'Rome' }, { city: 'Lima' }],
      `${client.id}: the calls`,
    )
    t.equal(new Set(calls.calls.map(({ callId }) => callId)).size, 2, `${client.id}: each with its id`)
    t.equal(calls.reasoning, 'I need two calls.\n', `${client.id}: the thought`)
    t.equal((await ask(TEXT)).text, 'Hello! I am a tiny model. How can I help?', `${client.id}: the text`)
  }
})

/** Events that stand at an item, and at a part of it, in the types of the official SDK (npm openai 7.57.0, responses). */
const AT_ITEM = /^response\.(output_item|output_text|content_part|reasoning_text|function_call_arguments)\./
const AT_PART = /^response\.(output_text|content_part|reasoning_text)\./

t.test('events for callers of Responses have their numbers, of a stream that was cut as well', async (t) => {
  const { ask, upstream } = await startScene(t, { dialect: 'openai-responses' })
  const frames = TEXT.split('\n\n')
  const places: [string, string][] = [
    ['calls', TWO_CALLS],
    ['text', TEXT],
    ['cut in the text', `${frames.slice(0, 11).join('\n\n')}\n\n`],
    ['cut in a call', `${TWO_CALLS.split('\n\n').slice(0, 7).join('\n\n')}\n\n`],
  ]
  for (const [name, body] of places) {
    upstream.script = () => sseAnswer([body])
    const found = events(await (await ask({ stream: true }, 'responses')).text())
    await every(t, `${name}: every event`, (t) => {
      for (const [at, event] of found.entries()) {
        const type = String(event.type)
        t.equal(event.sequence_number, at, `${type}: its number`)
        if (AT_ITEM.test(type)) t.ok(Number.isInteger(event.output_index), `${type}: the index of its item`)
        if (AT_PART.test(type)) t.equal(event.content_index, 0, `${type}: the index of its part`)
      }
    })
    const last = found.at(-1)
    t.equal(last?.type, name.startsWith('cut') ? 'response.failed' : 'response.completed', `${name}: its end`)
    // A call that may be cut is not done, and stands in the last event alone (decision 39).
    const begun = found.filter(({ type }) => type === 'response.output_item.added')
    const cut = name === 'cut in a call' ? begun.filter(({ item }) => object(item).type === 'function_call') : []
    const done = [...found.filter(({ type }) => type === 'response.output_item.done'), ...cut]
    t.same(
      [...done].sort((a, b) => Number(a.output_index) - Number(b.output_index)).map(({ item }) => object(item).id),
      list(object(last?.response).output).map(({ id }) => id),
      `${name}: the items of the last event are those that were done`,
    )
  }
})

const frame = (data: JsonObject): string => `event: ${String(data.type)}\ndata: ${JSON.stringify(data)}\n\n`
const delta = (index: number, of: JsonObject): string => frame({ type: 'content_block_delta', index, delta: of })
const start = (index: number, content_block: JsonObject): string => frame({ type: 'content_block_start', index, content_block })
const stop = (index: number): string => frame({ type: 'content_block_stop', index })
const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', content: [], model: 'm', stop_reason: null, stop_sequence: null }
const BEGUN = frame({ type: 'message_start', message: { ...MESSAGE, usage: { input_tokens: 9, output_tokens: 1 } } })
const ENDED =
  frame({ type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 7 } }) +
  frame({ type: 'message_stop' })

/** A thought and a tool call with the same number, no signature, and both ends behind them. */
const OLLAMA =
  BEGUN +
  start(0, { type: 'thinking', thinking: '' }) +
  delta(0, { type: 'thinking_delta', thinking: 'I need ' }) +
  delta(0, { type: 'thinking_delta', thinking: 'the weather.' }) +
  start(0, { type: 'tool_use', id: 'call_1', name: 'get_weather', input: {} }) +
  delta(0, { type: 'input_json_delta', partial_json: '{"city":' }) +
  delta(0, { type: 'input_json_delta', partial_json: '"Oslo"}' }) +
  stop(0) +
  stop(1) +
  ENDED
/** Blocks in order, whose ends all stand behind the last one. */
const LLAMA =
  BEGUN +
  start(0, { type: 'thinking', thinking: '' }) +
  delta(0, { type: 'thinking_delta', thinking: 'I need the weather.' }) +
  start(1, { type: 'tool_use', id: 'call_1', name: 'get_weather' }) +
  delta(1, { type: 'input_json_delta', partial_json: '{"city":"Oslo"}' }) +
  delta(0, { type: 'signature_delta', signature: '' }) +
  stop(0) +
  stop(1) +
  ENDED

/** Message that Anthropic's SDKs build from a stream: a block is added where it starts, and found by its index (npm @anthropic-ai/sdk 1.13, MessageStream). */
function accumulated(stream: string): JsonObject[] {
  const content: JsonObject[] = []
  const inputs = new Map<JsonObject, string>()
  for (const event of events(stream)) {
    if (event.type === 'content_block_start') content.push(object(event.content_block))
    const block = content.at(Number(event.index))
    if (event.type !== 'content_block_delta' || !block) continue
    const { type, thinking, partial_json: piece } = object(event.delta)
    if (type === 'thinking_delta') block.thinking = `${String(block.thinking)}${String(thinking)}`
    if (type === 'input_json_delta') inputs.set(block, `${inputs.get(block) ?? ''}${String(piece)}`)
  }
  for (const [block, json] of inputs) block.input = JSON.parse(json) as JsonObject
  return content
}

const CONTENT = [
  { type: 'thinking', thinking: 'I need the weather.', signature: '' },
  { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Oslo' } },
]
const RESULT = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: '7 degrees' }] }
const TOOLS = [{ name: 'get_weather', input_schema: { type: 'object' } }]

t.test('thoughts without a signature and blocks numbered twice reach callers of Messages, and are taken back', async (t) => {
  const { ask, upstream } = await startScene(t, { dialect: 'anthropic' })
  const question = { role: 'user', content: 'weather in Oslo' }
  const nextTurn = async (content: unknown): Promise<JsonObject> => {
    upstream.script = () =>
      sseAnswer([BEGUN + start(0, { type: 'text', text: '' }) + delta(0, { type: 'text_delta', text: '7' }) + stop(0) + ENDED])
    const messages = [question, { role: 'assistant', content }, RESULT] as unknown as JsonObject[]
    const response = await ask({ stream: true, messages, tools: TOOLS }, 'messages')
    t.equal(response.status, 200, await response.text())
    return list(object(upstream.requests.at(-1)?.json).messages)[1]
  }
  for (const [name, frames] of [
    ['Ollama', OLLAMA],
    ['llama.cpp', LLAMA],
  ] as const) {
    upstream.script = () => sseAnswer([frames.replaceAll('}\n\nevent: ', '}\n\n\u0000event: ')].flatMap((text) => text.split('\u0000')))
    const stream = await (await ask({ stream: true, tools: TOOLS }, 'messages')).text()
    const client = CLIENTS.find(({ id }) => id === 'messages')
    t.same(JSON.parse(client?.foldStream(stream).calls[0].args ?? ''), { city: 'Oslo' }, `${name}: in the order of the format`)
    const content = accumulated(stream)
    t.same(content, CONTENT, `${name}: as an SDK gathers it`)
    t.same((await nextTurn(content)).content, CONTENT, `${name}: as it goes out in the next turn`)
  }
  const whole = { ...MESSAGE, content: [{ type: 'thinking', thinking: 'I need the weather.' }, CONTENT[1]], stop_reason: 'tool_use' }
  upstream.script = () => jsonAnswer({ ...whole, usage: { input_tokens: 9, output_tokens: 7 } })
  const reply = (await (await ask({ tools: TOOLS }, 'messages')).json()) as JsonObject
  t.same(reply.content, CONTENT, 'of a whole reply')
  await nextTurn(reply.content)
  await nextTurn(whole.content)
})

t.test('an output cap above the context is lowered to what is left of it', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    config: (url) => `
providers:
  first: { dialect: openai-chat, base_url: "${url}/v1" }
models:
  acme/one: { context: 4096, endpoints: [ { provider: first, model: m, price: { prompt: "1.00", completion: "2.00" } } ] }
`,
  })
  for (const client of CLIENTS) {
    const asked = { turns: [{ user: [{ text: 'hello' }] }], cap: 32_000 }
    const response = await gateway.post(client.path, { model: 'acme/one', ...client.write(asked) })
    t.equal(response.status, 200, `${client.id}: ${await response.clone().text()}`)
    const sent = upstream.requests.at(-1)?.json as JsonObject
    const cap = Number(sent.max_completion_tokens ?? sent.max_tokens)
    t.ok(cap > 3900 && cap < 4096, `${client.id}: the cap that went out, ${cap}`)
    const id = response.headers.get('x-generation-id') ?? ''
    const generation = (await (await gateway.get(`/v1/generation?id=${id}`)).json()) as JsonObject
    t.match(JSON.stringify(generation), '"dropped":["max_tokens"', `${client.id}: it is recorded`)
  }
})

t.test('a prompt that may fit goes to the provider; one that surely does not is refused', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    config: (url) => `
auth: { keys: [ { name: test, key: sk-router-v1-bounded, limit: "0.20" } ] }
providers:
  first: { dialect: openai-chat, base_url: "${url}/v1" }
models:
  acme/one: { context: 9000, endpoints: [ { provider: first, model: m, price: { prompt: "1.00", completion: "2.00" } } ] }
`,
  })
  const ask = (words: number, more: JsonObject = {}): Promise<Response> =>
    gateway.post('/v1/chat/completions', {
      model: 'acme/one',
      messages: [{ role: 'user', content: 'hello world '.repeat(words) }],
      ...more,
    })
  t.equal((await ask(4000)).status, 200, '8,000 tokens, 16,004 by the estimate')
  t.equal((await ask(4000, { max_tokens: 32_000 })).status, 200, 'with a cap above the context')
  t.equal(object(upstream.requests.at(-1)?.json).max_tokens, 563, 'a sixteenth of the context is left for the output')
  const strict = await ask(4000, { max_tokens: 100, provider: { require_parameters: true } })
  t.equal(strict.status, 400, 'where parameters have to be honoured the cap is one of them')
  const refused = await ask(10_000)
  t.equal(refused.status, 400)
  t.match(await refused.text(), /context_length_exceeded/)
  t.equal(upstream.requests.length, 2, 'it is not sent')
})

/** Answer of Ollama 0.17.4 to an effort at a model other than gpt-oss (server/routes.go). */
const NO_EFFORT = {
  error: { message: 'think value "medium" is not supported for this model', type: 'invalid_request_error', param: null, code: null },
}

t.test('an effort that the server refuses at its model is left out in a second call', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    config: (url) => `
providers:
  local: { preset: ollama, base_url: "${url}/v1", discover: false }
models:
  acme/one: { endpoints: [ { provider: local, model: m, price: free } ] }
`,
  })
  const fine = upstream.script
  upstream.script = (request, index) =>
    object(request.json).reasoning_effort === undefined ? fine(request, index) : jsonAnswer(NO_EFFORT, 400)
  for (const client of CLIENTS) {
    const before = upstream.requests.length
    const asked = { turns: [{ user: [{ text: 'hello' }] }], effort: 'medium' }
    const response = await gateway.post(client.path, { model: 'acme/one', ...client.write(asked) })
    t.equal(response.status, 200, `${client.id}: ${await response.clone().text()}`)
    const efforts = upstream.requests.slice(before).map(({ json }) => object(json).reasoning_effort)
    t.same(efforts, before === 0 ? ['medium', undefined] : [undefined], `${client.id}: the first of them in two calls`)
    const id = response.headers.get('x-generation-id') ?? ''
    t.match(
      await (await gateway.get(`/v1/generation?id=${id}`)).text(),
      /"dropped":\[[^\]]*"reasoning.effort"/,
      `${client.id}: it is recorded`,
    )
  }
})

t.test('an answer that was a thought alone comes back as a message with an empty text', async (t) => {
  const { gateway, upstream } = await startScene(t, { dialect: 'openai-chat', provider: 'quirks: { reasoning_replay: reasoning }' })
  const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }
  const thought = { index: 0, message: { role: 'assistant', content: '', reasoning: 'I do not know that.' }, finish_reason: 'stop' }
  const asked = { turns: [{ user: [{ text: 'hello' }] }] }
  for (const client of CLIENTS) {
    upstream.script = () => jsonAnswer({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [thought], usage })
    const replayed = (await (await gateway.post(client.path, { model: 'acme/one', ...client.write(asked) })).json()) as JsonObject
    const next = { turns: [...asked.turns, { replayed }, { user: [{ text: 'hello' }] }] }
    const response = await gateway.post(client.path, { model: 'acme/one', ...client.write(next) })
    t.equal(response.status, 200, await response.text())
    const { content, reasoning } = list(object(upstream.requests.at(-1)?.json).messages)[1]
    t.same([content, reasoning], ['', 'I do not know that.'], `${client.id}: Ollama refuses null without calls, and so does OpenAI`)
  }
})

t.test('developer messages go out as system messages where a Responses server loses them', async (t) => {
  const { ask, upstream } = await startScene(t, { dialect: 'openai-responses', provider: 'quirks: { developer: system }' })
  const input = [
    { type: 'message', role: 'developer', content: 'Be short.' },
    { type: 'message', role: 'user', content: 'hello' },
  ]
  t.equal((await ask({ input }, 'responses')).status, 200)
  const roles = list(object(upstream.requests.at(-1)?.json).input).map(({ role }) => role)
  t.same(roles, ['system', 'user'])
})

t.test('an item that a caller may run is not done where the stream fails within it, whatever its type', async (t) => {
  const { ask, upstream } = await startScene(t, { dialect: 'openai-responses' })
  const callItem = (type: string): JsonObject => ({ id: `${type}_1`, type, status: 'in_progress', call_id: 'c', arguments: {}, action: {} })
  const event = (type: string, more: JsonObject): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
  const countDone = async (type: string): Promise<number> => {
    const body = [
      event('response.created', { sequence_number: 0, response: { id: 'resp_1', object: 'response', status: 'in_progress', output: [] } }),
      event('response.output_item.added', { sequence_number: 1, output_index: 0, item: callItem('reasoning') }),
      event('response.output_item.done', { sequence_number: 2, output_index: 0, item: callItem('reasoning') }),
      event('response.output_item.added', { sequence_number: 3, output_index: 1, item: callItem(type) }),
      event('error', { sequence_number: 4, code: 'server_error', message: 'broken', param: null }),
    ]
    upstream.script = () => sseAnswer(body)
    const text = await (await ask({ stream: true }, 'responses')).text()
    t.match(text, /response\.failed/, type)
    return text.split('event: response.output_item.done').length - 1
  }
  for (const type of ['function_call', 'custom_tool_call', 'tool_search_call', 'local_shell_call', 'shell_call', 'apply_patch_call'])
    t.equal(await countDone(type), 1, `${type}: the reasoning alone`)
  for (const type of ['computer_call', 'mcp_approval_request', 'a_call_of_next_year']) t.equal(await countDone(type), 1, type)
  for (const type of ['web_search_call', 'mcp_call', 'code_interpreter_call'])
    t.equal(await countDone(type), 2, `${type}: no caller runs it`)
})

t.test('what the caller has begun stands once in a whole reply', async (t) => {
  const begun = [
    { role: 'user', content: 'the alphabet' },
    { role: 'assistant', content: 'abcdef' },
  ]
  for (const dialect of ['openai-chat', 'openai-responses', 'anthropic'])
    for (const quirk of [true, false]) {
      const { ask, upstream } = await startScene(t, { dialect, ...(quirk ? { provider: 'quirks: { prefill: repeated }' } : {}) })
      for (const client of CLIENTS) {
        const replied = async (text: string, { stream, isBegun }: { stream: boolean; isBegun: boolean }): Promise<string> => {
          upstream.script = says({ reasoning: ['Letters.'], text: [text] })
          const turns = (isBegun ? begun : begun.slice(0, 1)) as unknown as JsonObject[]
          const response = await ask({ stream, [client.id === 'responses' ? 'input' : 'messages']: turns }, client.id)
          const body = await response.text()
          t.equal(response.status, 200, body)
          return stream ? client.foldStream(body).text : client.fold(JSON.parse(body) as JsonObject).text
        }
        const place = `${dialect}, ${client.id}`
        const whole = { stream: false, isBegun: true }
        t.equal(await replied('abcdefghi', whole), quirk ? 'ghi' : 'abcdefghi', place)
        t.equal(await replied('abc', whole), 'abc', `${place}: a reply without the beginning`)
        t.equal(await replied('abcdefabcdefghi', whole), quirk ? 'abcdefghi' : 'abcdefabcdefghi', `${place}: it is taken off once`)
        t.equal(await replied('ghi', { stream: true, isBegun: true }), 'ghi', `${place}: streamed`)
        t.equal(await replied('abcdefghi', { stream: false, isBegun: false }), 'abcdefghi', `${place}: nothing was begun`)
      }
    }
})
