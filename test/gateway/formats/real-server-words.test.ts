/**
 * Small words in which real model servers depart from the makers of their formats, each as the server named in docs/behaviour/model-servers.md
 * writes or wants it: what callers get of them, and what goes out to them.
 */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { list, object, parseFrames } from '../../support/fold.ts'
import { CLIENTS } from '../../support/matrix/clients.ts'
import type { Client } from '../../support/providers.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer, type Script, sseAnswer } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

const MODEL = 'acme/one'
const question = (text: string): JsonObject => ({ messages: [{ role: 'user', content: text }] })
const chunk = (choice: JsonObject, more: JsonObject = {}): string =>
  `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, ...choice }], ...more })}\n\n`
const USAGE = { prompt_tokens: 12, completion_tokens: 6, total_tokens: 18 }

t.test('the stop text that vLLM names beside the end reaches callers of Messages', async (t) => {
  const { ask, upstream } = await startScene(t)
  const stopped: Script = ({ json }) => {
    const end = { finish_reason: 'stop', stop_reason: ' 4' }
    if (json.stream === true)
      return sseAnswer([chunk({ delta: { content: '1 2 3' } }), chunk({ delta: {}, ...end }, { usage: USAGE }), 'data: [DONE]\n\n'])
    const choice = { index: 0, message: { role: 'assistant', content: '1 2 3' }, ...end }
    return jsonAnswer({ id: 'c1', object: 'chat.completion', created: 1, model: 'm', choices: [choice], usage: USAGE })
  }
  upstream.script = stopped
  const asked = { stop_sequences: [' 4'] }
  const whole = (await (await ask(asked, 'messages')).json()) as JsonObject
  t.match(whole, { stop_reason: 'stop_sequence', stop_sequence: ' 4' }, 'whole')
  const frames = parseFrames(await (await ask({ ...asked, stream: true }, 'messages')).text())
  const last = frames.map(({ data }) => JSON.parse(data) as JsonObject).find(({ type }) => type === 'message_delta')
  t.match(last?.delta, { stop_reason: 'stop_sequence', stop_sequence: ' 4' }, 'streamed')
  // The number of a token is no text.
  upstream.script = () => {
    const choice = { index: 0, message: { role: 'assistant', content: '1 2 3' }, finish_reason: 'stop', stop_reason: 151643 }
    return jsonAnswer({ id: 'c1', object: 'chat.completion', created: 1, model: 'm', choices: [choice], usage: USAGE })
  }
  t.match(await (await ask({}, 'messages')).json(), { stop_reason: 'end_turn', stop_sequence: null }, 'the number of a token')
})

t.test('a text of white space between a thought and a call becomes no block', async (t) => {
  const { ask, upstream } = await startScene(t)
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } }
  const deltas = [{ reasoning: 'I need it.' }, { content: '\n' }, { content: '\n' }, { tool_calls: [call] }]
  upstream.script = ({ json }) => {
    if (json.stream === true)
      return sseAnswer([
        ...deltas.map((delta) => chunk({ delta })),
        chunk({ delta: {}, finish_reason: 'tool_calls' }, { usage: USAGE }),
        'data: [DONE]\n\n',
      ])
    const message = { role: 'assistant', content: '\n\n', reasoning: 'I need it.', tool_calls: [call] }
    const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
    return jsonAnswer({ id: 'c1', object: 'chat.completion', created: 1, model: 'm', choices, usage: USAGE })
  }
  const tools = { tools: [{ name: 'get_weather', input_schema: { type: 'object' } }] }
  const stream = await (await ask({ ...tools, stream: true }, 'messages')).text()
  const started = parseFrames(stream)
    .map(({ data }) => JSON.parse(data) as JsonObject)
    .filter(({ type }) => type === 'content_block_start')
  t.same(
    started.map(({ content_block: block }) => object(block).type),
    ['thinking', 'tool_use'],
    'streamed',
  )
  const whole = (await (await ask(tools, 'messages')).json()) as JsonObject
  t.same(
    list(whole.content).map(({ type }) => type),
    ['thinking', 'tool_use'],
    'whole',
  )
  // What comes behind the white space keeps it.
  upstream.script = () =>
    sseAnswer([
      ...['\n\n', 'fine'].map((content) => chunk({ delta: { content } })),
      chunk({ delta: {}, finish_reason: 'stop' }, { usage: USAGE }),
      'data: [DONE]\n\n',
    ])
  const client = CLIENTS.find(({ id }) => id === 'messages')
  t.equal(client?.foldStream(await (await ask({ stream: true }, 'messages')).text()).text, '\n\nfine')
})

const frame = (data: JsonObject): string => `event: ${String(data.type)}\ndata: ${JSON.stringify(data)}\n\n`
const COUNTED = { input_tokens: 1, cache_read_input_tokens: 11, cache_creation_input_tokens: 0, output_tokens: 1 }

t.test('message_start has the tokens of the prompt where the provider has counted them by then', async (t) => {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', content: [], model: 'm', stop_reason: null, stop_sequence: null }
  const stream = [
    frame({ type: 'message_start', message: { ...message, usage: COUNTED } }),
    frame({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    frame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'fine' } }),
    frame({ type: 'content_block_stop', index: 0 }),
    frame({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 3 } }),
    frame({ type: 'message_stop' }),
  ]
  const begun = { input_tokens: 1, cache_read_input_tokens: 11, cache_creation_input_tokens: 0, output_tokens: 0 }
  for (const lane of ['pass', 'observe', 'translate'] as const) {
    const { ask, upstream } = await startScene(t, { dialect: 'anthropic', lane })
    for (const body of [stream, [stream.join('')], stream.join('').match(/[\s\S]{1,7}/g) ?? []]) {
      upstream.script = () => sseAnswer(body)
      const [first] = parseFrames(await (await ask({ stream: true }, 'messages')).text())
      const started = object(JSON.parse(first.data) as JsonObject)
      t.match(started, { type: 'message_start', message: { usage: begun } }, `${lane}, in ${body.length} pieces`)
    }
  }
  const { ask } = await startScene(t, { answer: says({ text: ['fine'] }) })
  const [first] = parseFrames(await (await ask({ stream: true }, 'messages')).text())
  t.match(JSON.parse(first.data), { message: { usage: { input_tokens: 0, cache_read_input_tokens: null } } }, 'where it has not')
})

t.test('no arguments of earlier calls are the empty object, which no server refuses', async (t) => {
  for (const dialect of ['openai-chat', 'openai-responses'] as const)
    for (const lane of ['pass', 'translate'] as const) {
      const { ask, upstream } = await startScene(t, { dialect, lane, answer: says({ text: ['fine'] }) })
      const sent = async (client: Client, more: JsonObject): Promise<unknown> => {
        const response = await ask(more, client)
        t.equal(response.status, 200, await response.text())
        const { messages, input } = object(upstream.requests.at(-1)?.json)
        const [call] =
          messages === undefined ? list(input).filter(({ type }) => type === 'function_call') : list(list(messages)[1]?.tool_calls)
        return call?.function === undefined ? call?.arguments : object(call.function).arguments
      }
      for (const [written, expected] of [
        ['', '{}'],
        [' \n', '{}'],
        ['{}', '{}'],
        ['{"city":"Oslo"}', '{"city":"Oslo"}'],
        ['{"city":', '{"city":'],
      ] as const) {
        const place = `${dialect}, ${lane}: ${JSON.stringify(written)}`
        const call = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: written } }
        const result = { role: 'tool', tool_call_id: 'call_1', content: '7' }
        const messages = [{ role: 'user', content: 'weather?' }, { role: 'assistant', content: null, tool_calls: [call] }, result]
        t.equal(await sent('chat', { messages }), expected, `${place}, chat`)
        const input = [
          { type: 'message', role: 'user', content: 'weather?' },
          { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: written },
          { type: 'function_call_output', call_id: 'call_1', output: '7' },
        ]
        t.equal(await sent('responses', { input }), expected, `${place}, responses`)
      }
    }
})

/** Arguments are JSON within a text: escapes of whole characters stay as the caller's library has written them, in each size. */
async function argumentsAsWritten(t: Test): Promise<void> {
  const { ask, upstream } = await startScene(t, { answer: says({ text: ['fine'] }) })
  const cases: readonly (readonly [written: string, sent: string])[] = [
    [String.raw`{"a":"\ud83d\ude00 \uD83D\uDE00"}`, String.raw`{"a":"\ud83d\ude00 \uD83D\uDE00"}`],
    [String.raw`{"a":"\\ud83d as typed"}`, String.raw`{"a":"\\ud83d as typed"}`],
    [String.raw`{"a":"\uD83D cut, \ude00\ud83d\ude00"}`, '{"a":"\ufffd cut, \ufffd\\ud83d\\ude00"}'],
  ]
  for (const [written, sent] of cases)
    for (const filler of ['', 'a few words. '.repeat(30_000)]) {
      const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: written } }
      const messages: JsonObject[] = [
        { role: 'user', content: `${filler}Hello` },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: String.raw`\ud83d as typed` },
      ]
      t.equal((await ask({ messages })).status, 200)
      const [, turn, result] = list(object(JSON.parse(upstream.requests.at(-1)?.body ?? '{}')).messages)
      t.equal(object(list(turn?.tool_calls)[0]?.function).arguments, sent, `${written}, ${filler.length} characters in front`)
      t.equal(result?.content, String.raw`\ud83d as typed`, 'a text that is no JSON stays')
    }
}

t.test('half a character goes out as U+FFFD, in each format and size', async (t) => {
  for (const dialect of ['openai-chat', 'openai-responses', 'anthropic', 'gemini', 'bedrock-converse'] as const) {
    const { gateway, upstream } = await startScene(t, { dialect, answer: says({ text: ['fine'] }) })
    for (const client of CLIENTS)
      for (const filler of ['', 'a few words. '.repeat(30_000)]) {
        const asked = client.write({ turns: [{ user: [{ text: `${filler}cut \ud83d here, \\ud83d as typed, 🙂 whole` }] }], cap: 100 })
        const response = await gateway.post(client.path, { model: MODEL, ...asked })
        t.equal(response.status, 200)
        await response.text()
        const { body } = upstream.requests.at(-1) ?? { body: '' }
        const sent = JSON.stringify(JSON.parse(body))
        const place = `${dialect}, ${client.id}, ${filler.length} characters in front`
        t.ok(sent.includes('cut \ufffd here, \\\\ud83d as typed, 🙂 whole'), place)
      }
    const half = (name: string): string => `${name} \udc00`
    const tools = [{ name: 'f', description: half('tool'), schema: { type: 'object', properties: { a: { description: half('schema') } } } }]
    const turns = [
      { user: [{ text: 'Hello' }] },
      { calls: [{ id: 'call_1', name: 'f', args: { a: half('argument') } }] },
      { results: [{ id: 'call_1', parts: [{ text: half('result') }] }] },
    ]
    for (const client of CLIENTS) {
      const body = client.write({ system: half('system'), turns, tools, cap: 100 })
      const response = await gateway.post(client.path, { model: MODEL, ...body })
      t.equal(response.status, 200, await response.text())
      const sent = upstream.requests.at(-1)?.body.replaceAll('\\ufffd', '\ufffd') ?? ''
      for (const name of ['system', 'tool', 'schema', 'argument', 'result'])
        t.ok(sent.includes(`${name} \ufffd`), `${dialect}, ${client.id}: ${name}`)
      t.notMatch(sent, /\\ud[89a-f]/i, `${dialect}, ${client.id}: nothing else`)
    }
  }
  await argumentsAsWritten(t)
  const { gateway, upstream } = await startScene(t, {
    config: (url) => `
providers:
  first: { dialect: openai-chat, base_url: "${url}/v1" }
models:
  acme/one: { kind: embedding, endpoints: [ { provider: first, model: m, price: free } ] }
`,
  })
  upstream.script = () =>
    jsonAnswer({ object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5] }], model: 'm', usage: { prompt_tokens: 1 } })
  t.equal((await gateway.post('/v1/embeddings', { model: MODEL, input: 'cut \ud83d' })).status, 200)
  t.same(upstream.requests.at(-1)?.json.input, ['cut \ufffd'], 'of embeddings')
})

const TOOL = { name: 'get_weather', description: 'The weather.', schema: { type: 'object', properties: { city: { type: 'string' } } } }

t.test('functions go without strict to servers that print it into the prompt', async (t) => {
  for (const [provider, expected] of [
    ['quirks: { strict: stated }', undefined],
    ['', false],
  ] as const) {
    const { gateway, upstream } = await startScene(t, { dialect: 'openai-responses', provider, answer: says({ text: ['fine'] }) })
    for (const client of CLIENTS.filter(({ id }) => id !== 'responses')) {
      await gateway.post(client.path, {
        model: MODEL,
        ...client.write({ turns: [{ user: [{ text: 'hello' }] }], tools: [TOOL], cap: 100 }),
      })
      t.equal(list(upstream.requests.at(-1)?.json.tools)[0].strict, expected, `${client.id}, ${provider}`)
    }
  }
})

t.test('that a function is not strict, which callers of Responses state, is not printed into prompts of chat servers', async (t) => {
  const { gateway, upstream } = await startScene(t, { answer: says({ text: ['fine'] }) })
  const sentStrict = async (path: string, body: JsonObject): Promise<unknown> => {
    t.equal((await gateway.post(path, { model: MODEL, ...body })).status, 200)
    return object(list(upstream.requests.at(-1)?.json.tools)[0].function).strict
  }
  const described = { name: 'get_weather', parameters: TOOL.schema }
  for (const strict of [false, true])
    t.equal(
      await sentStrict('/v1/responses', { input: 'hello', tools: [{ type: 'function', strict, ...described }] }),
      strict || undefined,
      `responses, ${strict}`,
    )
  const own = { ...question('hello'), tools: [{ type: 'function', function: { ...described, strict: false } }] }
  t.equal(await sentStrict('/v1/chat/completions', own), false, 'what a chat caller states goes on')
})

const THOUGHT = 'I need the weather.'
/** The newest turn but one of a conversation in which a thought without a signature stands, as each format replays it. */
const REPLAYED: Readonly<Record<Client, JsonObject>> = {
  chat: {
    messages: [
      { role: 'user', content: 'weather?' },
      {
        role: 'assistant',
        content: null,
        reasoning: THOUGHT,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '7' },
    ],
  },
  responses: {
    input: [
      { type: 'message', role: 'user', content: 'weather?' },
      { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: THOUGHT }] },
      { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: '7' },
    ],
  },
  messages: {
    messages: [
      { role: 'user', content: 'weather?' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: THOUGHT, signature: '' },
          { type: 'tool_use', id: 'call_1', name: 'get_weather', input: {} },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: '7' }] },
    ],
  },
}

t.test('thoughts without a signature go to servers that take them', async (t) => {
  const thoughtIn: Readonly<Record<string, (body: JsonObject) => unknown>> = {
    'openai-responses': (body) => object(list(list(body.input).find(({ type }) => type === 'reasoning')?.content ?? [{}])[0]).text,
    anthropic: (body) =>
      list(body.messages)
        .flatMap(({ content }) => (Array.isArray(content) ? list(content) : []))
        .find(({ type }) => type === 'thinking')?.thinking,
  }
  for (const [dialect, read] of Object.entries(thoughtIn))
    for (const takes of [true, false]) {
      const provider = takes ? 'quirks: { unsigned_reasoning: true }' : ''
      const { ask, upstream } = await startScene(t, { dialect, provider, answer: says({ text: ['fine'] }) })
      for (const client of ['chat', 'responses', 'messages'] as const) {
        const response = await ask(REPLAYED[client], client)
        t.equal(response.status, 200)
        await response.text()
        const isOwn = dialect === (client === 'responses' ? 'openai-responses' : client === 'messages' ? 'anthropic' : '')
        t.equal(read(upstream.requests.at(-1)?.json ?? {}), takes || isOwn ? THOUGHT : undefined, `${dialect}, ${client}, ${provider}`)
      }
    }
})

t.test('an effort that a server has refused is left out of the next requests, and tried again after an hour', async (t) => {
  const { gateway, upstream, clock } = await startScene(t, {
    config: (url) => `
providers:
  local: { preset: ollama, base_url: "${url}/v1", discover: false }
models:
  acme/one: { endpoints: [ { provider: local, model: m, price: free } ] }
`,
  })
  const fine = upstream.script
  const refused = { error: { message: 'think value "medium" is not supported for this model', type: 'invalid_request_error' } }
  upstream.script = (request, index) => (request.json.reasoning_effort === 'medium' ? jsonAnswer(refused, 400) : fine(request, index))
  const sent = async (effort: string): Promise<unknown[]> => {
    const before = upstream.requests.length
    const response = await gateway.post('/v1/chat/completions', { model: MODEL, reasoning_effort: effort, ...question('hello') })
    t.equal(response.status, 200)
    await response.text()
    return upstream.requests.slice(before).map(({ json }) => json.reasoning_effort)
  }
  t.same(await sent('medium'), ['medium', undefined], 'the first time it is refused')
  t.same(await sent('medium'), [undefined], 'then it is left out')
  t.same(await sent('none'), ['none'], 'another one is sent')
  await clock.advance(3_600_001)
  t.same(await sent('medium'), ['medium', undefined], 'the server may be another one by now')
})

const ANSWER = { name: 'answer', schema: { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] } }

t.test('the answer is checked against a schema that the server may ignore', async (t) => {
  for (const dialect of ['openai-responses', 'anthropic'] as const)
    for (const word of ['checked', 'words'] as const) {
      const { gateway, upstream } = await startScene(t, { dialect, provider: `quirks: { json_schema: ${word} }` })
      for (const [utterance, verdict] of [
        ['{"number":7}', 'fits'],
        ['{"number":"seven"}', 'misfit'],
        ['Hello!', 'no_json'],
      ] as const)
        for (const client of CLIENTS) {
          upstream.script = says({ text: [utterance] })
          const asked = client.write({ turns: [{ user: [{ text: 'json' }] }], schema: ANSWER, cap: 100 })
          const response = await gateway.post(client.path, { model: MODEL, ...asked })
          const place = `${dialect}, ${word}, ${client.id}: ${utterance}`
          t.equal(response.status, 200, `${place} ${await response.text()}`)
          const { body } = upstream.requests.at(-1) ?? { body: '' }
          t.ok(body.includes('integer'), `${place}: the schema goes out`)
          const id = response.headers.get('x-generation-id') ?? ''
          const generation = JSON.stringify(await (await gateway.get(`/v1/generation?id=${id}`)).json())
          t.match(generation, new RegExp(`"answer_check":\\{[^}]*"verdict":"${verdict}"`), place)
        }
    }
})
