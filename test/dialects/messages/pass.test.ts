import fc from 'fast-check'
import t from 'tap'
import { Fault } from '../../../src/core/faults.ts'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { noUsage } from '../../../src/dialects/canon/usage.ts'
import { messagesClient } from '../../../src/dialects/messages/client.ts'
import { anthropicUpstream } from '../../../src/dialects/messages/upstream.ts'
import type { Final, PassFacts, PassStream, PassWire, ReplyContext, Target } from '../../../src/dialects/types.ts'
import { every } from '../../support/every.ts'
import { fold } from '../../support/fold-events.ts'
import { property } from '../../support/seed.ts'
import { COMPLETE, type Cut, cutAt, decode, fixture, jsonFixture, ofWhole, singly, target, whole } from './upstream-rig.ts'

const wire = anthropicUpstream.pass as PassWire

function context(body: JsonObject = {}): ReplyContext {
  return {
    id: 'gen-1abc-AAAAbbbbCCCC',
    created: 1_763_712_000,
    model: 'anthropic/claude-sonnet-4.5',
    provider: 'Anthröpic',
    body,
    brand: 'router',
    sequence: 0,
    opened: false,
  }
}

function buildFinal(facts: PassFacts, more: Partial<Final> = {}): Final {
  const final: Final = {
    usage: facts.usage ?? noUsage(),
    cost: 2500,
    inputCost: 1500,
    outputCost: 1000,
    end: facts.end ?? { reason: 'error' },
    completedAt: 1_763_712_005,
    metadata: { attempt: 1 },
    ...more,
  }
  if (facts.fault) final.fault = facts.fault
  return final
}

interface Passed {
  stream: PassStream
  /** Bytes that left before the end, and all of it. */
  early: string
  text: string
}

function pass(bytes: Buffer, cut: Cut = whole, ctx = context()): Passed {
  const stream = wire.stream(ctx)
  let raw = ''
  for (const chunk of cut(bytes)) raw += stream.feed(chunk)
  raw += stream.close()
  const early = Buffer.from(raw, 'latin1').toString('utf8')
  return { stream, early, text: early + Buffer.from(stream.finish(buildFinal(stream)), 'latin1').toString('utf8') }
}

function translate(bytes: Buffer): string {
  const ctx = { ...context(), opened: true }
  const events = decode(bytes)
  const encoder = messagesClient.streamEncoder(ctx)
  const facts = fold(events)
  return messagesClient.open?.(ctx) + encoder.push(events) + encoder.finish(buildFinal(facts))
}

interface WireEvent extends JsonObject {
  type: string
}

/** The caller's stream as parsed events; every frame must have an event line that says its type. */
function events(text: string): WireEvent[] {
  const frames = text.split('\n\n')
  if (frames.pop() !== '') throw new Error('the stream does not end with a blank line')
  return frames.map((frame) => {
    const match = /^event: (\w+)\ndata: (.*)$/.exec(frame)
    if (!match) throw new Error(`not a frame: ${frame}`)
    const event = JSON.parse(match[2]) as WireEvent
    if (event.type !== match[1]) throw new Error(`${match[1]} is called ${event.type}`)
    return event
  })
}

const content = (text: string): string[] => text.split('\n\n').filter((frame) => /^event: content_block_/.test(frame))
const of = (text: string, type: string): WireEvent[] => events(text).filter((event) => event.type === type)

for (const name of COMPLETE) {
  const bytes = fixture(`${name}.sse`)
  const { text, stream } = pass(bytes)

  t.test(`${name}: both lanes tell the same, and content keeps its bytes`, async (t) => {
    t.same(content(text), content(bytes.toString('utf8')), 'content verbatim')
    const blocks = (source: string): unknown =>
      fold(decode(Buffer.from(source)))
        .blocks.filter(({ kind, text: utterance }) => kind === 'opaque' || utterance !== '')
        .map(({ kind, text: utterance, of: own }) => [kind, utterance, own?.type])
    t.same(blocks(text), blocks(translate(bytes)))
    t.match(of(text, 'message_delta'), of(translate(bytes), 'message_delta'))
    t.same(of(text, 'message_start'), [], 'the beginning is written with the head of the reply')
    t.ok((stream.firstUsage?.input ?? 0) <= (stream.usage?.input ?? 0), 'which shows what has been counted by then')
    t.notMatch(text, /msg_01|claude-sonnet-4-5-2025/, 'nothing of the provider')
    t.same(of(text, 'message_stop'), [{ type: 'message_stop', router_metadata: { attempt: 1 } }])
    t.equal(events(text).at(-1)?.type, 'message_stop')
    const facts = fold(decode(bytes))
    t.same([stream.usage, stream.end, stream.fault], [facts.usage, facts.end, undefined])
  })

  t.test(`${name}: cut anywhere, with any line end`, async (t) => {
    let same = 0
    for (let at = 1; at < bytes.length; at += 7) if (pass(bytes, (all) => [all.subarray(0, at), all.subarray(at)]).text === text) same++
    t.equal(same, Math.ceil((bytes.length - 1) / 7))
    await every(t, 'every end', async (t) => {
      for (const end of ['\r\n', '\r']) t.equal(pass(Buffer.from(bytes.toString('utf8').replaceAll('\n', end)), singly).text, text)
    })
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
        (shares) => pass(bytes, cutAt(shares)).text === text,
      ),
      property(30, 300),
    )
  })

  t.test(`${name}: the whole reply`, async (t) => {
    const body = jsonFixture(`${name}.json`)
    const result = wire.result(body, context())
    const facts = fold(decode(bytes))
    t.same([result.usage, result.end, result.fault], [facts.usage, facts.end && ofWhole(facts.end), undefined])
    const reply = JSON.parse(result.finish(buildFinal(result))) as JsonObject
    t.same(reply.content, body.content, 'content verbatim')
    t.match(reply, {
      id: 'gen-1abc-AAAAbbbbCCCC',
      model: 'anthropic/claude-sonnet-4.5',
      provider: 'Anthröpic',
      stop_reason: body.stop_reason,
      stop_sequence: body.stop_sequence,
    })
    t.same(reply.router_metadata, { attempt: 1 })
    const [delta] = of(text, 'message_delta')
    t.same(reply.usage, delta.usage, 'usage as streamed')
    t.equal((reply.usage as JsonObject).cost, 0.0000025)
    t.match({ ...(delta.delta as JsonObject) }, { stop_reason: reply.stop_reason, stop_details: reply.stop_details })
  })
}

t.test('the commit point', async (t) => {
  const frames = fixture('text.sse')
    .toString('utf8')
    .split('\n\n')
    .slice(0, -1)
    .map((frame) => `${frame}\n\n`)
  const stream = wire.stream(context())
  const at = frames.findIndex((frame) => frame.startsWith('event: content_block_delta'))
  await every(t, 'every case', async (t) => {
    frames.forEach((frame, i) => {
      const out = stream.feed(Buffer.from(frame))
      if (i < at) t.same([out, stream.committed], ['', false], 'what merely opens is held')
      if (i === at)
        t.same(
          [events(Buffer.from(out, 'latin1').toString()).map(({ type }) => type), stream.committed],
          [['content_block_start', 'ping', 'content_block_delta'], true],
        )
      if (i > at && frame.startsWith('event: content')) t.equal(Buffer.from(out, 'latin1').toString(), frame)
    })
  })
  t.ok(stream.relayed >= 'Hello! Grüße — 世界 🌍'.length && stream.relayed < 60, 'about the words, not their wrapping')
  t.equal(pass(fixture('empty.sse')).stream.committed, false, 'an answer without content')
  t.equal(pass(fixture('empty.sse')).early, '')
  t.equal(pass(fixture('no-arguments.sse')).stream.committed, true, 'a call says something by its name')
})

t.test('a stream that was opened early has one start', async (t) => {
  const passed = pass(fixture('text.sse'), whole, { ...context(), opened: true })
  t.same(of(passed.text, 'message_start'), [])
  t.equal(events(passed.text)[0].type, 'content_block_start')
})

t.test('faults', async (t) => {
  const late = pass(fixture('error-event.sse'))
  t.equal(late.stream.fault?.code, 'upstream_overloaded')
  t.ok(late.stream.committed)
  const last = events(late.text).at(-1)
  t.match(last, {
    type: 'error',
    error: { type: 'overloaded_error', error_type: 'provider_overloaded' },
    request_id: 'gen-1abc-AAAAbbbbCCCC',
  })
  t.notMatch(late.text, /sk-ant|k8s/)
  const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'behind it' } }
  const behind = Buffer.concat([fixture('error-event.sse'), Buffer.from(`event: content_block_delta\ndata: ${JSON.stringify(delta)}\n\n`)])
  for (const cut of [whole, singly]) {
    const passed = pass(behind, cut)
    t.same([passed.stream.fault?.code, passed.text], ['upstream_overloaded', late.text], 'what follows an error does not travel')
  }
  const first = pass(fixture('error-first.sse'))
  t.same([first.stream.fault?.code, first.stream.committed, first.early], ['upstream_limited', false, ''])
  const cut = pass(fixture('cut.sse'))
  t.same([cut.stream.fault?.code, cut.stream.committed], ['upstream_cut', true])
  t.equal(events(cut.text).at(-1)?.type, 'error')
  t.equal(pass(Buffer.from('')).stream.fault?.code, 'upstream_empty')
  t.equal(pass(Buffer.from('data: {oops\n\n')).stream.fault?.code, 'upstream_garbled')
  const half = fixture('text.sse')
  t.equal(pass(half.subarray(0, half.indexOf('lo! '))).stream.fault?.code, 'upstream_cut', 'cut within a frame')
  const noStop = half.subarray(0, half.indexOf('event: message_stop'))
  t.same([pass(noStop).stream.fault, pass(noStop).stream.end?.raw], [undefined, 'end_turn'], 'it had ended already')
  for (const [body, code] of [
    [{ type: 'error', error: { type: 'overloaded_error' } }, 'upstream_overloaded'],
    [{ id: 'x' }, 'upstream_garbled'],
  ] as [JsonObject, string][]) {
    const result = wire.result(body, context())
    t.equal(result.fault?.code, code)
    const reply = JSON.parse(result.finish(buildFinal({ fault: new Fault('upstream_error') }))) as JsonObject
    t.match(reply, { content: [], error: { type: 'api_error' } })
  }
})

t.test('frames of an unusual form', async (t) => {
  const bare = fixture('thinking-call.sse')
    .toString('utf8')
    .replace(/^event: .*\n/gm, '')
  const passed = pass(Buffer.from(bare), singly)
  t.equal(passed.text, pass(fixture('thinking-call.sse')).text, 'frames without an event line get one: the SDK goes by it')
  const tight = fixture('text.sse').toString('utf8').replaceAll('event: ', 'event:').replaceAll('data: ', 'data:')
  t.same(fold(decode(Buffer.from(pass(Buffer.from(tight)).text))).blocks[0].text, 'Hello! Grüße — 世界 🌍')
  const odd = pass(fixture('unknown.sse')).text
  t.match(odd, /event: content_block_delta\ndata: {"type":"content_block_delta","index":1,"delta":{"type":"sparkle_delta"/)
  t.match(odd, /event: weather_report\ndata: {"type":"weather_report","sky":"blue"}/, 'an event that nobody knows survives')
})

t.test('what the end tells', async (t) => {
  const [refused] = of(pass(fixture('refusal.sse')).text, 'message_delta')
  t.match(refused.delta, { stop_reason: 'refusal', stop_details: { type: 'refusal', category: 'cyber' } })
  const [compacted] = of(pass(fixture('compaction.sse')).text, 'message_delta')
  t.match(compacted, { context_management: { applied_edits: [] }, usage: { iterations: [{ type: 'compaction' }, { type: 'message' }] } })
  const [called] = of(pass(fixture('thinking-call.sse')).text, 'message_delta')
  t.match(called.usage, {
    input_tokens: 40,
    cache_read_input_tokens: 1000,
    cache_creation_input_tokens: 300,
    cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
    output_tokens: 89,
    output_tokens_details: { thinking_tokens: 31 },
    cost: 0.0000025,
    is_byok: false,
  })
  const [stopped] = of(pass(fixture('stop-sequence.sse')).text, 'message_delta')
  t.match(stopped.delta, { stop_reason: 'stop_sequence', stop_sequence: ', three' })
})

t.test('requests', async (t) => {
  const body: JsonObject = {
    model: 'anthropic/claude-sonnet-4.5',
    max_tokens: 1000,
    system: [{ type: 'text', text: 's', cache_control: { type: 'ephemeral' } }],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', something: 'new' }] }],
    cache_control: { type: 'ephemeral', ttl: '1h' },
    thinking: { type: 'adaptive', display: 'omitted' },
    context_management: { edits: [] },
    speed: 'fast',
    unknown_field: { a: 1 },
    stream: true,
    temperature: null,
    models: ['a/b'],
    fallbacks: [{ model: 'a/b' }],
    provider: { order: ['x'] },
    plugins: [],
    session_id: 's',
    trace: {},
    user: 'me',
    service_tier: 'default',
    betas: ['b-1'],
  }
  const before = JSON.stringify(body)
  const { path, body: sent, headers, dropped } = wire.request(body, target({ stream: true, betas: 'a-1', tier: 'priority' }))
  t.equal(path, '/v1/messages')
  t.same(sent, {
    model: 'claude-sonnet-4-5',
    max_tokens: 1000,
    system: body.system,
    messages: body.messages,
    cache_control: body.cache_control,
    thinking: body.thinking,
    context_management: body.context_management,
    speed: 'fast',
    unknown_field: { a: 1 },
    stream: true,
    metadata: { user_id: 'me' },
    service_tier: 'auto',
  })
  t.same([headers, dropped], [['anthropic-beta', 'a-1,b-1'], []])
  const capped = (fields: JsonObject, at: Partial<Target>) => wire.request({ ...body, ...fields }, target({ tier: 'priority', ...at }))
  const plain = capped({}, { tier: undefined })
  t.match(plain, { body: { speed: undefined, service_tier: 'standard_only' }, dropped: ['speed'] }, 'fast mode has a price of its own')
  t.equal(capped({}, { outputCap: 300 }).body.max_tokens, 300)
  t.equal(capped({}, {}).body.stream, undefined)
  const tight = capped({ thinking: { type: 'enabled', budget_tokens: 9000 }, max_tokens: 10000 }, { outputCap: 2000 })
  t.match(tight, { body: { max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 1900 } }, dropped: ['reasoning.max_tokens'] })
  t.match(capped({ metadata: { user_id: 'real' } }, { user: 'hash' }).body.metadata, { user_id: /^[0-9a-f]{64}$/ })
  t.match(capped({}, { user: 'drop' }), { body: { metadata: undefined }, dropped: ['user'] })
  t.match(capped({ top_k: 4 }, { supported: new Set(['temperature']) }), {
    body: { top_k: undefined, thinking: undefined },
    dropped: ['top_k', 'reasoning'],
  })
  t.match(capped({ service_tier: 'flex' }, { tier: 'flex' }), { body: { service_tier: undefined }, dropped: ['service_tier', 'speed'] })
  t.equal(JSON.stringify(body), before, "the caller's body stays as it is")
})

t.test('the pass lane admits bodies that the provider takes, and leaves the others to the translate lane', async (t) => {
  const body = (fields: JsonObject): JsonObject => ({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }], ...fields })
  const utterance = (block: JsonObject): JsonObject =>
    body({
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: [block] },
      ],
    })
  const table: [JsonObject, Partial<Target>, boolean][] = [
    [body({}), {}, true],
    [
      body({
        tools: [
          { type: 'web_search_20250305', name: 'web_search' },
          { name: 'f', input_schema: {} },
        ],
      }),
      {},
      true,
    ],
    [body({ tools: [{ type: 'router:datetime' }] }), {}, false],
    [utterance({ type: 'redacted_thinking', data: 'EmwK' }), {}, true],
    [utterance({ type: 'redacted_thinking', data: 'hg.eyJ9' }), {}, false],
    [utterance({ type: 'thinking', thinking: 'x', signature: 'hg.eyJ9' }), {}, false],
    [body({ thinking: { type: 'enabled', budget_tokens: 2000 } }), { quirks: { thinking: 'adaptive' } }, false],
    [body({ thinking: { type: 'adaptive' } }), { quirks: { thinking: 'adaptive' } }, true],
    [body({}), { quirks: { body: { drop: ['cache_control'] } } }, false],
    [
      body({
        messages: [
          { role: 'user', content: 'x' },
          { role: 'system', content: 's' },
        ],
      }),
      {},
      true,
    ],
    [
      body({
        messages: [
          { role: 'user', content: 'x' },
          { role: 'system', content: 's' },
        ],
      }),
      { quirks: { system_messages: false } },
      false,
    ],
  ]
  await every(t, 'every case', async (t) => {
    for (const [each, at, admitted] of table)
      t.equal(wire.admits(each, target(at)), admitted, JSON.stringify([each, at] as unknown as Json))
  })
})

t.test('a same-wire request comes out of the translate lane as it went in', async (t) => {
  const body: JsonObject = {
    model: 'anthropic/claude-sonnet-4.5',
    max_tokens: 9000,
    system: [{ type: 'text', text: 's', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'SIG' },
          {
            type: 'text',
            text: 'ok',
            citations: [
              { type: 'char_location', cited_text: 'q', document_index: 0, document_title: null, start_char_index: 0, end_char_index: 1 },
            ],
          },
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
          { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
          { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 }, caller: { type: 'code_execution_20250825', tool_id: 't' } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            content: [
              { type: 'text', text: 'r' },
              { type: 'tool_reference', tool_name: 'x' },
            ],
            is_error: true,
          },
          { type: 'document', source: { type: 'url', url: 'https://x/y.pdf' }, title: 'T', context: 'C', citations: { enabled: true } },
          { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'x' }] },
        ],
      },
      { role: 'system', content: [{ type: 'text', text: 'now' }], clear_at: 'never' },
    ],
    tools: [
      { name: 'f', description: 'd', input_schema: { type: 'object' }, defer_loading: true, cache_control: { type: 'ephemeral' } },
      { type: 'web_search_20250305', name: 'web_search', max_uses: 2 },
    ],
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    thinking: { type: 'enabled', budget_tokens: 2000, display: 'summarized' },
    output_config: {
      effort: 'high',
      format: { type: 'json_schema', schema: { type: 'object', additionalProperties: false } },
      task_budget: { type: 'tokens', total: 20000 },
    },
    metadata: { user_id: 'u' },
    stop_sequences: ['X'],
    context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
    container: 'c',
  }
  messagesClient.check(body)
  const { body: sent, dropped } = anthropicUpstream.encodeRequest(messagesClient.decodeRequest(body), target())
  const expected = JSON.parse(JSON.stringify(body)) as { messages: JsonObject[] } & JsonObject
  expected.model = 'claude-sonnet-4-5'
  expected.messages[3].content = 'now'
  t.same(JSON.parse(JSON.stringify(sent)), expected)
  t.same(dropped, [])
})
