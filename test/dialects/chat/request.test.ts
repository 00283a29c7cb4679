import fc from 'fast-check'
import t from 'tap'
import { Fault } from '../../../src/core/faults.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { chatClient, openaiChat } from '../../../src/dialects/chat/index.ts'
import type { Quirks } from '../../../src/dialects/quirks.ts'
import type { Target } from '../../../src/dialects/types.ts'
import { every } from '../../support/every.ts'
import { property } from '../../support/seed.ts'
import { pass } from './rig.ts'

const user = { role: 'user', content: 'hi' }
const target = (more: Partial<Target> = {}): Target => ({ model: 'up-1', stream: false, quirks: {}, user: 'pass', ...more })

function refusedField(body: JsonObject): string {
  try {
    chatClient.check(body)
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.status === 400 && thrown.message.startsWith(String(thrown.metadata?.field)))
      return String(thrown.metadata?.field)
    throw thrown
  }
  return 'accepted'
}

t.test('each rule names its field', async (t) => {
  const fn = { type: 'function', function: { name: 'f' } }
  const image = (url: unknown) => ({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: url }] }] })
  const cases: [string, object][] = [
    ['messages', {}],
    ['messages', { messages: [] }],
    ['messages', { messages: 'hi' }],
    ['messages[0].role', { messages: [{ role: 'robot', content: 'x' }] }],
    ['messages[1].content', { messages: [user, { role: 'user' }] }],
    ['messages[0].content', { messages: [{ role: 'system', content: null }] }],
    ['messages[0].content[0].text', { messages: [{ role: 'user', content: [{ type: 'text' }] }] }],
    ['messages[0].content[0].image_url', image('http://x')],
    ['messages[0].content[0].image_url.url', image({})],
    ['messages[0].content[0].input_audio.data', { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] }],
    ['messages[0].content[0].file.file_data', { messages: [{ role: 'user', content: [{ type: 'file', file: { filename: 'x' } }] }] }],
    ['messages[0].tool_call_id', { messages: [{ role: 'tool', content: 'x' }] }],
    ['messages[0].tool_calls[0].function', { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', type: 'function' }] }] }],
    [
      'messages[0].tool_calls[0].function.arguments',
      { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: {} } }] }] },
    ],
    ['prompt', { messages: [user], prompt: 'hi' }],
    ['reasoning_effort', { messages: [user], reasoning_effort: 'low', reasoning: { effort: 'high' } }],
    ['reasoning_effort', { messages: [user], reasoning_effort: 5 }],
    ['reasoning.enabled', { messages: [user], reasoning: { enabled: false, effort: 'high' } }],
    ['top_logprobs', { messages: [user], top_logprobs: 3 }],
    ['top_logprobs', { messages: [user], logprobs: true, top_logprobs: 21 }],
    ['stop', { messages: [user], stop: Array(65).fill('a') }],
    ['temperature', { messages: [user], temperature: 2.1 }],
    ['top_p', { messages: [user], top_p: -1 }],
    ['logit_bias.50', { messages: [user], logit_bias: { 50: 101 } }],
    ['max_tokens', { messages: [user], max_tokens: 0 }],
    ['max_completion_tokens', { messages: [user], max_completion_tokens: 1.5 }],
    ['n', { messages: [user], n: 2 }],
    ['stream', { messages: [user], stream: 'yes' }],
    ['tools[0].type', { messages: [user], tools: [{ type: 'router:shell' }] }],
    ['tools[1].type', { messages: [user], tools: [fn, { type: 'acme:tool_search' }] }],
    ['tools[0].type', { messages: [user], tools: [{ type: 'x:apply_patch' }] }],
    ['tools[0].type', { messages: [user], tools: [{ type: 'gadget' }] }],
    ['tools[0].type', { messages: [user], tools: [{ name: 'f' }] }],
    ['tools[0].function', { messages: [user], tools: [{ type: 'function' }] }],
    ['tools[0].function.name', { messages: [user], tools: [{ type: 'function', function: { name: 'x'.repeat(65) } }] }],
    ['tool_choice.function', { messages: [user], tool_choice: { type: 'function' } }],
    ['tool_choice.type', { messages: [user], tool_choice: { name: 'f' } }],
    ['tool_choice', { messages: [user], tool_choice: 'every' }],
    ['response_format.json_schema', { messages: [user], response_format: { type: 'json_schema' } }],
    ['store', { messages: [user], store: true }],
    ['user', { messages: [user], user: 'x'.repeat(257) }],
    ['provider.colour', { messages: [user], provider: { colour: 1 } }],
    ['metadata', { messages: [user], metadata: { 'a[b]': 'x' } }],
    ['model', { messages: [user], model: 'no slug' }],
  ]
  await every(t, 'every case', async (t) => {
    for (const [field, body] of cases) t.equal(refusedField(body as JsonObject), field, JSON.stringify(body).slice(0, 100))
  })
})

t.test('what clients send is accepted', async (t) => {
  const bodies = [
    { messages: [user], top_logprobs: 0, temperature: null, stop: null, tools: [], n: 1 },
    { messages: [user], reasoning_effort: 'low', reasoning: { effort: 'low' } },
    { messages: [user], client_metadata: { a: 1 }, chat_template_kwargs: { thinking: true } },
    { prompt: 'Once upon a time' },
    { messages: [{ role: 'assistant', content: null, tool_calls: [] }, user] },
    { messages: [user], tools: [{ type: 'router:datetime' }, { type: 'web_search' }, { type: 'custom', custom: { name: 'x' } }] },
    { messages: [user], stream: true, stream_options: { include_usage: true }, usage: { include: true } },
    { messages: [{ role: 'user', content: [{ type: 'hologram', hologram: 1 }] }] },
  ]
  await every(t, 'every body', async (t) => {
    for (const body of bodies) t.equal(refusedField(body as JsonObject), 'accepted', JSON.stringify(body))
  })
})

const RICH: JsonObject = {
  model: 'a/b',
  messages: [
    { role: 'system', content: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }] },
    { role: 'developer', content: 'Really.', name: 'ops' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url: 'https://x/y.png', detail: 'high' } },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        { type: 'input_audio', input_audio: { data: 'UklG', format: 'wav' } },
        { type: 'video_url', video_url: { url: 'https://x/v.mp4' } },
        { type: 'file', file: { file_data: 'data:application/pdf;base64,AA', filename: 'a.pdf' } },
        { type: 'hologram', depth: 3 },
      ],
    },
    {
      role: 'assistant',
      content: 'Calling.',
      reasoning: 'Hm',
      reasoning_details: [
        { type: 'reasoning.text', text: 'Hm', format: 'acme-v1', index: 0, signature: 'sig' },
        { type: 'reasoning.encrypted', data: 'enc', id: 'rs_1', format: 'acme-v1', index: 1 },
        { type: 'reasoning.server_tool_call', tool_name: 'router:datetime', arguments: '{}', result: '{}', index: 2 },
      ],
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
        { id: 'c2', type: 'function', function: { name: 'g', arguments: '{}' } },
      ],
      annotations: [{ type: 'url_citation', url_citation: { url: 'u', title: 't' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'one' },
    {
      role: 'tool',
      tool_call_id: 'c2',
      content: [
        { type: 'text', text: 'two' },
        { type: 'image_url', image_url: { url: 'https://x/z.png' } },
      ],
    },
    { role: 'assistant', content: null, refusal: 'No.' },
    user,
    { role: 'assistant', content: 'The answer is' },
  ],
  tools: [
    { type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true } },
    { type: 'custom', custom: { name: 'x' } },
  ],
  tool_choice: { type: 'function', function: { name: 'f' } },
  temperature: 0,
  top_p: 0.5,
  top_k: 4,
  min_p: 0.1,
  top_a: 0.2,
  frequency_penalty: -1,
  presence_penalty: 1,
  repetition_penalty: 1.1,
  seed: 7,
  stop: ['END'],
  logprobs: true,
  top_logprobs: 2,
  logit_bias: { 50: -100 },
  parallel_tool_calls: false,
  max_tokens: 100,
  response_format: { type: 'json_schema', json_schema: { name: 's', schema: { type: 'object' }, strict: true } },
  reasoning_effort: 'low',
  verbosity: 'low',
  service_tier: 'flex',
  modalities: ['text'],
  user: 'u1',
  safety_identifier: 's1',
  prompt_cache_key: 'k',
  prediction: { type: 'content', content: 'x' },
  x_future: { a: [1] },
}

t.test('both lanes send the same body, and nothing in scope is lost', async (t) => {
  chatClient.check(RICH)
  const before = structuredClone(RICH)
  const quirks: Quirks = { reasoning_replay: 'details', developer: 'developer', tool_images: 'tool', cache_control: true }
  await every(t, 'every case', async (t) => {
    for (const each of [target({ quirks, tier: 'flex' }), target({ quirks, tier: 'flex', stream: true })]) {
      const translated = openaiChat.encodeRequest(chatClient.decodeRequest(RICH), each)
      const passed = pass().request(RICH, each)
      t.same(translated.body, passed.body)
      t.same(passed.dropped, [])
      t.same(translated.dropped, [])
      const expected: JsonObject = { ...RICH, model: 'up-1' }
      if (each.stream) Object.assign(expected, { stream: true, stream_options: { include_usage: true } })
      t.same(passed.body, expected)
    }
  })
  t.same(RICH, before, 'the caller’s body is not changed')
  t.equal(passedPath(), '/chat/completions')
})

function passedPath(): string {
  return pass().request(RICH, target()).path
}

t.test('the parameters that the caller really sent', async (t) => {
  const { used } = chatClient.decodeRequest(RICH)
  await every(t, 'every name', async (t) => {
    for (const name of [
      'temperature',
      'top_k',
      'stop',
      'max_tokens',
      'tools',
      'tool_choice',
      'structured_outputs',
      'reasoning',
      'verbosity',
    ])
      t.ok(used.has(name), name)
  })
  t.same([...chatClient.decodeRequest({ messages: [user], temperature: null }).used], [])
})

t.test('what only the gateway reads never goes upstream', async (t) => {
  const body: JsonObject = {
    model: 'a/b',
    models: ['c/d'],
    messages: [user],
    provider: { order: ['x'] },
    route: 'fallback',
    plugins: [{ id: 'web' }],
    session_id: 's',
    trace: {},
    debug: { echo_upstream_body: true },
    stop_server_tools_when: [{ type: 'step_count_is', step_count: 1 }],
    max_tool_calls: 3,
    metadata: { a: 'b' },
    usage: { include: true },
    cache_control: { type: 'ephemeral' },
    image_config: {},
    include_reasoning: true,
    prompt_cache_options: { mode: 'explicit' },
    n: 1,
  }
  chatClient.check(body)
  t.same(pass().request(body, target()).body, { model: 'up-1', messages: [user] })
  t.same(openaiChat.encodeRequest(chatClient.decodeRequest(body), target()).body, { model: 'up-1', messages: [user] })
})

/** Both lanes' bodies without model and messages; they must agree. */
function sent(fields: JsonObject, more: Partial<Target> = {}): { body: JsonObject; dropped: string[] } {
  const body = { model: 'a/b', messages: [user], ...fields }
  chatClient.check(body)
  const passed = pass().request(body, target(more))
  const translated = openaiChat.encodeRequest(chatClient.decodeRequest(body), target(more))
  t.same(translated.body, passed.body, `lanes agree on ${JSON.stringify(fields)}`)
  t.same([...translated.dropped].sort(), [...passed.dropped].sort())
  const { model: _model, messages: _messages, ...rest } = passed.body
  return { body: rest, dropped: passed.dropped }
}

t.test('the shape that the endpoint wants', async (t) => {
  const supported = (...names: string[]) => ({ supported: new Set(names) })
  const cases: [JsonObject, Partial<Target>, JsonObject, string[]][] = [
    [{ max_completion_tokens: 50, max_tokens: 9 }, {}, { max_tokens: 50 }, []],
    [{ max_tokens: 50 }, { quirks: { max_tokens_field: 'max_completion_tokens' } }, { max_completion_tokens: 50 }, []],
    [{ max_tokens: 50 }, { outputCap: 20 }, { max_tokens: 20 }, []],
    [{ max_tokens: 10 }, { outputCap: 20 }, { max_tokens: 10 }, []],
    [{}, { outputCap: 20, ...supported('temperature') }, { max_tokens: 20 }, []],
    [{ max_tokens: 10 }, supported('temperature'), {}, ['max_tokens']],
    [{ temperature: 1, top_k: 3 }, supported('temperature'), { temperature: 1 }, ['top_k']],
    [{ response_format: { type: 'json_object' } }, supported('structured_outputs'), { response_format: { type: 'json_object' } }, []],
    [{ tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: 'auto' }, supported('x'), {}, ['tools', 'tool_choice']],
    [{ tools: [], tool_choice: 'auto', parallel_tool_calls: true }, supported('tools'), {}, []],
    [{ reasoning_effort: 'low' }, {}, { reasoning_effort: 'low' }, []],
    // A provider's own word.
    [{ reasoning_effort: 'ultra' }, {}, { reasoning_effort: 'ultra' }, []],
    [{ reasoning_effort: 'ultra' }, { quirks: { efforts: ['low', 'high'] } }, { reasoning_effort: 'low' }, ['reasoning.effort']],
    [{ reasoning: { effort: 'high', exclude: true } }, {}, { reasoning_effort: 'high' }, []],
    [{ reasoning: { enabled: true } }, {}, { reasoning_effort: 'medium' }, []],
    [{ reasoning: { enabled: false } }, {}, { reasoning_effort: 'none' }, []],
    [{ reasoning: { max_tokens: 800 }, max_tokens: 1000 }, {}, { reasoning_effort: 'high', max_tokens: 1000 }, ['reasoning.max_tokens']],
    [
      { reasoning: { effort: 'max' } },
      { quirks: { efforts: ['low', 'medium', 'high'] } },
      { reasoning_effort: 'high' },
      ['reasoning.effort'],
    ],
    [
      { reasoning: { effort: 'low', max_tokens: 9, summary: 'auto', exclude: true } },
      { quirks: { reasoning: 'object' } },
      { reasoning: { effort: 'low', max_tokens: 9, summary: 'auto' } },
      [],
    ],
    [{ reasoning_effort: 'low' }, supported('temperature'), {}, ['reasoning']],
    [{ include_reasoning: false }, {}, {}, []],
    [{ service_tier: 'fast' }, { tier: 'priority' }, { service_tier: 'priority' }, []],
    [{}, { tier: 'priority' }, { service_tier: 'priority' }, []],
    [{ service_tier: 'priority' }, { tier: 'flex' }, { service_tier: 'flex' }, ['service_tier']],
    [{ service_tier: 'default' }, {}, { service_tier: 'default' }, []],
    [{ service_tier: 'auto' }, {}, {}, []],
    [{ service_tier: null }, {}, {}, []],
    ...['fast', 'priority', 'flex', 'scale'].map((tier): (typeof cases)[number] => [{ service_tier: tier }, {}, {}, ['service_tier']]),
    [{ user: 'ann', safety_identifier: 'x' }, { user: 'drop' }, {}, ['user', 'safety_identifier']],
    [{ user: 'ann' }, { user: 'hash' }, { user: '5e4eda49b45c3ba5f04adc9c10e9e5d3c3a5e0cb0d2bb2a5ccc6a7e6c76a2b3e' }, []],
    [{ store: false }, {}, { store: false }, []],
    [{ store: null }, {}, {}, []],
    [{ x_other: 1, seed: 3 }, { quirks: { body: { drop: ['seed', 'x_other', 'top_p'] } } }, {}, ['seed', 'x_other']],
    [
      { stream: true, stream_options: { include_usage: false, include_obfuscation: false } },
      { stream: true },
      { stream: true, stream_options: { include_usage: true, include_obfuscation: false } },
      [],
    ],
    [{ stream: true }, { stream: true, quirks: { body: { drop: ['stream_options'] } } }, { stream: true }, []],
  ]
  await every(t, 'every case', async (t) => {
    for (const [fields, more, expected, dropped] of cases) {
      const result = sent(fields, more)
      if (more.user === 'hash') {
        t.match(result.body.user, /^[0-9a-f]{64}$/)
        t.not(result.body.user, fields.user)
        continue
      }
      t.same(result.body, expected, JSON.stringify(fields))
      t.same([...result.dropped].sort(), [...dropped].sort(), JSON.stringify(fields))
    }
  })
})

t.test('a provider that refuses the names of authors gets the messages without them', async (t) => {
  const messages = [
    { role: 'system', content: 'Be brief.', name: 'clerk' },
    { role: 'user', content: 'Hi', name: 'ann' },
    {
      role: 'assistant',
      content: null,
      name: 'bob',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', content: '1', tool_call_id: 'c1' },
    user,
  ]
  const nameless = messages.map((message) => {
    const { name: _, ...rest } = message as JsonObject
    return rest
  })
  const body = { model: 'a/b', messages }
  const fitted = target({ quirks: { body: { drop: ['messages.name'] } } })
  for (const { body: sentBody, dropped } of [
    pass().request(body, fitted),
    openaiChat.encodeRequest(chatClient.decodeRequest(body), fitted),
  ]) {
    t.same(sentBody.messages, nameless)
    t.same(dropped, ['messages.name'])
  }
  t.match(pass().request(body, target()).body, { messages: [{ name: 'clerk' }] }, 'nobody else loses them')
  const plain = { model: 'a/b', messages: [user] }
  t.same(pass().request(plain, fitted).dropped, [], 'nothing is named that was not there')
})

t.test('the legacy prompt becomes a message', async (t) => {
  const body = { model: 'a/b', prompt: 'Once' }
  const expected = { model: 'up-1', messages: [{ role: 'user', content: 'Once' }] }
  t.same(pass().request(body, target()).body, expected)
  t.same(openaiChat.encodeRequest(chatClient.decodeRequest(body), target()).body, expected)
})

t.test('reasoning of earlier turns goes back in the field that the provider takes', async (t) => {
  const details = [{ type: 'reasoning.text', text: 'Hm', index: 0, format: 'unknown' }]
  const before = { role: 'assistant', content: 'a', reasoning: 'Hm', reasoning_details: details }
  const body = { model: 'a/b', messages: [user, before, user] }
  const cases: [string, object][] = [
    ['reasoning_content', { role: 'assistant', content: 'a', reasoning_content: 'Hm' }],
    ['none', { role: 'assistant', content: 'a' }],
    ['details', before],
  ]
  for (const [reasoning_replay, expected] of cases) {
    const to = target({ quirks: { reasoning_replay } })
    t.same((pass().request(body, to).body.messages as JsonObject[])[1], expected)
    t.same((openaiChat.encodeRequest(chatClient.decodeRequest(body), to).body.messages as JsonObject[])[1], expected)
  }
  const empty = { role: 'assistant', content: 'a', reasoning_content: '' }
  const kept = pass().request({ ...body, messages: [user, empty] }, target({ quirks: { reasoning_replay: 'reasoning_content' } }))
  t.same((kept.body.messages as JsonObject[])[1], empty, 'the same field stays even where it is empty')
  t.same(
    body.messages[1],
    { role: 'assistant', content: 'a', reasoning: 'Hm', reasoning_details: details },
    'the caller’s body is not changed',
  )
})

t.test('a tool and a choice without a type are of a function, and any is required', async (t) => {
  const bare = { function: { name: 'f' } }
  const body = { model: 'a/b', messages: [user], tools: [bare], tool_choice: { function: { name: 'f' } } }
  chatClient.check(body)
  const request = chatClient.decodeRequest(body)
  t.match(request, { tools: [{ kind: 'function', name: 'f' }], toolChoice: { mode: 'named', name: 'f' } })
  t.match(pass().request(body, target()).body, { tools: [bare], tool_choice: body.tool_choice }, 'they are passed on as they are')
  t.same(chatClient.decodeRequest({ ...body, tool_choice: 'any' }).toolChoice, { mode: 'required' })
})

t.test('server tools are the gateway’s', async (t) => {
  const request = chatClient.decodeRequest({
    messages: [user],
    tools: [{ type: 'acme:datetime', parameters: { timezone: 'UTC' } }],
    tool_choice: { type: 'acme:datetime' },
  })
  t.same(request.tools, [{ kind: 'server', name: 'datetime', parameters: { timezone: 'UTC' } }])
  t.same(request.toolChoice, { mode: 'named', name: 'datetime' })
  t.same(openaiChat.encodeRequest(request, target()).dropped.slice(0, 1), ['tools.datetime'])
})

t.test('what another dialect alone understands is dropped and named', async (t) => {
  const of = { dialect: 'responses', type: 'computer_call', data: {} }
  const { body, dropped } = openaiChat.encodeRequest(
    {
      items: [
        { kind: 'opaque', of },
        {
          kind: 'message',
          role: 'user',
          parts: [
            { kind: 'text', text: 'a' },
            { kind: 'opaque', of: { ...of, type: 'odd_part' } },
          ],
        },
        { kind: 'reasoning', summary: ['s'], encrypted: 'zz', id: 'rs', format: 'openai-responses-v1' },
        { kind: 'call', callId: 'c', name: 'f', args: '{}' },
        { kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'meanwhile' }] },
        { kind: 'result', callId: 'c', parts: [{ kind: 'text', text: 'r' }], error: true },
      ],
      tools: [{ kind: 'opaque', of: { ...of, type: 'computer_use_preview' } }],
      toolChoice: { mode: 'opaque', of },
      sampling: {},
      stream: false,
      extras: { dialect: 'responses', fields: { truncation: 'auto' } },
      used: new Set(),
    },
    target({ quirks: { reasoning_replay: 'reasoning' } }),
  )
  t.same(dropped, [
    'computer_call',
    'odd_part',
    'tool_result.error',
    'tools.computer_use_preview',
    'tool_choice',
    'truncation',
    'reasoning',
  ])
  const [, turn, result] = body.messages as JsonObject[]
  t.match(
    turn,
    { role: 'assistant', content: 'meanwhile', reasoning: 's', tool_calls: [{ id: 'c' }] },
    'one turn, so that its result follows',
  )
  t.equal(result.role, 'tool')
})

t.test('texts of any kind survive the round trip', async (t) => {
  const text = fc.string({ unit: 'binary' })
  const message = fc.oneof(
    fc.record({ role: fc.constantFrom('user', 'system', 'assistant'), content: text }),
    fc.record({ role: fc.constant('tool'), tool_call_id: fc.string({ minLength: 1 }), content: text }),
  )
  await every(t, 'every case', async (t) => {
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 6 }), (messages) => {
        const body = { messages } as JsonObject
        chatClient.check(body)
        const encoded = openaiChat.encodeRequest(chatClient.decodeRequest(body), target()).body
        t.same(encoded.messages, messages)
      }),
      property(60, 600),
    )
  })
})
