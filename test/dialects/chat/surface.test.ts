/** The rest of the chat wire: what has no place in a plain conversation, in requests and in answers. */
import t, { type Test } from 'tap'
import { isObject, type JsonObject } from '../../../src/core/json.ts'
import { COMMON, type StreamEvent } from '../../../src/dialects/canon/events.ts'
import type { CanonicalRequest, Item, ToolSpec } from '../../../src/dialects/canon/request.ts'
import { chatClient, openaiChat } from '../../../src/dialects/chat/index.ts'
import type { Encoded, Target } from '../../../src/dialects/types.ts'
import { every } from '../../support/every.ts'
import { fold } from '../../support/fold-events.ts'
import { buildFinal, byteChunks, context, decode, decodeWhole, pass, throughPass } from './rig.ts'

const user = { role: 'user', content: 'hi' }
const target = (quirks: JsonObject = {}, more: Partial<Target> = {}): Target => ({
  model: 'up-1',
  stream: false,
  quirks,
  user: 'pass',
  ...more,
})

const objects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : [])

/** Request that both lanes send; they must agree. */
function sent(t: Test, fields: JsonObject, quirks: JsonObject = {}): Encoded {
  const body: JsonObject = { model: 'a/b', messages: [user], ...fields }
  const before = structuredClone(body)
  chatClient.check(body)
  const passed = pass().request(body, target(quirks))
  const translated = openaiChat.encodeRequest(chatClient.decodeRequest(body), target(quirks))
  t.same(translated.body, passed.body, 'both lanes send the same')
  t.same([...translated.dropped].sort(), [...passed.dropped].sort(), 'and record the same')
  t.same(body, before, 'the caller’s body is not changed')
  return passed
}

/** A request of another wire's caller. */
function foreign(fields: Partial<CanonicalRequest>, quirks: JsonObject = {}): Encoded {
  const request: CanonicalRequest = {
    items: [],
    tools: [],
    sampling: {},
    stream: false,
    extras: { dialect: 'responses', fields: {} },
    used: new Set(),
    ...fields,
  }
  return openaiChat.encodeRequest(request, target(quirks))
}

t.test('fields that chat providers lack are recorded', async (t) => {
  const fields = {
    metadata: { a: 'b' },
    image_config: { aspect_ratio: '1:1' },
    cache_control: { type: 'ephemeral', ttl: '1h' },
    prompt_cache_options: { mode: 'explicit' },
  }
  const { body, dropped } = sent(t, fields)
  t.same(body, { model: 'up-1', messages: [user] })
  t.same([...dropped].sort(), ['cache_control', 'image_config', 'metadata', 'prompt_cache_options'])
  const request = chatClient.decodeRequest({ messages: [user], ...fields })
  t.match(request, { metadata: { a: 'b' }, imageConfig: { aspect_ratio: '1:1' }, cache: { ttl: '1h' } })
  t.same([...request.used], ['image_config'], 'what is kept here, or costs nothing but money, excludes no endpoint')
  t.same(sent(t, { metadata: null, image_config: {} }).dropped, ['image_config'])
  const voice = { audio: { voice: 'alloy', format: 'wav' }, prediction: { type: 'content', content: 'x' }, web_search_options: {} }
  const { body: spoken } = sent(t, voice)
  t.match(spoken, voice)
  t.same([...chatClient.decodeRequest({ messages: [user], ...voice }).used].sort(), ['audio', 'prediction', 'web_search_options'])
  t.same(foreign({ include: ['reasoning.encrypted_content', 'message.output_text.logprobs', 'file_search_call.results'] }).dropped, [
    'include.file_search_call.results',
  ])
})

t.test('a budget of reasoning tokens is recorded even beside an effort', async (t) => {
  const { body, dropped } = sent(t, { reasoning: { effort: 'low', max_tokens: 500 } })
  t.same([body.reasoning_effort, dropped], ['low', ['reasoning.max_tokens']])
})

t.test('marks for the cache, in the form that the provider takes', async (t) => {
  const control = { type: 'ephemeral', ttl: '1h' }
  const breakpoint = { mode: 'explicit' }
  const parts = [
    { type: 'text', text: 'a', cache_control: control },
    { type: 'text', text: 'b', prompt_cache_breakpoint: breakpoint },
    { type: 'image_url', image_url: { url: 'https://x/y.png' }, cache_control: { type: 'ephemeral' } },
    { type: 'text', text: 'c' },
  ]
  const tool = { type: 'function', function: { name: 'f' }, cache_control: control }
  const fields = { messages: [{ role: 'user', content: parts }], tools: [tool] }
  const bare = sent(t, fields)
  t.notMatch(JSON.stringify(bare.body), /cache/, 'a provider that is not known to take marks gets none')
  t.same(bare.dropped, ['cache_control'])
  const plain = sent(t, fields, { cache_control: true })
  const [a, b, image, c] = parts
  t.same(objects(plain.body.messages)[0].content, [a, { type: 'text', text: 'b', cache_control: { type: 'ephemeral' } }, image, c])
  t.same([plain.body.tools, plain.dropped], [[tool], []])
  const explicit = sent(t, fields, { explicit_caching: true })
  t.same(objects(explicit.body.messages)[0].content, [
    { type: 'text', text: 'a', prompt_cache_breakpoint: breakpoint },
    b,
    { type: 'image_url', image_url: { url: 'https://x/y.png' }, prompt_cache_breakpoint: breakpoint },
    c,
  ])
  t.same(explicit.body.tools, [{ type: 'function', function: { name: 'f' } }])
  t.same([...explicit.dropped].sort(), ['cache_control', 'cache_control.ttl'])
  const options = { prompt_cache_options: { mode: 'explicit', ttl: '30m' } }
  t.match(sent(t, options, { explicit_caching: true }).body, options)
  const [spec] = chatClient.decodeRequest({ messages: [user], tools: [tool] }).tools
  t.match(spec, { kind: 'function', cache: { ttl: '1h' } })
  const items: Item[] = [
    { kind: 'call', callId: 'c', name: 'f', args: '{}', cache: {} },
    { kind: 'result', callId: 'c', parts: [{ kind: 'text', text: 'r' }], cache: { ttl: '5m' } },
  ]
  const marked = foreign({ items }, { cache_control: true })
  t.same(objects(marked.body.messages)[1].content, [{ type: 'text', text: 'r', cache_control: { type: 'ephemeral', ttl: '5m' } }])
  t.same(marked.dropped, ['cache_control'], 'a call has no place for a mark')
})

t.test('members that nobody else knows stay on this wire, and are recorded on others', async (t) => {
  const fields = {
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'a', weight: 2 }], mood: 'good' },
      {
        role: 'assistant',
        content: 'b',
        tool_calls: [
          { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' }, extra_content: { google: { thought_signature: 's' } } },
        ],
      },
      { role: 'tool', tool_call_id: 'c', content: 'r', ephemeral: true },
      { role: 'assistant', content: 'Begin', prefix: true, images: [{ type: 'image_url', image_url: { url: 'u' } }], audio: { id: 'x' } },
    ],
    tools: [{ type: 'function', function: { name: 'f', returns: { type: 'object' } } }],
  }
  const { body } = sent(t, fields)
  t.same(body, { model: 'up-1', ...fields })
  const { extras, items } = chatClient.decodeRequest(fields)
  t.same(Object.keys(extras?.fields ?? {}).sort(), [
    'messages.ephemeral',
    'messages.mood',
    'messages.prefix',
    'messages.text.weight',
    'tools.function.returns',
  ])
  const last = items.at(-1)
  t.same(last?.kind === 'message' && last.parts.map((part) => (part.kind === 'opaque' ? part.of.type : part.kind)), [
    'text',
    'images',
    'message.audio',
  ])
})

t.test('files and media of other callers', async (t) => {
  const parts: Extract<Item, { kind: 'message' }>['parts'] = [
    { kind: 'media', media: 'file', data: 'Grüße', format: 'text', name: 'a.txt' },
    { kind: 'media', media: 'file', data: 'x', format: 'text' },
    { kind: 'media', media: 'file', url: 'https://x/y.pdf' },
    { kind: 'media', media: 'file', fileId: 'file-1' },
    { kind: 'media', media: 'image', fileId: 'file-2' },
    { kind: 'media', media: 'audio', url: 'https://x/y.mp3' },
  ]
  const { body, dropped } = foreign({ items: [{ kind: 'message', role: 'user', parts, phase: 'commentary' }] })
  t.same(objects(body.messages)[0].content, [
    { type: 'file', file: { file_data: `data:text/plain;base64,${Buffer.from('Grüße').toString('base64')}`, filename: 'a.txt' } },
    { type: 'file', file: { file_data: 'data:text/plain;base64,eA==', filename: 'document.txt' } },
    { type: 'file', file: { file_data: 'https://x/y.pdf' } },
    { type: 'file', file: { file_id: 'file-1' } },
  ])
  t.same([...dropped].sort(), ['input_audio.url', 'input_image.file_id', 'message.phase'])
  const bare = (file_data: string, filename: string) => ({ type: 'file', file: { file_data, filename } })
  const request = chatClient.decodeRequest({
    messages: [{ role: 'user', content: [bare('JVBERi0=', 'scan'), bare('AAAA', 'a.DOCX'), bare('AAAA', 'a.bin')] }],
  })
  t.match(request.items, [
    {
      parts: [
        { url: 'data:application/pdf;base64,JVBERi0=' },
        { url: /^data:application\/vnd.openxmlformats-officedocument.wordprocessingml.document;base64,AAAA$/ },
        { url: 'data:application/octet-stream;base64,AAAA' },
      ],
    },
  ])
})

t.test('a choice of allowed tools', async (t) => {
  const tools = ['f', 'g', 'h'].map((name) => ({ type: 'function', function: { name } }))
  const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'g' } }] } }
  t.match(sent(t, { tools, tool_choice: allowed }).body, { tools, tool_choice: allowed }, 'goes as it came on its own wire')
  const spec = (name: string): ToolSpec => ({ kind: 'function', name })
  const choose = (mode: string, names: string[], specs: ToolSpec[]) => {
    const data: JsonObject = {
      type: 'allowed_tools',
      mode,
      tools: names.map((name) => (name.includes(':') ? { type: name } : { type: 'function', name })),
    }
    return foreign({ tools: specs, toolChoice: { mode: 'opaque', of: { dialect: 'responses', type: 'allowed_tools', data } } })
  }
  const narrowed = choose('required', ['h', 'f'], [spec('f'), spec('g'), spec('h')])
  t.same([narrowed.body.tools, narrowed.body.tool_choice], [[tools[0], tools[2]], 'required'])
  t.same(narrowed.dropped, [], 'nothing is lost')
  t.equal(choose('auto', ['f'], [spec('f'), spec('g')]).body.tool_choice, 'auto')
  t.same(choose('auto', ['router:datetime'], [spec('f'), spec('router_datetime')]).body.tools, [
    { type: 'function', function: { name: 'router_datetime' } },
  ])
  const none = choose('required', ['nobody'], [spec('f')]).body
  t.same([none.tools, none.tool_choice], [undefined, undefined], 'none of the tools is allowed')
})

const chunk = (delta: JsonObject, more: JsonObject = {}): string =>
  `data: ${JSON.stringify({ id: 'up', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`
const finish = (reason: string, more: JsonObject = {}): string =>
  `data: ${JSON.stringify({ id: 'up', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: reason }], ...more })}\n\n` +
  `data: ${JSON.stringify({ id: 'up', model: 'm', choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 }, ...more })}\n\ndata: [DONE]\n\n`

/** End of a whole answer as a caller reads it, after translation. */
function wholeMessage(events: readonly StreamEvent[]): JsonObject {
  const folded = fold(events)
  const reply = JSON.parse(chatClient.encodeResult(folded, context(), buildFinal(folded))) as JsonObject
  return objects(reply.choices)[0].message as JsonObject
}

/** All deltas that a caller reads of a stream, after translation. */
function deltas(events: readonly StreamEvent[]): JsonObject[] {
  const encoder = chatClient.streamEncoder(context())
  const text = events.map((event) => encoder.push([event])).join('') + encoder.finish(buildFinal(fold(events)))
  return byteChunks(Buffer.from(text)).flatMap((each) => objects(each.choices).map((choice) => choice.delta as JsonObject))
}

t.test('calls of tools that are no functions', async (t) => {
  const stream =
    chunk({ role: 'assistant', tool_calls: [{ index: 0, id: 'c1', type: 'custom', custom: { name: 'patch', input: '' } }] }) +
    chunk({ tool_calls: [{ index: 0, custom: { input: '*** Begin' } }] }) +
    chunk({
      tool_calls: [{ index: 1, id: 'c2', type: 'function', function: { name: 'f', arguments: '{}' }, extra_content: { google: 1 } }],
    }) +
    chunk({ tool_calls: [{ index: 0, custom: { input: ' Patch' } }] }) +
    finish('tool_calls')
  const calls = [
    { id: 'c1', type: 'custom', custom: { name: 'patch', input: '*** Begin Patch' } },
    { id: 'c2', type: 'function', function: { name: 'f', arguments: '{}' }, extra_content: { google: 1 } },
  ]
  const events = decode([Buffer.from(stream)])
  const byId = (list: JsonObject[]) => list.sort((a, b) => String(a.id).localeCompare(String(b.id)))
  t.same(byId(objects(wholeMessage(events).tool_calls)), calls)
  const whole: StreamEvent[] = []
  openaiChat.decodeResult(
    { model: 'm', choices: [{ index: 0, message: { role: 'assistant', content: null, tool_calls: calls }, finish_reason: 'tool_calls' }] },
    whole,
  )
  t.same(byId(objects(wholeMessage(whole).tool_calls)), calls)
  t.equal(fold(whole).end?.reason, 'tool_calls')
  const streamed = deltas(events).flatMap((delta) => objects(delta.tool_calls))
  t.match(
    streamed.find((call) => call.id === 'c1'),
    { index: 1, type: 'custom', custom: { input: '*** Begin Patch' } },
  )
  t.match(
    streamed.find((call) => call.id === 'c2'),
    { index: 0, extra_content: { google: 1 } },
  )
})

t.test('images and audio', async (t) => {
  const image = { type: 'image_url', index: 0, image_url: { url: 'data:image/png;base64,AA' } }
  const stream =
    chunk({ role: 'assistant', images: [image] }) +
    chunk({ audio: { id: 'au', transcript: 'Hel', data: 'AA' } }) +
    chunk({ audio: { transcript: 'lo', data: 'BB', expires_at: 9 } }) +
    finish('stop')
  const events = decode([Buffer.from(stream)])
  const media = fold(events).blocks.filter((block) => block.kind === 'media')
  t.match(media, [
    { of: { dialect: COMMON, type: 'image', data: { url: 'data:image/png;base64,AA' } } },
    { of: { dialect: COMMON, type: 'audio', data: { data: 'AABB', transcript: 'Hello' } } },
  ])
  const audio = { id: 'au', transcript: 'Hello', data: 'AABB', expires_at: 9 }
  t.match(wholeMessage(events), { images: [image], audio })
  t.match(deltas(events), [{ role: 'assistant', images: [image] }, { audio }], 'as they came')
  const others: StreamEvent[] = [
    { type: 'start' },
    {
      type: 'block-start',
      block: 0,
      kind: 'media',
      of: { dialect: COMMON, type: 'image', data: { url: 'https://x/y.webp', media_type: 'image/webp' } },
    },
    { type: 'block-end', block: 0 },
    { type: 'block-start', block: 1, kind: 'media', of: { dialect: COMMON, type: 'audio', data: { data: 'CC', format: 'wav' } } },
    { type: 'block-end', block: 1 },
    { type: 'block-start', block: 2, kind: 'opaque', of: { dialect: 'messages', type: 'server_tool_use', data: { id: 's' } } },
    { type: 'block-end', block: 2 },
    { type: 'end', reason: 'stop' },
  ]
  const sound = { id: 'audio_abc-tag', data: 'CC', transcript: '', format: 'wav', expires_at: context().created + 3600 }
  const message = wholeMessage(others)
  t.same([message.images, message.audio], [[{ type: 'image_url', image_url: { url: 'https://x/y.webp' } }], sound])
  t.same(deltas(others).slice(0, 2), [{ role: 'assistant', images: message.images }, { audio: sound }])
  t.notMatch(JSON.stringify([message, deltas(others)]), /server_tool_use/, 'items of other wires are left out')
})

t.test('annotations have their own form on each wire', async (t) => {
  const nested = [
    { type: 'url_citation', url_citation: { url: 'u', title: 't', start_index: 0, end_index: 1 } },
    { type: 'file_citation', file_citation: { file_id: 'f', filename: 'n', index: 2 } },
    { type: 'file', file: { hash: 'h', content: [{ type: 'text', text: 'page' }] } },
  ]
  const reply = {
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'x', annotations: nested }, finish_reason: 'stop' }],
  }
  const { blocks } = decodeWhole(reply)
  t.same(
    blocks[0].notes.map(({ data }) => data),
    [
      { type: 'url_citation', url: 'u', title: 't', start_index: 0, end_index: 1 },
      { type: 'file_citation', file_id: 'f', filename: 'n', index: 2 },
      { type: 'file', native: { dialect: 'chat', data: nested[2] } },
    ],
  )
  const events: StreamEvent[] = []
  openaiChat.decodeResult(reply, events)
  t.same(wholeMessage(events).annotations, nested)
  t.same(
    deltas(events).flatMap((delta) => objects(delta.annotations)),
    nested,
  )
  const other: StreamEvent[] = [
    { type: 'start' },
    { type: 'block-start', block: 0, kind: 'text' },
    { type: 'block-delta', block: 0, text: 'x' },
    {
      type: 'block-note',
      block: 0,
      note: 'annotation',
      data: {
        type: 'url_citation',
        url: 'u',
        title: 't',
        start_index: 0,
        end_index: 1,
        native: { dialect: 'messages', data: { cited: 1 } },
      },
    },
    { type: 'block-note', block: 0, note: 'annotation', data: { type: 'odd', native: { dialect: 'messages', data: { cited: 2 } } } },
    { type: 'block-end', block: 0 },
    { type: 'end', reason: 'stop' },
  ]
  t.same(wholeMessage(other).annotations, [nested[0]])
  t.same(
    deltas(other).flatMap((delta) => objects(delta.annotations)),
    [nested[0]],
  )
})

t.test('the tier that served', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const [told, expected] of [
      ['flex', 'flex'],
      ['default', 'default'],
      ['priority', 'priority'],
      ['auto', undefined],
      ['scale', undefined],
      [null, undefined],
    ] as const) {
      const bytes = Buffer.from(chunk({ role: 'assistant', content: 'x' }) + finish('stop', { service_tier: told }))
      t.equal(fold(decode([bytes])).end?.tier, expected, `${told}, streamed`)
      t.equal(throughPass([bytes]).facts.end?.tier, expected, `${told}, passed`)
      const reply: JsonObject = {
        model: 'm',
        service_tier: told,
        choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
      }
      t.equal(decodeWhole(reply).end?.tier, expected, `${told}, whole`)
      t.equal(pass().result(reply, context()).end?.tier, expected, `${told}, whole and passed`)
    }
  })
  const last = byteChunks(
    Buffer.from(chatClient.streamEncoder(context()).finish(buildFinal({ end: { reason: 'stop', tier: 'flex' } }))),
  ).at(-1)
  t.equal(last?.service_tier, 'flex')
})

t.test('searches that the provider ran', async (t) => {
  const usage = { prompt_tokens: 1, completion_tokens: 1, server_tool_use_details: { web_search_requests: 3 } }
  const folded = decodeWhole({
    model: 'm',
    usage,
    choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
  })
  t.equal(folded.usage?.webSearches, 3)
  const reply = JSON.parse(chatClient.encodeResult(folded, context(), buildFinal(folded))) as JsonObject
  t.match(reply.usage, { server_tool_use_details: { web_search_requests: 3 } })
  const plain = JSON.parse(chatClient.encodeResult(folded, context(), buildFinal({ end: { reason: 'stop' } }))) as JsonObject
  t.notOk('server_tool_use_details' in (plain.usage as JsonObject), 'nothing is said where nothing ran')
})
