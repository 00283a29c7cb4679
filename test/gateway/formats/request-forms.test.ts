/**
 * Forms of requests that some provider or SDK has and OpenAI's document does not, or no longer: a provider of the same format gets them as
 * it takes them, one of another format what it can say, and the record names the rest.
 */
import t from 'tap'
import { isObject, type Json, type JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { list, object } from '../../support/fold.ts'
import { generationDropped } from '../../support/matrix/observe.ts'
import type { Client } from '../../support/providers.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

interface Sent {
  readonly status: number
  readonly text: string
  readonly body: JsonObject
  readonly dropped: readonly string[]
}

async function send({ ask, gateway, upstream }: Scene, more: object, client: Client = 'chat'): Promise<Sent> {
  const response = await ask(more as JsonObject, client)
  const text = await response.text()
  const id = response.headers.get('x-generation-id')
  const found = ((await (await gateway.get(`/v1/generation?id=${id}`)).json()) as JsonObject).data
  const dropped = response.status === 200 ? generationDropped(object(found)) : []
  return { status: response.status, text, body: object(upstream.requests.at(-1)?.json ?? {}), dropped }
}

const OTHERS = ['openai-responses', 'anthropic', 'gemini', 'bedrock-converse', 'bedrock-anthropic'] as const

t.test('regular expressions and grammars as the form of an answer (DeepInfra, Perplexity, Baseten, Fireworks)', async (t) => {
  const forms = [
    { type: 'regex', regex: '[a-z]+' },
    { type: 'regex', regex: { regex: '[a-z]+' } },
    { type: 'grammar', grammar: 'root ::= "a"' },
  ]
  const same = await startScene(t)
  for (const form of forms) {
    const { status, text, body } = await send(same, { response_format: form })
    t.equal(status, 200, text)
    t.same(body.response_format, form)
  }
  await every(t, 'other formats', async (t) => {
    for (const dialect of OTHERS) {
      const { dropped, body } = await send(await startScene(t, { dialect }), { response_format: forms[0] })
      t.match([dialect, dropped], [dialect, ['response_format']])
      t.notMatch(JSON.stringify(body), 'regex')
    }
  })
  const { status, text } = await send(same, { response_format: { type: 'yaml' } })
  t.equal(status, 400)
  t.match(text, 'response_format.type: expected one of')
})

t.test('top_k: -1 is no limit (vLLM, SGLang)', async (t) => {
  for (const client of ['chat', 'responses'] as const) {
    const same = await send(await startScene(t, { dialect: client === 'chat' ? 'openai-chat' : 'openai-responses' }), { top_k: -1 }, client)
    t.equal(same.status, 200, same.text)
    t.equal(same.body.top_k, -1)
  }
  await every(t, 'formats that count from 0', async (t) => {
    for (const dialect of ['anthropic', 'gemini', 'bedrock-converse', 'bedrock-anthropic']) {
      const { body, dropped } = await send(await startScene(t, { dialect }), { top_k: -1 })
      t.notMatch(JSON.stringify(body), /top_?k/i, dialect)
      t.match(dropped, ['top_k'], dialect)
    }
  })
  const { status, text } = await send(await startScene(t), { top_k: -2 })
  t.equal(status, 400)
  t.match(text, 'top_k: must be at least -1')
})

t.test('functions as they were before tools: role function', async (t) => {
  const call = (name: string, args: string): JsonObject => ({ role: 'assistant', content: null, function_call: { name, arguments: args } })
  const result = (name: string, content: string | null): JsonObject => ({ role: 'function', name, content })
  const messages = [
    { role: 'user', content: 'How is it?' },
    call('weather', '{"at":"Rome"}'),
    result('weather', 'sunny'),
    call('weather', '{"at":"Oslo"}'),
    result('weather', null),
  ]
  const same = await send(await startScene(t), { messages })
  t.equal(same.status, 200, same.text)
  t.same(same.body.messages, messages, 'as it came')
  const calls = [
    { name: 'weather', input: { at: 'Rome' } },
    { name: 'weather', input: { at: 'Oslo' } },
  ]
  const { body } = await send(await startScene(t, { dialect: 'anthropic' }), { messages })
  const blocks = list(body.messages).flatMap((message) => (Array.isArray(message.content) ? list(message.content) : []))
  const used = blocks.filter(({ type }) => type === 'tool_use')
  t.match(used, calls)
  const results = blocks.filter(({ type }) => type === 'tool_result')
  t.same(
    results.map(({ tool_use_id: id }) => id),
    used.map(({ id }) => id),
    'each result belongs to its call',
  )
  t.equal(results[0]?.content, 'sunny')
  const { status, text } = await send(await startScene(t), { messages: [{ role: 'function', content: '1' }] })
  t.equal(status, 400)
  t.match(text, 'messages[0].name: expected the name of the function')
})

t.test('log probabilities by their number (Together, Fireworks)', async (t) => {
  const counts = await startScene(t, { provider: 'quirks: { logprobs: count }' })
  t.equal((await send(counts, { logprobs: 3 })).body.logprobs, 3)
  const named = await startScene(t)
  t.match((await send(named, { logprobs: 3 })).body, { logprobs: true, top_logprobs: 3 })
  const none = (await send(named, { logprobs: 0 })).body
  t.equal(none.logprobs, true)
  t.equal(none.top_logprobs, undefined)
  const gemini = await send(await startScene(t, { dialect: 'gemini' }), { logprobs: 3 })
  t.match(gemini.body, { generationConfig: { responseLogprobs: true, logprobs: 3 } })
  const responses = await send(await startScene(t, { dialect: 'openai-responses' }), { logprobs: 3 })
  t.match(responses.body, { top_logprobs: 3, include: ['message.output_text.logprobs'] })
  t.match((await send(await startScene(t, { dialect: 'anthropic' }), { logprobs: 3 })).dropped, ['logprobs', 'top_logprobs'])
  t.equal((await send(named, { logprobs: 21 })).status, 400)
})

t.test('more stop sequences than a provider takes are looked for here', async (t) => {
  const stop = ['END1', 'END2', 'END3', 'END4', 'END5', 'END6']
  const answer = says({ text: ['before END6 behind'] })
  const any = await startScene(t, { answer })
  const sent = await send(any, { stop })
  t.same(sent.body.stop, stop, 'where the provider has no limit')
  const few = [{ dialect: 'openai-chat', provider: 'quirks: { most_stops: 4 }' }, { dialect: 'gemini' }]
  await every(t, 'providers with a limit', async (t) => {
    for (const scene of few) {
      const { status, text, body, dropped } = await send(await startScene(t, { answer, ...scene }), { stop })
      t.equal(status, 200, text)
      t.notMatch(JSON.stringify(body), /END|"stop/, scene.dialect)
      t.match(list(object(JSON.parse(text)).choices), [{ message: { content: 'before ' } }])
      t.same(dropped, [])
    }
  })
  const four = await startScene(t, { provider: 'quirks: { most_stops: 4 }' })
  t.same((await send(four, { stop: stop.slice(0, 4) })).body.stop, stop.slice(0, 4), 'as many as it takes go to it')
  t.same((await send(four, { stop: [...stop.slice(0, 4), ''] })).body.stop, stop.slice(0, 4), 'an empty one is none')
  t.same((await send(four, { stop_sequences: stop, max_tokens: 50 }, 'messages')).body.stop, undefined, 'from Messages callers as well')
})

t.test('audio of every format at Responses', async (t) => {
  const input = [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'flac' } }] }]
  const model = 'input: [ text, audio ]'
  const same = await send(await startScene(t, { dialect: 'openai-responses', model }), { input }, 'responses')
  t.equal(same.status, 200, same.text)
  t.match(same.body.input, input)
  const gemini = await send(await startScene(t, { dialect: 'gemini', model }), { input }, 'responses')
  t.match(gemini.body, { contents: [{ parts: [{ inlineData: { mimeType: 'audio/flac', data: 'AAAA' } }] }] })
  const none = await send(
    await startScene(t, { dialect: 'openai-responses', model }),
    {
      input: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: '' } }] }],
    },
    'responses',
  )
  t.equal(none.status, 400)
  t.match(none.text, 'input[0].content[0].input_audio.format')
})

t.test('a user_id that is longer than Anthropic takes is hashed there', async (t) => {
  const long = 'u'.repeat(257)
  for (const dialect of ['anthropic', 'bedrock-anthropic']) {
    const scene = await startScene(t, { dialect })
    const sentUser = async (metadata: JsonObject): Promise<unknown> =>
      object((await send(scene, { metadata }, 'messages')).body.metadata).user_id
    t.match(await sentUser({ user_id: long }), /^[0-9a-f]{64}$/, dialect)
    t.equal(await sentUser({ user_id: long.slice(1) }), long.slice(1), dialect)
  }
  t.equal((await send(await startScene(t), { metadata: { user_id: long } }, 'messages')).body.user, long)
  t.equal((await send(await startScene(t), { metadata: { user_id: 'u'.repeat(5000) } }, 'messages')).status, 400)
})

t.test('a prediction: its tokens are shown, and charged as those of the answer that they are in', async (t) => {
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 100,
    total_tokens: 110,
    completion_tokens_details: { reasoning_tokens: 0, accepted_prediction_tokens: 40, rejected_prediction_tokens: 30 },
  }
  const choices = [{ index: 0, message: { role: 'assistant', content: 'fine' }, finish_reason: 'stop' }]
  const reply = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage }
  const prediction = { type: 'content', content: [{ type: 'text', text: 'mostly this' }] }
  for (const lane of ['pass', 'translate'] as const) {
    const scene = await startScene(t, {
      answer: () => jsonAnswer(reply),
      lane,
      config: (url) => `
providers: { first: { dialect: openai-chat, base_url: "${url}", key: sk-provider } }
models: { acme/one: { context: 100000, endpoints: [ { provider: first, model: m, price: { prompt: "1", completion: "2" } } ] } }
`,
    })
    const { status, text, body } = await send(scene, { prediction })
    t.equal(status, 200, text)
    t.same(body.prediction, prediction)
    const shown = object((JSON.parse(text) as JsonObject).usage)
    t.match(shown.completion_tokens_details, { accepted_prediction_tokens: 40, rejected_prediction_tokens: 30 }, lane)
    t.equal(shown.cost, 0.00021, '10 at 1 USD and 100 at 2 USD a million, those that were rejected among them')
  }
  const without = await send(await startScene(t), {})
  t.notMatch(without.text, 'prediction_tokens')
  t.match((await send(await startScene(t, { dialect: 'anthropic' }), { prediction })).dropped, ['prediction'])
})

t.test('parts of bytes, as langchaingo writes them, become what their kind is called', async (t) => {
  const bytes = (mime: string): JsonObject => ({ type: 'binary', binary: { mime_type: mime, data: 'AAAA' } })
  const content = [{ type: 'text', text: 'What is this?' }, ...['image/png', 'audio/x-wav', 'application/pdf'].map(bytes)]
  const model = 'input: [ text, image, audio, file ]'
  const { body } = await send(await startScene(t, { model }), { messages: [{ role: 'user', content }] })
  t.match(list(body.messages)[0]?.content, [
    { type: 'text' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA' } },
  ])
  const gemini = await send(await startScene(t, { dialect: 'gemini', model }), { messages: [{ role: 'user', content }] })
  t.match(list(gemini.body.contents)[0]?.parts, [
    { text: 'What is this?' },
    { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
    { inlineData: { mimeType: 'audio/wav' } },
    { inlineData: { mimeType: 'application/pdf' } },
  ])
  const blind = await send(await startScene(t, { model: 'input: [ text ]' }), { messages: [{ role: 'user', content }] })
  t.not(blind.status, 200, 'they are input that a model must take')
})

t.test('a part that no one knows goes to the same format, and is recorded anywhere else', async (t) => {
  const of = { type: 'input_moon', moon: 1 }
  const asks: [Client, string, object][] = [
    ['chat', 'openai-chat', { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, of] }] }],
    ['messages', 'anthropic', { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, of] }] }],
    ['responses', 'openai-responses', { input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }, of] }] }],
  ]
  await every(t, 'every pair of formats', async (t) => {
    for (const dialect of ['openai-chat', ...OTHERS])
      for (const [client, own, more] of asks) {
        const { status, text, body, dropped } = await send(await startScene(t, { dialect }), more, client)
        t.equal(status, 200, text)
        const isSame = dialect === own || (client === 'messages' && dialect === 'bedrock-anthropic')
        t.equal(JSON.stringify(body).includes('moon'), isSame, `${client} to ${dialect}`)
        t.equal(dropped.includes('input_moon'), !isSame, `${client} to ${dialect}: recorded`)
      }
  })
})

const RUNNING = /still running/

t.test('a call that still runs has a result of its own at other formats, and its output comes as a message', async (t) => {
  const call = { type: 'function_call', call_id: 'call_1', name: 'search', arguments: '{}', async: true }
  const custom = { type: 'custom_tool_call', call_id: 'call_2', name: 'shell', input: 'ls', async: true }
  const first = [{ role: 'user', content: 'Hello' }, call, custom, { role: 'user', content: 'While they run: 2 + 2?' }]
  const output = { type: 'function_call_output', call_id: 'call_1', output: 'found it' }
  const later = [...first, { role: 'assistant', content: '4' }, output]
  const tools = [
    { type: 'custom', name: 'shell' },
    { type: 'function', name: 'search', parameters: { type: 'object' }, async: true },
  ]
  const chat = await startScene(t)
  const begun = await send(chat, { input: first, tools }, 'responses')
  t.equal(begun.status, 200, begun.text)
  t.match(begun.body.messages, [
    { role: 'user' },
    { role: 'assistant', tool_calls: [{ id: 'call_1' }, { id: 'call_2' }] },
    { role: 'tool', tool_call_id: 'call_1', content: RUNNING },
    { role: 'tool', tool_call_id: 'call_2', content: RUNNING },
    { role: 'user', content: 'While they run: 2 + 2?' },
  ])
  t.ok(begun.dropped.includes('input.function_call.async'))
  const ended = await send(chat, { input: later, tools }, 'responses')
  const messages = list(ended.body.messages)
  t.same(messages.slice(0, 5), begun.body.messages, 'earlier turns stay as they were')
  t.match(messages.slice(5), [{ role: 'assistant', content: '4' }, { role: 'user' }])
  t.match(JSON.stringify(messages[6]?.content), /Output of the tool search.*found it/)

  const claude = await startScene(t, { dialect: 'anthropic' })
  t.match((await send(claude, { input: first, tools }, 'responses')).body.messages, [
    { role: 'user' },
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'call_1' },
        { type: 'tool_use', id: 'call_2' },
      ],
    },
    { role: 'user', content: [{ tool_use_id: 'call_1', content: RUNNING }, { tool_use_id: 'call_2' }, { type: 'text' }] },
  ])
  const answered = await send(chat, { input: [first[0], call, output, first[3]], tools }, 'responses')
  t.notMatch(JSON.stringify(answered.body), RUNNING, 'one whose output follows is a call like any other')
  const open = { ...call, async: undefined }
  t.notMatch(
    JSON.stringify((await send(chat, { input: [first[0], open, first[3]] }, 'responses')).body),
    RUNNING,
    'nor is any other touched',
  )
})

/** The history that a provider was sent: its calls, results and texts in their order. */
function sentIn(value: Json | undefined): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(sentIn)
  if (!isObject(value)) return []
  const { type, text } = value
  const isResult = value.role === 'tool' || type === 'tool_result'
  const result = value.functionResponse ?? value.toolResult ?? (isResult ? value.content : undefined)
  if (result !== undefined) return [`result ${/still running|\b(?:one|two|three)\b/.exec(JSON.stringify(result))?.[0]}`]
  const call = value.functionCall ?? value.toolUse ?? value.function ?? (type === 'tool_use' ? value : undefined)
  if (isObject(call)) return [`call ${String(call.name)}`]
  return typeof text === 'string' ? [text] : sentIn(value.tool_calls ?? value.content ?? value.parts)
}

t.test('late outputs of a running call are messages that stand behind the results of the turn', async (t) => {
  const user = (content: string): JsonObject => ({ role: 'user', content })
  const call = (id: string, name: string, more: object = {}): JsonObject => ({
    type: 'function_call',
    call_id: id,
    name,
    arguments: '{}',
    ...more,
  })
  const output = (id: string, output: string): JsonObject => ({ type: 'function_call_output', call_id: id, output })
  const runs = call('a', 'search', { async: true })
  const left = [user('first'), runs, user('meanwhile')]
  const leftSent = ['first', 'call search', 'result still running', 'meanwhile']
  const late = (text: string): string[] => ['Output of the tool search:', text]
  const action = { type: 'exec', command: ['ls'], env: {} }
  const shell = { type: 'local_shell_call', id: 'item', call_id: 'b', action, status: 'completed' }
  const histories: [name: string, input: JsonObject[], sent: string[]][] = [
    [
      'an output before the result of another call',
      [...left, call('b', 'clock'), output('a', 'one'), output('b', 'two'), user('last')],
      [...leftSent, 'call clock', 'result two', ...late('one'), 'last'],
    ],
    [
      'an output before that of the shell',
      [...left, shell, output('a', 'one'), { type: 'local_shell_call_output', id: 'item', output: 'two' }, user('last')],
      [...leftSent, 'call local_shell', 'result two', ...late('one'), 'last'],
    ],
    [
      'an output between two calls of one turn',
      [...left, call('b', 'clock'), output('a', 'one'), call('c', 'place'), output('b', 'two'), output('c', 'three'), user('last')],
      [...leftSent, 'call clock', 'call place', 'result two', 'result three', ...late('one'), 'last'],
    ],
    [
      'an output beside another running call, whose turn has ended',
      [...left, call('b', 'clock', { async: true }), output('a', 'one'), call('c', 'place'), output('c', 'three'), user('last')],
      [...leftSent, 'call clock', 'result still running', ...late('one'), 'call place', 'result three', 'last'],
    ],
    [
      'progress, the end, and the end again',
      [...left, output('a', 'one'), user('last'), output('a', 'two'), call('b', 'clock'), output('a', 'two'), output('b', 'three')],
      [...leftSent, ...late('one'), 'last', ...late('two'), 'call clock', 'result three', ...late('two')],
    ],
    [
      'the end of a call whose progress was its result',
      [user('first'), runs, output('a', 'one'), user('last'), output('a', 'two')],
      ['first', 'call search', 'result one', 'last', ...late('two')],
    ],
    [
      'a later call of the same id',
      [...left, call('a', 'clock'), output('a', 'one'), user('last')],
      [...leftSent, 'call clock', 'result one', 'last'],
    ],
  ]
  await every(t, 'formats and histories', async (t) => {
    for (const dialect of ['openai-chat', 'anthropic', 'gemini', 'bedrock-converse']) {
      const scene = await startScene(t, { dialect })
      for (const [name, input, sent] of histories) {
        const { status, text, body } = await send(scene, { input }, 'responses')
        t.equal(status, 200, text)
        t.same(sentIn(body.messages ?? body.contents), sent, `${dialect}: ${name}`)
      }
    }
  })
})
