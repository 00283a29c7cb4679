/** The rest of the Responses wire: what has no place in a plain conversation, in requests and in answers. */
import t from 'tap'
import { isObject, type JsonObject, present } from '../../../src/core/json.ts'
import { COMMON, type StreamEvent } from '../../../src/dialects/canon/events.ts'
import type { CanonicalRequest, Item } from '../../../src/dialects/canon/request.ts'
import { openaiResponses, responsesClient } from '../../../src/dialects/responses/index.ts'
import type { Encoded, Target } from '../../../src/dialects/types.ts'
import { every } from '../../support/every.ts'
import { fold } from '../../support/fold-events.ts'
import { buildFinal, context, decode, decodeWhole, encode, events, passWire, response, target, type WireEvent } from './rig.ts'

const objects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : [])
const ok = (fields: JsonObject): JsonObject => ({ model: 'openai/gpt-5-mini', input: 'hi', ...fields })

/** Requests of the two lanes for a body. */
function lanes(body: JsonObject, more: Partial<Target> = {}): Encoded[] {
  responsesClient.check(body)
  return [openaiResponses.encodeRequest(responsesClient.decodeRequest(body), target(more)), passWire.request(body, target(more))]
}

/** A request of another wire's caller. */
function foreign(fields: Partial<CanonicalRequest>, more: Partial<Target> = {}): Encoded {
  const request: CanonicalRequest = {
    items: [],
    tools: [],
    sampling: {},
    stream: false,
    extras: { dialect: 'chat', fields: {} },
    used: new Set(),
    ...fields,
  }
  return openaiResponses.encodeRequest(request, target({ stream: false, ...more }))
}

t.test('fields that the canon names, and those that providers lack', async (t) => {
  const fields = { metadata: { a: 'b' }, image_config: { aspect_ratio: '1:1' }, cache_control: { type: 'ephemeral', ttl: '1h' } }
  for (const { body, dropped } of lanes(ok(fields))) {
    t.same(body.metadata, { a: 'b' })
    t.same([...dropped].sort(), ['cache_control', 'image_config'])
    t.notOk('image_config' in body || 'cache_control' in body)
  }
  const request = responsesClient.decodeRequest(ok(fields))
  t.match(request, { metadata: { a: 'b' }, imageConfig: { aspect_ratio: '1:1' }, cache: { ttl: '1h' } })
  const { body, dropped } = foreign({
    metadata: { c: 'd' },
    prediction: { type: 'content' },
    audio: { voice: 'alloy' },
    cache: {},
    imageConfig: {},
    extras: { dialect: 'chat', fields: { store: false, web_search_options: {} } },
  })
  t.same(body.metadata, { c: 'd' })
  t.same([...dropped].sort(), ['audio', 'cache_control', 'image_config', 'prediction', 'web_search_options'])
  for (const sent of lanes(ok({ stream: false, stream_options: { include_obfuscation: false } }), { stream: false }))
    t.notOk('stream_options' in sent.body, 'options of a stream go with a stream')
})

t.test('marks for the cache', async (t) => {
  const taking = { quirks: { explicit_caching: true } }
  const mark = { mode: 'explicit' }
  const parts = [
    { type: 'input_text', text: 'a', prompt_cache_breakpoint: mark },
    { type: 'input_image', detail: 'auto', image_url: 'https://x/y.png', prompt_cache_breakpoint: mark },
    { type: 'input_file', file_url: 'https://x/y.pdf', detail: 'low', prompt_cache_breakpoint: mark },
  ]
  const item = { type: 'message', role: 'user', content: parts }
  for (const { body } of lanes(ok({ input: [item] }), taking)) t.same(body.input, [item])
  const [message] = responsesClient.decodeRequest(ok({ input: [item] })).items
  t.match(message, { parts: [{ cache: {} }, { cache: {} }, { cache: {} }] })
  const { body, dropped } = foreign(
    {
      items: [
        { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'a', cache: { ttl: '1h' } }] },
        { kind: 'call', callId: 'c', name: 'f', args: '{}' },
        { kind: 'result', callId: 'c', parts: [{ kind: 'text', text: 'r' }], cache: {}, error: true },
      ],
    },
    taking,
  )
  t.match(body.input, [
    { content: [{ type: 'input_text', text: 'a', prompt_cache_breakpoint: mark }] },
    { type: 'function_call' },
    { output: [{ type: 'input_text', text: 'r', prompt_cache_breakpoint: mark }] },
  ])
  t.same([...dropped].sort(), ['cache_control.ttl', 'tool_result.error'])
  for (const items of [
    [{ kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'a', cache: {} }] }],
    [{ kind: 'call', callId: 'c', name: 'f', args: '{}', cache: {} }],
  ] as Item[][])
    t.same(foreign({ items }).dropped, ['cache_control'], 'where this wire has no mark')
  t.same(foreign({ tools: [{ kind: 'function', name: 'f', cache: {} }] }).dropped, ['cache_control'])
})

t.test('members that nobody else knows stay on this wire, and are recorded on others', async (t) => {
  const citation = { type: 'url_citation', url: 'u', title: 't', start_index: 0, end_index: 1 }
  const body = ok({
    input: [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a', weight: 1 }] },
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        phase: 'final_answer',
        content: [{ type: 'output_text', text: 'b', annotations: [citation] }],
      },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', caller: { type: 'direct' } },
      { type: 'function_call_output', call_id: 'c', output: 'x', agent: 'a' },
    ],
    tools: [{ type: 'function', name: 'f', parameters: {}, defer_loading: true, allowed_callers: ['direct'] }],
    reasoning: { context: 'all_turns', mode: 'pro' },
  })
  for (const sent of lanes(body)) t.match(sent.body, { input: body.input, tools: body.tools, reasoning: body.reasoning })
  t.same(Object.keys(responsesClient.decodeRequest(body).extras?.fields ?? {}).sort(), [
    'input.function_call.caller',
    'input.function_call_output.agent',
    'input.input_text.weight',
    'input.output_text.annotations',
    'reasoning.context',
    'reasoning.mode',
    'tools.function.allowed_callers',
    'tools.function.defer_loading',
  ])
})

t.test('items of this wire alone go back as they came', async (t) => {
  const input = [
    { type: 'custom_tool_call', call_id: 'ct', name: 'patch', input: 'x', namespace: 'n' },
    { type: 'custom_tool_call_output', call_id: 'ct', output: 'y' },
    { type: 'function_call', call_id: 'ns', name: 'f', arguments: '{}', namespace: 'n' },
    { type: 'function_call_output', call_id: 'ns', output: 'z' },
    { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'g', parameters: {} }] },
    { type: 'agent_message', author: 'a', recipient: 'b', content: [{ type: 'input_text', text: 't' }] },
    { type: 'compaction', encrypted_content: 'cc' },
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
    { type: 'something_new', whatever: [1] },
  ]
  for (const { body, dropped } of lanes(ok({ input }))) t.same([body.input, dropped], [input, []])
})

t.test('files of every form', async (t) => {
  const input = [
    {
      role: 'user',
      content: [
        { type: 'input_file', file_data: 'JVBERi0=' },
        { type: 'input_file', file_data: 'AAAA', filename: 'a.csv' },
        { type: 'input_file', file_url: 'https://x/y.pdf' },
        { type: 'input_file', file_id: 'file-1' },
        { type: 'input_image', file_id: 'file-2', detail: 'original' },
        { type: 'input_video', video_url: 'https://x/y.mp4' },
      ],
    },
  ]
  const [message] = responsesClient.decodeRequest(ok({ input })).items
  t.match(message, {
    parts: [
      { url: 'data:application/pdf;base64,JVBERi0=' },
      { url: 'data:text/csv;base64,AAAA', name: 'a.csv' },
      { url: 'https://x/y.pdf' },
      { fileId: 'file-1' },
      { fileId: 'file-2', detail: 'original' },
      { media: 'video', url: 'https://x/y.mp4' },
    ],
  })
  const { body } = foreign({
    items: [{ kind: 'message', role: 'user', parts: [{ kind: 'media', media: 'file', data: 'Grüße', format: 'text' }], name: 'ann' }],
  })
  const text = `data:text/plain;base64,${Buffer.from('Grüße').toString('base64')}`
  t.same(objects(objects(body.input)[0].content), [{ type: 'input_file', filename: 'document.txt', file_data: text }])
})

function refusal(body: JsonObject): unknown {
  try {
    responsesClient.check(body)
  } catch (thrown) {
    return thrown
  }
  return undefined
}

t.test('tools of providers are checked lightly', async (t) => {
  const kinds = [
    { type: 'custom', name: 'x', format: { type: 'grammar', definition: 'd', syntax: 'lark' } },
    { type: 'namespace', name: 'n', description: 'd', tools: [] },
    { type: 'mcp', server_label: 'l' },
    ...['web_search', 'web_search_preview', 'file_search', 'computer_use_preview', 'code_interpreter', 'image_generation'].map((type) => ({
      type,
    })),
    ...['local_shell', 'shell', 'apply_patch', 'tool_search', 'tomorrow'].map((type) => ({ type })),
  ]
  responsesClient.check(ok({ tools: kinds }))
  t.same(
    responsesClient.decodeRequest(ok({ tools: kinds })).tools,
    kinds.map((data) => ({ kind: 'opaque', of: { dialect: 'responses', type: data.type, data } })),
  )
  for (const [tool, field] of [
    [{ type: 'custom' }, 'tools[0].name'],
    [{ type: 'namespace', name: '' }, 'tools[0].name'],
    [{ type: 'mcp' }, 'tools[0].server_label'],
  ] as const)
    t.match(refusal(ok({ tools: [tool] })), { status: 400, metadata: { field } })
})

t.test('a choice of allowed tools', async (t) => {
  const plain = (name: string) => ({ type: 'function', name, parameters: {} })
  const allowed = {
    type: 'allowed_tools',
    mode: 'required',
    tools: [
      { type: 'function', name: 'g' },
      { type: 'mcp', server_label: 'l' },
    ],
  }
  const tools = [plain('f'), plain('g'), { type: 'mcp', server_label: 'k' }, { type: 'mcp', server_label: 'l' }]
  for (const { body } of lanes(ok({ tools, tool_choice: allowed }))) t.match(body, { tools, tool_choice: allowed })
  const data = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'g' } }] } }
  const { body, dropped } = foreign({
    tools: [
      { kind: 'function', name: 'f' },
      { kind: 'function', name: 'g' },
    ],
    toolChoice: { mode: 'opaque', of: { dialect: 'chat', type: 'allowed_tools', data } },
  })
  t.match(body, { tools: [{ name: 'g' }], tool_choice: 'auto' })
  t.equal(objects(body.tools).length, 1)
  t.same(dropped, [])
  const own = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'router:datetime' }] }
  const request = responsesClient.decodeRequest(ok({ tools: [plain('f'), { type: 'router:datetime' }], tool_choice: own }))
  request.tools[1] = { kind: 'function', name: 'router_datetime' }
  t.match(openaiResponses.encodeRequest(request, target()).body, { tools: [{ name: 'router_datetime' }], tool_choice: 'auto' })
})

/** A whole answer of a provider as its stream tells it: items added and done, nothing between. */
function outputStream(output: readonly JsonObject[]): Buffer {
  let sequence = 0
  const frame = (type: string, fields: JsonObject): string =>
    `data: ${JSON.stringify({ type, sequence_number: sequence++, ...fields })}\n\n`
  let text = frame('response.created', { response: { status: 'in_progress' } })
  for (const [output_index, item] of output.entries()) {
    text += frame('response.output_item.added', { output_index, item: { ...item, status: 'in_progress' } })
    text += frame('response.output_item.done', { output_index, item })
  }
  return Buffer.from(text + frame('response.completed', { response: { status: 'completed', output: [...output], usage: {} } }))
}

const NATIVE: readonly [item: JsonObject, between: string[], added: JsonObject][] = [
  [
    { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } },
    ['web_search_call.in_progress', 'web_search_call.searching', 'web_search_call.completed'],
    { status: 'in_progress' },
  ],
  [
    { id: 'fs_1', type: 'file_search_call', status: 'completed', queries: ['q'] },
    ['file_search_call.in_progress', 'file_search_call.searching', 'file_search_call.completed'],
    {},
  ],
  [
    {
      id: 'ci_1',
      type: 'code_interpreter_call',
      status: 'completed',
      code: 'print(1)',
      container_id: 'c',
      outputs: [{ type: 'logs', logs: '1' }],
    },
    [
      'code_interpreter_call.in_progress',
      'code_interpreter_call_code.delta',
      'code_interpreter_call_code.done',
      'code_interpreter_call.interpreting',
      'code_interpreter_call.completed',
    ],
    { code: '', outputs: null },
  ],
  [
    { id: 'ig_1', type: 'image_generation_call', status: 'completed', result: 'QUJD', output_format: 'webp', revised_prompt: 'p' },
    ['image_generation_call.in_progress', 'image_generation_call.generating', 'image_generation_call.completed'],
    { result: null },
  ],
  [
    { id: 'ctc_1', type: 'custom_tool_call', call_id: 'c', name: 'patch', input: '*** Begin' },
    ['custom_tool_call_input.delta', 'custom_tool_call_input.done'],
    { input: '' },
  ],
  [
    { id: 'fc_1', type: 'function_call', status: 'completed', call_id: 'd', name: 'f', arguments: '{}', namespace: 'n' },
    ['function_call_arguments.delta', 'function_call_arguments.done'],
    { arguments: '', namespace: 'n' },
  ],
  [
    { id: 'ap_1', type: 'apply_patch_call', status: 'completed', call_id: 'e', operation: { type: 'create_file', path: 'a', diff: '+x' } },
    ['apply_patch_call_operation_diff.delta', 'apply_patch_call_operation_diff.done'],
    { operation: { type: 'create_file', path: 'a', diff: '' } },
  ],
  [
    { id: 'ap_2', type: 'apply_patch_call', status: 'completed', call_id: 'e', operation: { type: 'delete_file', path: 'a' } },
    [],
    { operation: { type: 'delete_file', path: 'a' } },
  ],
  [
    { id: 'mcp_1', type: 'mcp_call', server_label: 'l', name: 'g', arguments: '{}', error: 'no', output: null },
    ['mcp_call.in_progress', 'mcp_call_arguments.delta', 'mcp_call_arguments.done', 'mcp_call.failed'],
    { arguments: '' },
  ],
  [{ id: 'mcpl_1', type: 'mcp_list_tools', server_label: 'l', tools: [] }, ['mcp_list_tools.in_progress', 'mcp_list_tools.completed'], {}],
  [{ id: 'sh_1', type: 'shell_call', status: 'completed', call_id: 'f', action: { commands: ['ls'] } }, [], { status: 'in_progress' }],
]

t.test('items of providers’ tools, translated: events in order, and whole and stream agree', async (t) => {
  const output = NATIVE.map(([item]) => item)
  const list = events(encode(decode(outputStream(output))))
  const of = (index: number): WireEvent[] => list.filter((event) => event.output_index === index)
  await every(t, 'every case', async (t) => {
    for (const [index, [item, between, added]] of NATIVE.entries()) {
      const own = of(index)
      t.same(
        own.map((event) => event.type),
        ['output_item.added', ...between, 'output_item.done'].map((type) => `response.${type}`),
        String(item.type),
      )
      t.match(own[0].item, { id: item.id, type: item.type, ...added })
      t.same(own.at(-1)?.item, item)
      for (const event of own.slice(1, -1)) t.equal(event.item_id, item.id)
      const grown = own.find((event) => event.type.endsWith('.delta'))
      if (grown) t.match(JSON.stringify(item), JSON.stringify(grown.delta).slice(1, -1), 'the delta tells the text')
    }
  })
  t.equal(list.find((event) => event.type === 'response.function_call_arguments.done')?.name, 'f')
  t.same(list.at(-1)?.response, { ...(list.at(-1)?.response as JsonObject), output })
  const whole = decodeWhole({ status: 'completed', output, usage: {} })
  const folded = fold(whole)
  const reply = JSON.parse(responsesClient.encodeResult(folded, context(), buildFinal(present({ end: folded.end })))) as JsonObject
  t.same(reply.output, output)
})

t.test('images and spoken answers of other wires', async (t) => {
  const image = (url: string) => ({ kind: 'media' as const, of: { dialect: COMMON, type: 'image', data: { url } } })
  const blocks: Omit<Extract<StreamEvent, { type: 'block-start' }>, 'type' | 'block'>[] = [
    image('data:image/png;base64,AAAA'),
    image('data:image/webp;base64,BBBB'),
    image('https://x/y.png'),
    { kind: 'media', of: { dialect: COMMON, type: 'audio', data: { data: 'CC', transcript: 'Hello there' } } },
    { kind: 'media', of: { dialect: COMMON, type: 'audio', data: { data: 'DD' } } },
    { kind: 'opaque', of: { dialect: 'messages', type: 'server_tool_use', data: { id: 's' } } },
  ]
  const list: StreamEvent[] = [{ type: 'start' }]
  for (const [block, start] of blocks.entries()) list.push({ type: 'block-start', block, ...start }, { type: 'block-end', block })
  list.push({ type: 'end', reason: 'stop' })
  const text = encode(list)
  const { output } = response(text)
  t.match(output, [
    { type: 'image_generation_call', status: 'completed', result: 'AAAA', output_format: undefined },
    { type: 'image_generation_call', status: 'completed', result: 'BBBB', output_format: 'webp' },
    { type: 'image_generation_call', status: 'completed', result: null, image_url: 'https://x/y.png' },
    { type: 'message', status: 'completed', content: [{ type: 'output_text', text: 'Hello there' }] },
  ])
  t.equal(objects(output).length, 4, 'what has no form here is left out')
  const spoken = events(text).filter((event) => event.output_index === 3)
  t.same(
    spoken.map((event) => event.type),
    [
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
    ],
  )
  const reply = JSON.parse(responsesClient.encodeResult(fold(list), context(), buildFinal())) as JsonObject
  t.same(reply.output, output, 'a whole reply has the same items')
  const [made] = fold(decodeWhole({ status: 'completed', output: [NATIVE[3][0]], usage: {} })).blocks
  t.match(made, {
    kind: 'media',
    of: { dialect: COMMON, type: 'image', data: { url: 'data:image/webp;base64,QUJD', media_type: 'image/webp' } },
  })
})

t.test('annotations, and the phase of a message', async (t) => {
  const native = { type: 'container_file_citation', container_id: 'c', file_id: 'f', filename: 'n', start_index: 0, end_index: 1 }
  const path = { type: 'file_path', file_id: 'f', index: 3 }
  const message = {
    id: 'msg_1',
    type: 'message',
    status: 'completed',
    role: 'assistant',
    phase: 'commentary',
    content: [{ type: 'output_text', text: 'x', annotations: [native, path], logprobs: [] }],
  }
  const whole = fold(decodeWhole({ status: 'completed', output: [message], usage: {} }))
  t.same(
    whole.blocks[0].notes.map(({ data }) => data),
    [{ type: native.type, native: { dialect: 'responses', data: native } }, path],
  )
  const shown = (text: string): unknown => objects(objects(response(text).output)[0].content)[0].annotations
  const text = encode(decode(outputStream([message])))
  t.match(response(text).output, [{ type: 'message', phase: 'commentary', content: [{ text: 'x', annotations: [native, path] }] }])
  t.match(events(text).find((event) => event.type === 'response.output_item.added')?.item, { phase: 'commentary' })
  t.same(
    events(text)
      .filter((event) => event.type === 'response.output_text.annotation.added')
      .map((event) => event.annotation),
    [native, path],
  )
  const note = (data: JsonObject): StreamEvent => ({ type: 'block-note', block: 0, note: 'annotation', data })
  const others: StreamEvent[] = [
    { type: 'start' },
    { type: 'block-start', block: 0, kind: 'text' },
    { type: 'block-delta', block: 0, text: 'x' },
    note({ type: 'odd', native: { dialect: 'chat', data: { a: 1 } } }),
    note({ type: 'url_citation', url: 'u', native: { dialect: 'messages', data: { cited_text: 'c' } } }),
    { type: 'block-end', block: 0 },
    { type: 'end', reason: 'stop' },
  ]
  const citation = { type: 'url_citation', url: 'u', title: '', start_index: 0, end_index: 0 }
  t.same(shown(encode(others)), [citation], 'every member that strict clients demand, none of another wire')
  t.match(
    events(encode(others)).filter((event) => event.type.endsWith('annotation.added')),
    [{ annotation_index: 0, annotation: citation }],
  )
})

t.test('the tier that served, and the searches that the provider ran', async (t) => {
  const search = (action: JsonObject, status = 'completed') => ({ id: 'ws', type: 'web_search_call', status, action })
  const output = [search({ type: 'search', query: 'a' }), search({ type: 'open_page', url: 'u' }), search({ type: 'search', query: 'b' })]
  await every(t, 'every case', async (t) => {
    for (const [told, expected] of [
      ['flex', 'flex'],
      ['priority', 'priority'],
      ['default', 'default'],
      ['auto', undefined],
      [null, undefined],
    ] as const) {
      const body = { status: 'completed', output, usage: { input_tokens: 1, output_tokens: 1 }, service_tier: told }
      const frames = Buffer.from(`data: ${JSON.stringify({ type: 'response.completed', response: body })}\n\n`)
      const streamed = fold(decode(frames))
      const whole = fold(decodeWhole(body))
      const passed = passWire.result(structuredClone(body), context())
      const stream = passWire.stream(context())
      stream.feed(frames)
      stream.close()
      for (const [lane, { end, usage }] of Object.entries({ streamed, whole, passed, stream })) {
        t.equal(end?.tier, expected, `${told}, ${lane}`)
        t.equal(usage?.webSearches, 2, lane)
      }
      const reply = JSON.parse(
        responsesClient.encodeResult(whole, context(), buildFinal(present({ end: whole.end, usage: whole.usage }))),
      ) as JsonObject
      t.equal(reply.service_tier, expected ?? 'default')
      t.match(reply.usage, { server_tool_use_details: { web_search_requests: 2 } })
    }
  })
})
