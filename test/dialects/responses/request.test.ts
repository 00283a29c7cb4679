import t from 'tap'
import { Fault } from '../../../src/core/faults.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import type { CanonicalRequest } from '../../../src/dialects/canon/request.ts'
import { openaiChat } from '../../../src/dialects/chat/index.ts'
import { openaiResponses, responsesClient } from '../../../src/dialects/responses/index.ts'
import { every } from '../../support/every.ts'
import { jsonFixture, passWire, target } from './rig.ts'

function refusal(body: JsonObject): Fault | undefined {
  try {
    responsesClient.check(body)
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown
    throw thrown
  }
  return undefined
}

const ok = (fields: JsonObject): JsonObject => ({ model: 'openai/gpt-5-mini', input: 'hi', ...fields })

t.test('each bad field is a 400 that names it', async (t) => {
  const pairs = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, 'v']))
  const table: [JsonObject, string, RegExp?][] = [
    [{ model: 'a/b' }, 'input', /is required/],
    [ok({ input: null }), 'input', /a string or an array/],
    [ok({ input: 7 }), 'input'],
    [ok({ model: 'no slug' }), 'model', /author\/name/],
    [ok({ model: 5 }), 'model'],
    [ok({ models: ['a/b', 'c d'] }), 'models[1]'],
    [ok({ store: true }), 'store'],
    [ok({ background: true }), 'background'],
    [ok({ previous_response_id: 'resp_1' }), 'previous_response_id'],
    [ok({ conversation: 'conv_1' }), 'conversation'],
    [ok({ conversation: { id: 'conv_1' } }), 'conversation'],
    [ok({ user: 'x'.repeat(257) }), 'user', /at most 256 characters/],
    [ok({ session_id: 'x'.repeat(257) }), 'session_id'],
    [ok({ metadata: pairs }), 'metadata', /16/],
    [ok({ metadata: { ['k'.repeat(65)]: 'v' } }), 'metadata', /64/],
    [ok({ metadata: { k: 'v'.repeat(513) } }), 'metadata.k', /512/],
    [ok({ metadata: { 'k[0]': 'v' } }), 'metadata', /\[ or \]/],
    [ok({ provider: { colour: 1 } }), 'provider.colour', /unknown field/],
    [ok({ provider: { sort: 'cheap' } }), 'provider.sort', /price, throughput/],
    [ok({ stop_server_tools_when: [] }), 'stop_server_tools_when', /at least 1/],
    [ok({ stop_server_tools_when: [{ type: 'never' }] }), 'stop_server_tools_when[0].type', /step_count_is/],
    [ok({ cache_control: { type: 'forever' } }), 'cache_control.type', /ephemeral/],
    [ok({ temperature: 3 }), 'temperature', /from 0 to 2/],
    [ok({ temperature: 'hot' }), 'temperature', /a number/],
    [ok({ top_p: 1.1 }), 'top_p'],
    [ok({ top_logprobs: 21 }), 'top_logprobs'],
    [ok({ max_output_tokens: 0 }), 'max_output_tokens', /at least 1/],
    [ok({ stream: 'yes' }), 'stream'],
    [ok({ truncation: 'middle' }), 'truncation'],
    [ok({ service_tier: 7 }), 'service_tier'],
    [ok({ text: { format: { type: 'xml' } } }), 'text.format.type', /json_schema/],
    [ok({ text: { format: { type: 'json_schema', schema: {} } } }), 'text.format.name', /is required/],
    [ok({ text: { verbosity: 7 } }), 'text.verbosity'],
    [ok({ reasoning: { effort: '' } }), 'reasoning.effort'],
    [ok({ tools: [{ name: 'f' }] }), 'tools[0].type', /is required/],
    [ok({ tools: [{ type: 'function' }] }), 'tools[0].name', /is required/],
    [ok({ tools: [{ type: 'router:datetime', parameters: 1 }] }), 'tools[0].parameters'],
    [ok({ tool_choice: 'maybe' }), 'tool_choice'],
    [ok({ tool_choice: { type: 'function' } }), 'tool_choice.name'],
    [ok({ input: [{ content: 'x' }] }), 'input[0].type'],
    [ok({ input: ['x'] }), 'input[0]', /an object/],
    [ok({ input: [{ role: 'robot', content: 'x' }] }), 'input[0].role', /developer/],
    [ok({ input: [{ role: 'user', content: 5 }] }), 'input[0].content'],
    [ok({ input: [{ role: 'user', content: [{ type: 'input_text' }] }] }), 'input[0].content[0].text', /is required/],
    [ok({ input: [{ role: 'user', content: [{ type: 'input_image', detail: 'max' }] }] }), 'input[0].content[0].detail'],
    [ok({ input: [{ type: 'function_call', name: 'f', arguments: '{}' }] }), 'input[0].call_id', /is required/],
    [ok({ input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: {} }] }), 'input[0].arguments'],
    [ok({ input: [{ type: 'item_reference', id: 'msg_1' }] }), 'input[0].id', /same input/],
  ]
  await every(t, 'every case', async (t) => {
    for (const [body, field, expected] of table) {
      const fault = refusal(body)
      t.match(fault, { status: 400, type: 'invalid_request' }, `${field} is refused`)
      t.equal(fault?.metadata?.field, field)
      t.ok(fault?.message.startsWith(`${field}: `), fault?.message ?? field)
      if (expected) t.match(fault?.message, expected)
    }
  })
})

t.test('what clients are known to send is taken', async (t) => {
  const bodies: JsonObject[] = [
    { input: 'no model' },
    ok({ store: false, previous_response_id: null, background: false, stream: null }),
    ok({ text: {}, client_metadata: { a: 1 }, provider: null, metadata: null }),
    ok({ tools: [{ type: 'namespace', name: 'n' }, { type: 'web_search' }, { type: 'bash' }, { type: 'router:datetime' }] }),
    ok({ tools: [{ type: 'function', name: 'f', parameters: null }], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [] } }),
    ok({
      input: [
        { role: 'assistant', content: 'said', phase: 'commentary' },
        { role: 'user', content: null },
      ],
    }),
    ok({ input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://x.example/a.png' }] }] }),
    ok({ input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] }),
    ok({
      input: [
        { type: 'message', id: 'msg_1', role: 'assistant', content: 'x' },
        { type: 'item_reference', id: 'msg_1' },
      ],
    }),
    ok({ input: [{ type: 'item_reference', id: 'rs_1' }] }),
    ok({ input: [{ type: 'something_new', whatever: true }] }),
    ok({ service_tier: 'fast', provider: { max_price: { prompt: 1, completion: '2.5' }, sort: { by: null, partition: 'none' } } }),
    jsonFixture('request.json'),
  ]
  await every(t, 'every body', async (t) => {
    for (const body of bodies) t.equal(refusal(body)?.message, undefined, JSON.stringify(body).slice(0, 80))
  })
})

t.test('a reference to reasoning that is not in the input is lost, and says so, in every lane', (t) => {
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
  const body = ok({ input: [{ type: 'item_reference', id: 'rs_1' }, call] })
  for (const { body: sent, dropped } of [
    passWire.request(body, target()),
    openaiResponses.encodeRequest(responsesClient.decodeRequest(body), target()),
  ]) {
    t.match(sent.input, [{ type: 'function_call', call_id: 'c' }])
    t.same(dropped, ['input.item_reference'])
  }
  const whole = ok({
    input: [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' }, { type: 'item_reference', id: 'rs_1' }, call],
  })
  t.same(passWire.request(whole, target()).dropped, [])
  t.end()
})

t.test('a request goes round without loss', async (t) => {
  const body = jsonFixture('request.json')
  const request = responsesClient.decodeRequest(body)
  const { body: sent, path, dropped } = openaiResponses.encodeRequest(request, target({ tier: 'flex' }))
  t.equal(path, '/responses')
  t.same(dropped, [])
  // `format` is what gateways add to reasoning.
  const input = (body.input as JsonObject[]).map(({ format: _format, ...item }) => item)
  t.same(sent, { ...body, model: 'gpt-5-mini', input: input.map((item) => ({ type: 'message', ...item })) })
  const passed = passWire.request(body, target({ tier: 'flex' }))
  t.same(passed.body, { ...body, model: 'gpt-5-mini', input })
  const gateway = passWire.request(body, target({ tier: 'flex', quirks: { reasoning: 'object' } }))
  t.same(gateway.body.input, body.input, 'a provider that is a gateway gets it')
  t.same(body, jsonFixture('request.json'), 'the body of the caller is untouched')
  t.same([...request.used].sort(), [
    'frequency_penalty',
    'logprobs',
    'max_tokens',
    'parallel_tool_calls',
    'presence_penalty',
    'reasoning',
    'response_format',
    'structured_outputs',
    'temperature',
    'tool_choice',
    'tools',
    'top_k',
    'top_logprobs',
    'top_p',
    'truncation',
    'verbosity',
  ])
})

t.test('canonical form of a request', async (t) => {
  const request = responsesClient.decodeRequest(jsonFixture('request.json'))
  t.match(request.items[0], { kind: 'message', role: 'system', parts: [{ kind: 'text', text: 'Answer briefly.' }] })
  t.match(request.items[1], {
    kind: 'message',
    role: 'user',
    parts: [
      { kind: 'text' },
      { kind: 'media', media: 'image', url: 'https://img.example/a.png', detail: 'low' },
      { kind: 'media', media: 'image', url: /^data:image/ },
      { kind: 'media', media: 'file', name: 'a.pdf', url: /^data:application/ },
      { kind: 'media', media: 'file', url: 'https://files.example/b.pdf' },
      { kind: 'media', media: 'file', fileId: 'file-123' },
      { kind: 'media', media: 'audio', data: 'UklGRg==', format: 'wav' },
    ],
  })
  t.same(
    request.items.map((item) => item.kind),
    ['message', 'message', 'reasoning', 'message', 'call', 'result', 'opaque', 'opaque', 'opaque', 'message', 'message'],
  )
  t.match(request.items[2], { encrypted: 'gAAAAABo=', summary: ['Look.'], format: 'openai-responses-v1' })
  t.match(request.extras, {
    dialect: 'responses',
    fields: { client_metadata: { x: 1 }, truncation: 'auto', 'reasoning.context': 'all_turns' },
  })
  t.match(request.sampling, {
    temperature: 0.2,
    topP: 0.9,
    topK: 40,
    maxOutput: 900,
    logprobs: true,
    topLogprobs: 3,
    parallelToolCalls: false,
  })
  const tools = responsesClient.decodeRequest(ok({ tools: [{ type: 'router:web_search', parameters: { max_results: 3 } }] })).tools
  t.same(tools, [{ kind: 'server', name: 'web_search', parameters: { max_results: 3 } }])
  t.match(responsesClient.decodeRequest(ok({})).items, [{ kind: 'message', role: 'user', parts: [{ text: 'hi' }] }])
  const nested = ok({
    input: [
      { type: 'function_call', call_id: 'c', name: 'f', namespace: 'n', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'x' },
    ],
  })
  t.match(responsesClient.decodeRequest(nested).items, [{ kind: 'call', name: 'f' }, { kind: 'result' }])
  t.same(openaiResponses.encodeRequest(responsesClient.decodeRequest(nested), target()).body.input, nested.input)
  const chat = openaiChat.encodeRequest(responsesClient.decodeRequest(nested), target())
  t.match(chat.body.messages, [{ tool_calls: [{ function: { name: 'f' } }] }, { role: 'tool', content: 'x' }], 'other wires get both')
  t.same(chat.dropped, ['input.function_call.namespace'], 'and the loss of the namespace is recorded')
})

t.test('edited instructions go as an item', async (t) => {
  const request = responsesClient.decodeRequest(ok({ instructions: 'be' }))
  request.items.unshift({ kind: 'message', role: 'system', parts: [{ kind: 'text', text: 'first' }] })
  const { body } = openaiResponses.encodeRequest(request, target())
  t.equal(body.instructions, undefined)
  t.match(body.input, [{ role: 'system', content: [{ text: 'first' }] }, { role: 'system', content: [{ text: 'be' }] }, { role: 'user' }])
})

t.test('a request from another wire', async (t) => {
  const request: CanonicalRequest = {
    items: [
      { kind: 'message', role: 'system', parts: [{ kind: 'text', text: 'sys', cache: {} }] },
      { kind: 'reasoning', text: 'mine', signature: 'S', format: 'anthropic-claude-v1' },
      { kind: 'reasoning', id: 'rs_9', encrypted: 'E', summary: ['s'], format: 'openai-responses-v1' },
      {
        kind: 'message',
        role: 'assistant',
        parts: [
          { kind: 'text', text: 'ok' },
          { kind: 'media', media: 'image', url: 'u' },
        ],
        id: 'x9',
      },
      { kind: 'call', callId: 'c', name: 'f', args: '{}', id: 'call_9' },
      { kind: 'result', callId: 'c', parts: [{ kind: 'text', text: 'r' }] },
      { kind: 'opaque', of: { dialect: 'messages', type: 'document', data: {} } },
    ],
    tools: [
      { kind: 'function', name: 'f', parameters: {} },
      { kind: 'opaque', of: { dialect: 'messages', type: 'bash_20250124', data: {} } },
    ],
    toolChoice: { mode: 'named', name: 'f' },
    sampling: { stop: ['x'], seed: 1, maxOutput: 50 },
    format: { type: 'json_object' },
    stream: false,
    extras: { dialect: 'chat', fields: { prediction: {} } },
    used: new Set(),
  }
  const { body, dropped } = openaiResponses.encodeRequest(request, target({ stream: false, quirks: { explicit_caching: true } }))
  t.same([...dropped].sort(), ['document', 'image', 'prediction', 'reasoning', 'seed', 'stop', 'tools.bash_20250124'])
  t.same(body, {
    model: 'gpt-5-mini',
    input: [
      { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'sys', prompt_cache_breakpoint: { mode: 'explicit' } }] },
      { type: 'reasoning', id: 'rs_9', summary: [{ type: 'summary_text', text: 's' }], encrypted_content: 'E' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'ok', annotations: [] }] },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'r' },
    ],
    max_output_tokens: 50,
    text: { format: { type: 'json_object' } },
    tools: [{ type: 'function', name: 'f', parameters: {}, strict: false }],
    tool_choice: { type: 'function', name: 'f' },
    store: false,
    stream: false,
    include: ['reasoning.encrypted_content'],
  })
})

t.test('a budget of reasoning becomes the effort of its share of the output, as in chat', async (t) => {
  const effort = (budget: number, cap?: number, quirks = {}) => {
    const body = ok({ reasoning: { max_tokens: budget }, ...(cap === undefined ? {} : { max_output_tokens: cap }) })
    const [one, other] = [
      openaiResponses.encodeRequest(responsesClient.decodeRequest(body), target({ quirks })),
      passWire.request(body, target({ quirks })),
    ].map(({ body: sent }) => (sent.reasoning as { effort?: string }).effort)
    t.equal(one, other, 'in both lanes')
    return one
  }
  t.equal(effort(2000), 'medium', 'without a cap')
  t.equal(effort(1000, 10_000), 'minimal')
  t.equal(effort(2000, 10_000), 'low')
  t.equal(effort(5000, 10_000), 'medium')
  t.equal(effort(20_000, 25_000), 'high')
  t.equal(effort(9500, 10_000), 'high', 'not every model knows more')
  t.equal(effort(9500, 10_000, { efforts: ['low', 'high', 'xhigh'] }), 'xhigh', 'unless the provider does')
  t.equal(effort(9500, 10_000, { efforts: ['low', 'high'] }), 'high', 'of those that the provider knows')
})

t.test('an endpoint takes what it can, in both lanes alike', async (t) => {
  const body = ok({
    temperature: 0.5,
    top_k: 5,
    tools: [{ type: 'function', name: 'f' }],
    tool_choice: 'auto',
    text: { format: { type: 'json_object' }, verbosity: 'low' },
    reasoning: { enabled: true, max_tokens: 2000 },
    user: 'me',
    safety_identifier: 'sid',
    service_tier: 'fast',
    prompt_cache_options: { mode: 'explicit' },
    max_output_tokens: 500,
    provider: { order: ['a'] },
    models: ['a/b'],
    plugins: [],
    session_id: 's',
    trace: {},
    debug: { echo_upstream_body: true },
    max_tool_calls: 3,
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'x' }] },
      { type: 'router:datetime', status: 'completed', datetime: 'd', timezone: 'UTC' },
    ],
  })
  const lanes = (fields: Parameters<typeof target>[0]) => [
    openaiResponses.encodeRequest(responsesClient.decodeRequest(body), target(fields)),
    passWire.request(body, target(fields)),
  ]
  for (const { body: sent, dropped } of lanes({
    supported: new Set(['max_tokens', 'reasoning']),
    user: 'drop',
    outputCap: 200,
    quirks: {},
    tier: 'priority',
  })) {
    t.same([...dropped].sort(), [
      'prompt_cache_options',
      'reasoning.max_tokens',
      'response_format',
      'router:datetime',
      'safety_identifier',
      'temperature',
      'tool_choice',
      'tools',
      'top_k',
      'user',
      'verbosity',
    ])
    t.match(sent, {
      model: 'gpt-5-mini',
      store: false,
      stream: true,
      service_tier: 'priority',
      max_output_tokens: 200,
      reasoning: { effort: 'high' },
    })
    for (const key of ['provider', 'models', 'plugins', 'session_id', 'trace', 'debug', 'max_tool_calls', 'user', 'tools', 'top_k'])
      t.notOk(key in sent, `${key} is not sent`)
    t.equal((sent.input as unknown[]).length, 1)
  }
  for (const { body: sent, dropped } of lanes({
    user: 'hash',
    outputCap: 900,
    quirks: { body: { drop: ['top_k'] }, reasoning: 'object', explicit_caching: true },
    tier: 'priority',
  })) {
    t.same(
      dropped.filter((name) => name !== 'router:datetime'),
      ['top_k'],
    )
    t.match(sent, {
      temperature: 0.5,
      max_output_tokens: 500,
      reasoning: { enabled: true, max_tokens: 2000 },
      prompt_cache_options: { mode: 'explicit' },
    })
    t.match(sent.user, /^[0-9a-f]{64}$/)
    t.match(sent.safety_identifier, /^[0-9a-f]{64}$/)
  }
  const efforts = (fields: JsonObject, reasoning: 'effort' | 'object' = 'effort') =>
    [
      passWire.request(ok(fields), target({ quirks: { efforts: ['none', 'low', 'medium', 'high'], reasoning } })),
      openaiResponses.encodeRequest(
        responsesClient.decodeRequest(ok(fields)),
        target({ quirks: { efforts: ['none', 'low', 'medium', 'high'], reasoning } }),
      ),
    ].map(({ body }) => (body.reasoning as JsonObject).effort)
  t.same(efforts({ reasoning: { effort: 'xhigh' } }), ['high', 'high'], 'the nearest effort that the provider knows')
  t.same(efforts({ reasoning: { effort: 'minimal' } }), ['low', 'low'], 'a little is not none')
  t.same(efforts({ reasoning: { effort: 'medium' } }), ['medium', 'medium'])
  t.same(efforts({ reasoning: { max_tokens: 1000 } }), ['medium', 'medium'], 'an effort made from a budget, too')
  t.same(efforts({ reasoning: { effort: 'max' } }, 'object'), ['high', 'high'])
  const idle = responsesClient.decodeRequest(ok({ reasoning: {}, modalities: ['text'] }))
  t.equal(idle.used.has('reasoning'), false)
  const { body: plainBody } = openaiResponses.encodeRequest(idle, target())
  t.same(Object.keys(plainBody).sort(), ['input', 'model', 'store', 'stream'], 'nothing is filled in')
  const capped = passWire.request(ok({}), target({ outputCap: 4096 }))
  t.equal(capped.body.max_output_tokens, 4096)
  t.same(passWire.request(ok({ reasoning: { effort: 'none' } }), target()).body.reasoning, { effort: 'none' })
  t.equal(
    openaiResponses.encodeRequest(responsesClient.decodeRequest(ok({ reasoning: { effort: 'none' } })), target()).body.include,
    undefined,
  )
})
