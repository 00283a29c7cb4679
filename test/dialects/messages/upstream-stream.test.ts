import fc from 'fast-check'
import t from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import type { StreamEvent } from '../../../src/dialects/canon/events.ts'
import { toCitation } from '../../../src/dialects/messages/citations.ts'
import { decodeFault } from '../../../src/dialects/messages/fault.ts'
import { every } from '../../support/every.ts'
import { fold } from '../../support/fold-events.ts'
import { property } from '../../support/seed.ts'
import { BROKEN, COMPLETE, cutAt, decode, decodeWhole, fixture, jsonFixture, plain, singly } from './upstream-rig.ts'

const folded = (name: string) => fold(decode(fixture(`${name}.sse`)))
const texts = (name: string) => folded(name).blocks.map((block) => block.text)
const frame = (type: string, fields: JsonObject = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const run = (...frames: string[]) => decode(Buffer.from(frames.join('')))
const START = frame('message_start', { message: { model: 'm', usage: { input_tokens: 3, output_tokens: 1 } } })

t.ok(COMPLETE.length >= 12, 'the fixtures are there')

for (const name of COMPLETE) {
  t.test(`${name}: stream and whole reply decode alike, however the bytes are cut`, async (t) => {
    const bytes = fixture(`${name}.sse`)
    const events = decode(bytes)
    t.same(plain(fold(decodeWhole(jsonFixture(`${name}.json`)))), plain(fold(events)))
    t.equal(events.at(-1)?.type, 'end')
    t.same(decode(bytes, singly), events)
    await every(t, 'every end', async (t) => {
      for (const end of ['\r\n', '\r']) t.same(decode(Buffer.from(bytes.toString('utf8').replaceAll('\n', end)), singly), events)
    })
    await every(t, 'every case', async (t) => {
      fc.assert(
        fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 }), (shares) => {
          t.strictSame(JSON.stringify(decode(bytes, cutAt(shares))), JSON.stringify(events))
        }),
        property(30, 300),
      )
    })
  })
}

t.test('blocks and their notes', async (t) => {
  const thinking = decode(fixture('thinking-call.sse'))
  t.match(thinking.slice(0, 4), [
    { type: 'start', model: 'claude-sonnet-4-5-20250929' },
    { type: 'usage', usage: { input: 1340, output: 0, outputUnknown: true } },
    { type: 'block-start', block: 0, kind: 'reasoning' },
    { type: 'block-note', block: 0, note: 'format', data: { format: 'anthropic-claude-v1' } },
  ])
  const [reason, text, first, second] = fold(thinking).blocks
  t.equal(reason.text, 'The user asks about the weather.')
  t.match(reason.notes[1], { note: 'signature', data: { signature: /^EqQB/, format: 'anthropic-claude-v1' } })
  t.equal(text.text, 'I will look it up.')
  t.same([first.call, first.text], [{ id: 'toolu_01A', name: 'get_weather' }, '{"city": "Paris", "unit": "c"}'])
  t.same([second.call, second.text], [{ id: 'toolu_01B', name: 'get_time' }, '{"zone":"Europe/Paris"}'])
  t.ok(
    fold(thinking).blocks.every((block) => block.closed),
    'all closed',
  )
  const [redacted] = folded('redacted').blocks
  t.same([redacted.kind, redacted.text, redacted.notes.map(({ note }) => note)], ['reasoning', '', ['format', 'encrypted']])
  t.match(redacted.notes[1].data, { data: /^EmwK/, format: 'anthropic-claude-v1' })
  t.same(texts('no-arguments'), ['{}'], 'a call without arguments has an empty object')
  t.same(texts('text'), ['Hello! Grüße — 世界 🌍'])
})

t.test('what only this wire knows travels whole', async (t) => {
  const web = folded('web-search')
  t.same(
    web.blocks.map(({ kind, of }) => of?.type ?? kind),
    ['text', 'server_tool_use', 'web_search_tool_result', 'text', 'text'],
  )
  t.same(web.blocks[1].of?.data, (jsonFixture('web-search.json').content as Json[])[1])
  t.same(web.blocks[2].of?.data, (jsonFixture('web-search.json').content as Json[])[2])
  const [annotation] = web.blocks[3].notes
  const citation = ((jsonFixture('web-search.json').content as JsonObject[])[3].citations as JsonObject[])[0]
  t.match(annotation.data, { type: 'url_citation', url: 'https://example.org/shannon', title: 'Claude Shannon', start_index: 0 })
  t.equal(annotation.data.end_index, web.blocks[3].text.length)
  t.same(toCitation(annotation.data), citation, 'and back')
  const compact = folded('compaction')
  t.match(compact.blocks[0].of, {
    type: 'compaction',
    data: { content: 'Summary of the conversation so far.', encrypted_content: 'gAAAA' },
  })
  t.match(compact.opaque, [{ dialect: 'messages', type: 'message', data: { context_management: { applied_edits: [] } } }])
  t.match(folded('unknown').blocks[0].of, { type: 'hologram', data: { payload: { depth: 3 } } })
  t.match(folded('programmatic-call').blocks[0], {
    kind: 'call',
    text: '{"sql":"select 1"}',
    of: { type: 'tool_use', data: { caller: { type: 'code_execution_20250825', tool_id: 'srvtoolu_01X' } } },
  })
  t.match(folded('programmatic-call').opaque[0].data.container, { id: 'container_011CPR5' })
  t.match(folded('refusal').opaque[0].data.stop_details, { category: 'cyber' })
})

t.test('citations of other makers', async (t) => {
  const notes = folded('document-citations').blocks[0].notes.map(({ data }) => data)
  t.match(notes[0], { type: 'file_citation', file_id: 'file_011CNha8iCJcU1wXNR6q4V8w', filename: 'Facts.pdf' })
  t.same(notes.map(toCitation), (jsonFixture('document-citations.json').content as JsonObject[])[0].citations)
  t.match(toCitation({ type: 'url_citation', url: 'https://a.example', title: 'A', content: 'quote' }), {
    type: 'web_search_result_location',
    url: 'https://a.example',
    cited_text: 'quote',
    encrypted_index: '',
  })
  t.match(toCitation({ type: 'file_citation', file_id: 'f', filename: 'n', index: 1 }), { file_id: 'f', document_title: 'n' })
  t.equal(toCitation({ type: 'file_path', file_id: 'f' }), undefined)
})

t.test('ends', async (t) => {
  const ends: [string, object][] = [
    ['text', { reason: 'stop', raw: 'end_turn', tier: 'default' }],
    ['thinking-call', { reason: 'tool_calls', raw: 'tool_use', tier: 'default' }],
    ['length', { reason: 'length', raw: 'max_tokens', tier: 'default' }],
    ['stop-sequence', { reason: 'stop', raw: 'stop_sequence', sequence: ', three', tier: 'default' }],
    ['refusal', { reason: 'content_filter', raw: 'refusal', tier: 'default' }],
  ]
  for (const [name, end] of ends) t.same(folded(name).end, end, name)
  const reasons: [string, string][] = [
    ['pause_turn', 'length'],
    ['compaction', 'stop'],
    ['model_context_window_exceeded', 'length'],
    ['something_new', 'unknown'],
  ]
  for (const [raw, reason] of reasons)
    t.match(fold(run(START, frame('message_delta', { delta: { stop_reason: raw } }), frame('message_stop'))).end, { raw, reason })
  const call = frame('content_block_start', { index: 0, content_block: { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } } })
  const calls = fold(run(START, call, frame('message_delta', { delta: { stop_reason: 'end_turn' } })))
  t.same([calls.end?.reason, calls.blocks[0].text], ['tool_calls', '{"x":1}'], 'whole input at the start, no stop events at all')
})

t.test('usage', async (t) => {
  t.same(folded('thinking-call').usage, {
    input: 1340,
    output: 89,
    cached: 1000,
    cacheWrite: 300,
    reasoning: 31,
    audioInput: 0,
    audioOutput: 0,
    imageOutput: 0,
    cacheWriteLong: 200,
  })
  t.match(folded('web-search').usage, { input: 6039, output: 230, webSearches: 2 })
  t.match(
    folded('compaction').usage,
    { input: 23000, output: 1000, cached: 0, others: [{ usage: { input: 181000, output: 3500, cached: 1000 } }] },
    'compaction is billed beside the rest',
  )
  t.match(
    fold(run(START)).usage,
    { input: 3, output: 0, outputUnknown: true },
    'the first counts are those of the input: they do not stand for the output',
  )
  const merged = fold(
    run(
      START,
      frame('message_delta', {
        delta: { stop_reason: 'end_turn' },
        usage: { input_tokens: 0, cache_read_input_tokens: null, output_tokens: 9 },
      }),
      frame('message_delta', { usage: { output_tokens: 12 } }),
      frame('message_stop'),
    ),
  ).usage
  t.match(merged, { input: 3, output: 12 }, 'null and zero take nothing back; later counts win')
  for (const usage of [{}, { input_tokens: 'x' }, null, 7])
    t.equal(fold(decodeWhole({ content: [], stop_reason: 'end_turn', usage: usage as Json })).usage, undefined)
  t.match(fold(decodeWhole({ content: [], usage: { input_tokens: -4, output_tokens: 2.9 } })).usage, {
    input: 0,
    output: 3,
    inputUnknown: true,
  })
})

t.test('usage keeps its invariants whatever is sent', async (t) => {
  const value = fc.oneof(fc.integer({ min: -5, max: 1e6 }), fc.constant(null), fc.constant('7'), fc.double())
  const counts = fc.record({
    input_tokens: value,
    output_tokens: value,
    cache_read_input_tokens: value,
    cache_creation_input_tokens: value,
    cache_creation: fc.option(fc.record({ ephemeral_5m_input_tokens: value, ephemeral_1h_input_tokens: value })),
    output_tokens_details: fc.option(fc.record({ thinking_tokens: value })),
  })
  await every(t, 'every case', async (t) => {
    fc.assert(
      fc.property(counts, (usage) => {
        const read = fold(decodeWhole({ content: [], usage: usage as JsonObject })).usage
        if (!read) return
        t.ok(read.input >= read.cached + read.cacheWrite && read.output >= read.reasoning && read.cacheWrite >= (read.cacheWriteLong ?? 0))
        const { inputUnknown: _input, outputUnknown: _output, ...all } = read
        t.ok(Object.values(all).every((each) => Number.isInteger(each) && Number(each) >= 0))
      }),
      property(200, 2_000),
    )
  })
})

t.test('broken streams end in one fault', async (t) => {
  const codes: Record<string, string> = { 'error-event': 'upstream_overloaded', 'error-first': 'upstream_limited', cut: 'upstream_cut' }
  await every(t, 'every name', async (t) => {
    for (const name of BROKEN) {
      const events = decode(fixture(`${name}.sse`), singly)
      const faults = events.filter((event) => event.type === 'fault')
      t.equal(faults.length, 1)
      t.equal(events.at(-1), faults[0])
      t.equal(fold(events).fault?.code, codes[name], name)
      t.notMatch(JSON.stringify(fold(events).fault) + fold(events).fault?.message, /sk-ant|k8s/)
    }
  })
  t.equal(fold(run()).fault?.code, 'upstream_empty')
  t.equal(fold(run(frame('message_stop'))).fault?.code, 'upstream_empty')
  t.equal(fold(run('data: {oops\n\n', START)).fault?.code, 'upstream_garbled')
  t.equal(fold(run('data: 7\n\n')).fault?.code, 'upstream_garbled')
  t.equal(fold(run(START, 'data: {"error":{"message":"x"}}\n\n')).fault?.code, 'upstream_error')
  t.equal(
    fold(run(START, frame('message_delta', { delta: { stop_reason: 'end_turn' } }))).end?.reason,
    'stop',
    'no message_stop, yet ended',
  )
  t.equal(fold(decodeWhole({ type: 'error', error: { type: 'api_error' } })).fault?.code, 'upstream_error')
  t.equal(fold(decodeWhole({ content: 'no' })).fault?.code, 'upstream_garbled')
})

t.test('a decoder never throws, and ends once', async (t) => {
  const names = [
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
    'ping',
  ]
  const event = fc.record(
    {
      type: fc.constantFrom(...names),
      index: fc.oneof(fc.integer({ min: 0, max: 2 }), fc.constant('x')),
      message: fc.jsonValue(),
      content_block: fc.oneof(
        fc.jsonValue(),
        fc.record({ type: fc.constantFrom('text', 'thinking', 'tool_use', 'new'), text: fc.jsonValue() }),
      ),
      delta: fc.oneof(
        fc.jsonValue(),
        fc.record({
          type: fc.constantFrom('text_delta', 'thinking_delta', 'input_json_delta', 'signature_delta', 'citations_delta'),
          text: fc.string(),
          partial_json: fc.jsonValue(),
          citation: fc.jsonValue(),
        }),
      ),
      usage: fc.jsonValue(),
    },
    { requiredKeys: ['type'] },
  )
  await every(t, 'every case', async (t) => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 12 }), (events) => {
        const out: StreamEvent[] = run(...events.map(({ type, ...fields }) => frame(type, fields as JsonObject)))
        t.equal(out.filter(({ type }) => type === 'end' || type === 'fault').length, 1)
      }),
      property(500, 5_000),
    )
  })
})

t.test('faults by status and type', async (t) => {
  const error = (type: string, message = 'x'): JsonObject => ({ type: 'error', error: { type, message }, request_id: 'req_1' })
  const table: [number, Json | undefined, string][] = [
    [400, error('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'), 'upstream_context'],
    [
      400,
      error('invalid_request_error', 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000'),
      'upstream_context',
    ],
    [400, error('invalid_request_error', 'Your credit balance is too low to access the API'), 'upstream_credit'],
    [400, error('invalid_request_error', 'Output blocked by content filtering policy'), 'upstream_policy'],
    [400, error('invalid_request_error'), 'upstream_rejected'],
    [401, error('authentication_error', 'invalid x-api-key'), 'upstream_auth'],
    [402, error('billing_error'), 'upstream_credit'],
    [403, error('permission_error'), 'upstream_rights'],
    [404, error('not_found_error', 'model: claude-9'), 'upstream_missing'],
    [413, error('request_too_large'), 'upstream_too_large'],
    [429, error('rate_limit_error'), 'upstream_limited'],
    [429, error('rate_limit_error', 'This organization has reached its spend limit'), 'upstream_credit'],
    [500, error('api_error'), 'upstream_error'],
    [504, error('timeout_error'), 'upstream_silent'],
    [529, error('overloaded_error'), 'upstream_overloaded'],
    [503, error('overloaded_error'), 'upstream_overloaded'],
    [500, error('invalid_request_error'), 'upstream_error'],
    [200, error('overloaded_error'), 'upstream_overloaded'],
    [200, error('authentication_error'), 'upstream_auth'],
    [200, error('timeout_error'), 'upstream_silent'],
    [200, error('invalid_request_error'), 'upstream_rejected'],
    [502, undefined, 'upstream_error'],
    [502, 'Bad gateway', 'upstream_error'],
    [422, { detail: 'x' }, 'upstream_unprocessable'],
    [409, error('invalid_request_error'), 'upstream_conflict'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [status, body, code] of table) t.equal(decodeFault(status, body).code, code, `${status} ${JSON.stringify(body)}`)
  })
  const refused = decodeFault(
    400,
    error('invalid_request_error', 'messages.0.content.1.text: text content blocks must be non-empty sk-ant-1'),
  )
  t.equal(refused.message, 'Provider rejected the request (messages.0.content.1.text)')
  t.same(refused.metadata, { provider_code: 'invalid_request_error', field: 'messages.0.content.1.text' })
  const secret = decodeFault(400, error('invalid_request_error', 'host-12.internal: sk-ant-1'))
  t.equal(secret.message, 'Provider rejected the request')
  const detailed = decodeFault(400, { error: { type: 'invalid_request_error', details: { error_code: 'image_dimensions_too_large' } } })
  t.match(detailed.metadata, { provider_code: 'image_dimensions_too_large' })
})
