import fc from 'fast-check'
import t from 'tap'
import { FAULTS, Fault, type FaultCode } from '../../../src/core/faults.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import type { EndReason, StreamEvent } from '../../../src/dialects/canon/events.ts'
import { noUsage } from '../../../src/dialects/canon/usage.ts'
import { toEndReason, toStopReason } from '../../../src/dialects/messages/ends.ts'
import { holdsForeignBlocks } from '../../../src/dialects/messages/foreign-blocks.ts'
import { messagesClient } from '../../../src/dialects/messages/index.ts'
import { withTextLast } from '../../../src/dialects/messages/reply-blocks.ts'
import { every } from '../../support/every.ts'
import { property } from '../../support/seed.ts'
import { body, buildFinal, checkLegal, context, eventsArb, type Frame, frames, gathered, streamed, whole } from './rig.ts'

type Start = Extract<StreamEvent, { type: 'block-start' }>
const start = (block: number, kind: Start['kind'], more: Partial<Start> = {}): StreamEvent => ({
  type: 'block-start',
  block,
  kind,
  ...more,
})
const say = (block: number, text: string): StreamEvent => ({ type: 'block-delta', block, text })
const note = (block: number, note: Extract<StreamEvent, { type: 'block-note' }>['note'], data: JsonObject): StreamEvent => {
  return { type: 'block-note', block, note, data }
}
const end = (block: number): StreamEvent => ({ type: 'block-end', block })

const encodedContent = (events: readonly StreamEvent[], more: JsonObject = {}): JsonObject[] =>
  whole(events, buildFinal(), context(more)).content as JsonObject[]
const names = (stream: readonly Frame[]): string[] => stream.map(({ type }) => type)

/** Message of a caller that takes a reply's content unchanged into the next request. */
function replayed(content: JsonObject[]) {
  const next = body({
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content },
      { role: 'user', content: 'go on' },
    ],
  })
  messagesClient.check(next)
  return { items: messagesClient.decodeRequest(next).items.slice(1, -1), foreign: holdsForeignBlocks(next) }
}

const THINKING: readonly JsonObject[] = [
  {},
  { thinking: { type: 'adaptive', display: 'omitted' } },
  { thinking: { type: 'adaptive', display: 'summarized' } },
]

t.test('whatever comes, the stream is legal and tells the same message as a whole reply', async (t) => {
  let blocks = 0
  await every(t, 'every case', async (t) => {
    fc.assert(
      fc.property(eventsArb, fc.integer({ min: 1, max: 9 }), fc.constantFrom(...THINKING), (events, cut, more) => {
        const ctx = context(more)
        const stream = streamed(events, buildFinal(), ctx, cut)
        checkLegal(stream)
        const message = gathered(stream)
        // Encrypted reasoning of the last text stands behind it where the text has gone out, and in front of it in a whole reply.
        const inOrder = { ...message, content: withTextLast(message.content as JsonObject[]) }
        t.strictSame(inOrder, whole(events, buildFinal(), ctx))
        blocks += (message.content as JsonObject[]).length
        // All of it can be sent back.
        replayed(message.content as JsonObject[])
      }),
      property(600, 6_000),
    )
  })
  t.ok(blocks > 600, 'they said something')
})

t.test('a text, piece by piece', async (t) => {
  const stream = streamed([{ type: 'start' }, start(0, 'text'), say(0, 'hel'), say(0, 'lo "ö"\u2028'), end(0)], buildFinal())
  t.same(names(stream), [
    'message_start',
    'ping',
    'content_block_start',
    'content_block_delta',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
  t.match(stream[0]?.message, {
    id: 'gen-1abc-AAAAbbbbCCCC',
    type: 'message',
    role: 'assistant',
    model: 'acme/mobius',
    content: [],
    provider: 'Acme',
  })
  t.match(stream[2], { index: 0, content_block: { type: 'text', text: '' } })
  t.same(stream[4]?.delta, { type: 'text_delta', text: 'lo "ö"\u2028' })
  t.same(stream[6]?.delta, { stop_reason: 'end_turn', stop_sequence: null, stop_details: null, container: null })
  t.same(stream[7], { type: 'message_stop' })
})

t.test('every field that the SDK calls present is there', async (t) => {
  const message = whole([], buildFinal())
  await every(t, 'every key', async (t) => {
    for (const key of [
      'id',
      'container',
      'content',
      'diagnostics',
      'model',
      'role',
      'stop_details',
      'stop_reason',
      'stop_sequence',
      'type',
      'usage',
    ])
      t.ok(Object.hasOwn(message, key), key)
  })
  const usage = message.usage as JsonObject
  for (const key of [
    'cache_creation',
    'cache_creation_input_tokens',
    'cache_read_input_tokens',
    'inference_geo',
    'output_tokens_details',
    'server_tool_use',
    'speed',
  ])
    t.ok(Object.hasOwn(usage, key), key)
  t.same(Object.keys(streamed([], buildFinal())[0]?.message as JsonObject).sort(), Object.keys(message).sort())
  t.same(encodedContent([start(0, 'text'), end(0), start(1, 'reasoning'), end(1)]), [], 'nothing said is no block')
})

t.test('a block is written as it comes, those behind it wait for its end', async (t) => {
  const encoder = messagesClient.streamEncoder(context())
  const call = (id: string): Partial<Start> => ({ call: { id, name: 'f' } })
  t.same(names(frames(encoder.push([start(0, 'call', call('a')), say(0, '{"a"')]))), ['content_block_start', 'content_block_delta'])
  t.equal(encoder.push([start(1, 'call', call('b')), say(1, '{"b":2}'), end(1), start(2, 'call', call('c'))]), '')
  const rest = frames(encoder.push([say(0, ':1}'), end(0)]))
  t.same(
    rest.map(({ type, index }) => [type.slice(14), index]),
    [
      ['delta', 0],
      ['stop', 0],
      ['start', 1],
      ['delta', 1],
      ['stop', 1],
      ['start', 2],
    ],
  )
  t.same(names(frames(encoder.finish(buildFinal()))), ['content_block_stop', 'message_delta', 'message_stop'])
})

t.test('calls: no arguments are none, and broken ones are not taken for some', async (t) => {
  const call = { call: { id: 'toolu_1', name: 'f' } }
  const one = (args: string): JsonObject[] => encodedContent([start(0, 'call', call), say(0, args), end(0)])
  t.same(one(''), [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {}, caller: { type: 'direct' } }])
  t.same(one('{"a":1}')[0]?.input, { a: 1 })
  t.same(one('{"a":')[0]?.input, { INVALID_JSON: '{"a":' })
  const stream = streamed([start(0, 'call', call), end(0)], buildFinal({ end: { reason: 'tool_calls' } }))
  t.same(names(stream).slice(2, 4), ['content_block_start', 'content_block_stop'])
  t.match(stream.at(-2), { delta: { stop_reason: 'tool_use' } })
  const of = {
    dialect: 'messages',
    type: 'tool_use',
    data: { id: 'x', caller: { type: 'code_execution_20250825', tool_id: 's' }, toolset_name: 'computer' },
  }
  t.match(encodedContent([start(0, 'call', { ...call, of }), end(0)]), [
    { id: 'toolu_1', caller: { tool_id: 's' }, toolset_name: 'computer' },
  ])
})

t.test('reasoning comes back as it was, whoever encrypted it', async (t) => {
  const own = [start(0, 'reasoning'), note(0, 'format', { format: 'anthropic-claude-v1' }), say(0, 'hm')]
  const signed = encodedContent([...own, note(0, 'signature', { signature: 'sig', format: 'anthropic-claude-v1' }), end(0)])
  t.same(signed, [{ type: 'thinking', thinking: 'hm', signature: 'sig' }])
  t.same(replayed(signed), { items: [{ kind: 'reasoning', text: 'hm', signature: 'sig', format: 'anthropic-claude-v1' }], foreign: false })
  const redacted = encodedContent([start(0, 'reasoning'), note(0, 'encrypted', { data: 'S', format: 'anthropic-claude-v1' }), end(0)])
  t.same(redacted, [{ type: 'redacted_thinking', data: 'S' }])
  t.equal(replayed(redacted).foreign, false)

  const openai = encodedContent([
    start(0, 'summary', { item: 'rs_1' }),
    say(0, 'first'),
    end(0),
    start(1, 'summary', { item: 'rs_1' }),
    say(1, 'second'),
    note(1, 'encrypted', { data: 'ENCRYPTED_TEXT', id: 'rs_1' }),
    note(1, 'format', { format: 'openai-responses-v1' }),
    end(1),
  ])
  t.same(
    openai.map(({ type, thinking }) => [type, thinking]),
    [
      ['thinking', 'first'],
      ['thinking', 'second'],
    ],
  )
  t.same(replayed(openai), {
    items: [{ kind: 'reasoning', id: 'rs_1', summary: ['first', 'second'], encrypted: 'ENCRYPTED_TEXT', format: 'openai-responses-v1' }],
    foreign: true,
  })
  const ofCall = [
    start(0, 'reasoning'),
    note(0, 'format', { format: 'google-gemini-v1' }),
    note(0, 'encrypted', { data: 'G', id: 'call-1', format: 'google-gemini-v1' }),
    end(0),
    start(1, 'call', { call: { id: 'call-1', name: 'f' } }),
    end(1),
  ]
  const google = encodedContent(ofCall, { thinking: { type: 'enabled', budget_tokens: 2000 } })
  t.same(
    google.map(({ type }) => type),
    ['redacted_thinking', 'tool_use'],
  )
  t.same(replayed(google).items, [
    { kind: 'reasoning', id: 'call-1', encrypted: 'G', format: 'google-gemini-v1' },
    { kind: 'call', callId: 'call-1', name: 'f', args: '{}' },
  ])
  const plain = encodedContent([start(0, 'reasoning'), say(0, 'plain'), end(0)])
  t.same(replayed(plain).items, [{ kind: 'reasoning', text: 'plain' }])
  const theirs = encodedContent([
    start(0, 'reasoning'),
    say(0, 'x'),
    note(0, 'signature', { signature: 'acme', format: 'acme-v1' }),
    end(0),
  ])
  t.same(replayed(theirs).items, [{ kind: 'reasoning', text: 'x', signature: 'acme', format: 'acme-v1' }])
})

t.test('thinking that the caller asked not to see is encrypted all the same', async (t) => {
  const ctx = context({ thinking: { type: 'adaptive', display: 'omitted' } })
  const events = [start(0, 'reasoning'), say(0, 'secret'), end(0), start(1, 'text'), say(1, 'a'), end(1)]
  const content = whole(events, buildFinal(), ctx).content as JsonObject[]
  t.match(content, [{ type: 'thinking', thinking: '' }, { type: 'text' }])
  t.notMatch(JSON.stringify(streamed(events, buildFinal(), ctx)), 'secret')
  t.same(replayed(content).items[0], { kind: 'reasoning', text: 'secret' })
})

t.test('citations, tools of the provider and of the gateway', async (t) => {
  const url = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 1, content: 'quoted' }
  const native = {
    type: 'page_location',
    cited_text: 'p',
    document_index: 0,
    document_title: null,
    start_page_number: 1,
    end_page_number: 2,
  }
  const cited = encodedContent([
    start(0, 'text'),
    say(0, 'a'),
    note(0, 'annotation', url),
    note(0, 'annotation', { ...url, native: { dialect: 'messages', data: native } }),
    end(0),
  ])
  t.same(cited[0]?.citations, [
    { type: 'web_search_result_location', url: 'https://a.example', title: 'A', cited_text: 'quoted', encrypted_index: '' },
    native,
  ])
  t.equal(replayed(cited).foreign, true)

  const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' }, caller: { type: 'direct' } }
  const opaque = (dialect: string, data: JsonObject): Partial<Start> => ({ of: { dialect, type: String(data.type), data } })
  const stream = streamed(
    [start(0, 'opaque', opaque('messages', use)), end(0), start(1, 'opaque', opaque('responses', { type: 'x' })), end(1)],
    buildFinal(),
  )
  t.same(stream[2]?.content_block, { ...use, input: {} })
  t.same(stream[3]?.delta, { type: 'input_json_delta', partial_json: '{"query":"q"}' })
  t.same(gathered(stream).content, [use])

  const data = { status: 'completed', datetime: 'now', call: { tool_call_id: 'call-1', arguments: '{"zone":"UTC"}', result: 'now' } }
  const ran = encodedContent([start(0, 'server', { of: { dialect: 'gateway', type: 'router:datetime', data } }), end(0)])
  t.match(ran, [
    { type: 'server_tool_use', name: 'router:datetime', input: { zone: 'UTC' }, caller: { type: 'direct' } },
    { type: 'router_datetime_tool_result', tool_use_id: String(ran[0]?.id), content: { status: 'completed', datetime: 'now' } },
  ])
  t.match(replayed(ran), {
    foreign: true,
    items: [{ kind: 'message', parts: [{ of: { dialect: 'gateway' } }, { of: { dialect: 'gateway' } }] }],
  })
})

t.test('why a turn ended', async (t) => {
  const WORDS = [
    'end_turn',
    'stop_sequence',
    'pause_turn',
    'compaction',
    'tool_use',
    'max_tokens',
    'model_context_window_exceeded',
    'refusal',
  ]
  await every(t, 'every raw', async (t) => {
    for (const raw of WORDS) t.equal(toStopReason({ reason: toEndReason(raw), raw }, false), raw)
  })
  const reasons: [EndReason, string][] = [
    ['stop', 'end_turn'],
    ['length', 'max_tokens'],
    ['tool_calls', 'tool_use'],
    ['content_filter', 'refusal'],
    ['error', 'refusal'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [reason, word] of reasons) {
      t.equal(whole([], buildFinal({ end: { reason, raw: 'STOP' } })).stop_reason, word)
      t.match(streamed([], buildFinal({ end: { reason } })).at(-2), { delta: { stop_reason: word } })
    }
  })
  const unknown = buildFinal({ end: { reason: 'unknown', raw: 'a_new_word' } })
  t.match(whole([], unknown), { stop_reason: 'refusal', stop_details: { explanation: /a_new_word/ }, error: { type: 'api_error' } })
  t.match(streamed([], unknown).at(-1), { type: 'error', error: { type: 'api_error', message: /a_new_word/ } })
  t.match(whole([], buildFinal({ end: { reason: 'stop', sequence: 'END' } })), { stop_reason: 'stop_sequence', stop_sequence: 'END' })
  const refused = [start(0, 'refusal'), say(0, 'no'), end(0)]
  t.match(whole(refused, buildFinal()), {
    stop_reason: 'refusal',
    stop_details: { type: 'refusal' },
    content: [{ type: 'text', text: 'no' }],
  })
})

t.test('what a provider of this wire tells of its message reaches the caller', async (t) => {
  const members = {
    container: { id: 'c', expires_at: 'soon' },
    context_management: { applied_edits: [] },
    stop_details: { type: 'refusal', category: 'bio', explanation: 'x' },
    usage: { inference_geo: 'eu', iterations: [{ type: 'message' }], server_tool_use: { web_fetch_requests: 2 }, input_tokens: 9 },
  }
  const events: StreamEvent[] = [{ type: 'opaque', of: { dialect: 'messages', type: 'message', data: members } }]
  const final = buildFinal({ end: { reason: 'content_filter' }, usage: { ...noUsage(), input: 5, webSearches: 3 } })
  const message = whole(events, final)
  const { usage, ...rest } = members
  t.match(message, rest)
  t.match(message.usage, { inference_geo: 'eu', iterations: usage.iterations, input_tokens: 5 })
  t.same((message.usage as JsonObject).server_tool_use, { web_search_requests: 3, web_fetch_requests: 2 })
  t.same(gathered(streamed(events, final)), message)
})

t.test('usage leaves cache reads and writes out of the input', async (t) => {
  const { usage } = whole([], buildFinal({ end: { reason: 'stop', tier: 'priority' }, serverTools: { requested: 2, executed: 1 } })) as {
    usage: JsonObject
  }
  t.match(usage, {
    input_tokens: 45,
    output_tokens: 20,
    output_tokens_details: { thinking_tokens: 7 },
    cache_read_input_tokens: 30,
    cache_creation_input_tokens: 25,
    cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 5 },
    server_tool_use: null,
    service_tier: 'priority',
    cost: 0.0000015,
    is_byok: false,
    server_tool_use_details: { tool_calls_requested: 2, tool_calls_executed: 1 },
  })
  t.equal((whole([], buildFinal()).usage as JsonObject).service_tier, 'standard')
})

t.test('metadata stands at the end, under the brand word', async (t) => {
  const final = buildFinal({ metadata: { attempt: 1 } })
  const ctx = { ...context(), brand: 'acme' }
  t.same(streamed([], final, ctx).at(-1), { type: 'message_stop', acme_metadata: { attempt: 1 } })
  t.same(whole([], final, ctx).acme_metadata, { attempt: 1 })
})

t.test('a failure in mid-stream is the last thing said', async (t) => {
  const fault = new Fault('upstream_overloaded')
  const stream = streamed(
    [start(0, 'text'), say(0, 'a'), start(1, 'call', { call: { id: 'a', name: 'f' } })],
    buildFinal({ fault, end: { reason: 'error' } }),
  )
  checkLegal(stream)
  t.same(stream.at(-1), {
    type: 'error',
    error: { type: 'overloaded_error', message: fault.message, error_type: 'provider_overloaded', code: 529 },
    request_id: 'gen-1abc-AAAAbbbbCCCC',
  })
  t.equal(stream.at(-2)?.type, 'content_block_delta')
  t.match(whole([], buildFinal({ fault })), {
    stop_reason: 'refusal',
    stop_details: { explanation: fault.message },
    error: { type: 'overloaded_error' },
  })
})

t.test('errors have the names of this wire', async (t) => {
  const faultBody = messagesClient.faultBody
  if (!faultBody) throw new Error('no error body')
  const type = (code: FaultCode) => (faultBody(new Fault(code), {}).error as JsonObject).type
  const expected: [FaultCode, string][] = [
    ['bad_request', 'invalid_request_error'],
    ['context_length', 'invalid_request_error'],
    ['too_large', 'request_too_large'],
    ['invalid_key', 'authentication_error'],
    ['no_credit', 'billing_error'],
    ['guardrail_blocked', 'permission_error'],
    ['model_not_found', 'not_found_error'],
    ['rate_limited', 'rate_limit_error'],
    ['deadline', 'timeout_error'],
    ['upstream_error', 'api_error'],
    ['internal', 'api_error'],
    ['unavailable', 'overloaded_error'],
    ['client_gone', 'api_error'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [code, name] of expected) t.equal(type(code), name, code)
  })
  await every(t, 'every code', async (t) => {
    for (const code of Object.keys(FAULTS) as FaultCode[]) t.match(type(code), /_error$|^request_too_large$/)
  })
  const fault = new Fault('model_not_found', { metadata: { field: 'model' }, availability: { code: 'model_not_found' } })
  t.same(faultBody(fault, { id: 'gen-1', routerMetadata: { key: 'router_metadata', value: { attempt: 0 } } }), {
    type: 'error',
    error: {
      type: 'not_found_error',
      message: fault.message,
      error_type: 'not_found',
      code: 404,
      availability: { code: 'model_not_found', docs_url: '/docs/schemas#Error' },
    },
    request_id: 'gen-1',
    metadata: { field: 'model' },
    router_metadata: { attempt: 0 },
  })
  t.equal(faultBody(fault, {}).request_id, null)
})

t.test('a debug event is one that every client reads over', async (t) => {
  t.same(frames(messagesClient.debug(context(), { model: 'm' })), [{ type: 'ping', debug: { echo_upstream_body: { model: 'm' } } }])
})
