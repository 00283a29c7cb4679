import fc from 'fast-check'
import OpenAI from 'openai'
import t from 'tap'
import { Fault } from '../../../src/core/faults.ts'
import { isObject, type JsonObject, present } from '../../../src/core/json.ts'
import type { StreamEvent } from '../../../src/dialects/canon/events.ts'
import { openaiResponses, responsesClient } from '../../../src/dialects/responses/index.ts'
import { MAX_FRAME } from '../../../src/machines/sse/frames.ts'
import { every } from '../../support/every.ts'
import { parseFrames, parseStream } from '../../support/fold.ts'
import { fold } from '../../support/fold-events.ts'
import { property } from '../../support/seed.ts'
import {
  BROKEN,
  buildFinal,
  COMPLETE,
  context,
  cutAt,
  decode,
  decodeWhole,
  encode,
  events,
  fixture,
  jsonFixture,
  lineEnds,
  pass,
  passWire,
  plain,
  reread,
  response,
  singly,
  types,
} from './rig.ts'

const REQUIRED =
  'id created_at completed_at status incomplete_details model previous_response_id instructions output error tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs temperature reasoning usage max_output_tokens max_tool_calls store background service_tier safety_identifier prompt_cache_key metadata object'.split(
    ' ',
  )
const NEVER_NULL =
  'temperature top_p service_tier truncation presence_penalty frequency_penalty top_logprobs background parallel_tool_calls'.split(' ')

t.ok(COMPLETE.length >= 12, 'the fixtures are there')

for (const name of COMPLETE) {
  t.test(`${name}: every lane tells the same`, async (t) => {
    const bytes = fixture(`${name}.sse`)
    const whole = jsonFixture(`${name}.json`)
    const translated = encode(decode(bytes))
    const passed = pass(bytes)
    t.same(plain(fold(decodeWhole(whole))), plain(fold(decode(bytes))), 'whole reply and stream decode alike')
    t.same(reread(passed.text), reread(translated), 'pass and translate')
    t.equal(passed.stream.fault, undefined)
    t.ok(passed.stream.usage)
    t.same(response(passed.text).output, whole.output, 'pass: output verbatim')
    t.equal(passed.text.includes('resp_'), false, 'no identifier of the provider')
    t.equal(translated.includes('gpt-5-mini-2025'), false)
    t.equal(passed.text.includes('gpt-5-mini-2025'), false)
    await every(t, 'every batch', async (t) => {
      for (const batch of [1, 2, 3]) t.equal(encode(decode(bytes), { batch }), translated, `batches of ${batch}`)
    })
    const final = buildFinal(present({ end: fold(decode(bytes)).end, usage: fold(decode(bytes)).usage }))
    const result = JSON.parse(responsesClient.encodeResult(fold(decode(bytes)), context(), final)) as JsonObject
    t.same(result, response(translated), 'streamed and whole replies are equal')
  })

  t.test(`${name}: cut anywhere, with any line end`, async (t) => {
    const bytes = fixture(`${name}.sse`)
    const passed = pass(bytes).text
    const decoded = decode(bytes)
    await every(t, 'every end', async (t) => {
      for (const end of ['\n', '\r', '\r\n'] as const) {
        const form = lineEnds(bytes, end)
        let same = 0
        const step = end === '\n' ? 1 : 13
        let cuts = 0
        for (let at = 0; at <= form.length; at += step) {
          cuts++
          if (pass(form, { cut: cutAt(at) }).text === passed) same++
        }
        t.equal(same, cuts, `pass, ${JSON.stringify(end)}, ${cuts} cuts`)
        t.equal(pass(form, { cut: singly }).text, passed, 'pass, byte by byte')
        t.same(decode(form, singly), decoded, 'translate, byte by byte')
      }
    })
  })

  t.test(`${name}: what strict clients demand`, async (t) => {
    const bytes = fixture(`${name}.sse`)
    await every(t, 'every text', async (t) => {
      for (const text of [encode(decode(bytes)), pass(bytes).text]) {
        const all = events(text)
        t.same([all[0].type, all[1].type], ['response.created', 'response.in_progress'])
        const terminal = all.filter((event) => /^response\.(completed|incomplete|failed)$/.test(event.type))
        t.equal(terminal.length, 1)
        t.equal(terminal[0], all.at(-1))
        for (const snapshot of [all[0], all[1], terminal[0]].map((event) => event.response as JsonObject)) {
          t.same(
            REQUIRED.filter((key) => !(key in snapshot)),
            [],
            'all are present',
          )
          t.same(
            NEVER_NULL.filter((key) => snapshot[key] === null),
            [],
            'none is null',
          )
          t.match(snapshot, { id: context().id, model: context().model })
        }
        checkPairs(t, all)
      }
    })
  })
}

type Tests = Pick<typeof t, 'same' | 'equal'>

/** The output in the last event. */
function finalOutput(all: ReturnType<typeof events>): readonly unknown[] {
  const response = all.at(-1)?.response
  return isObject(response) && Array.isArray(response.output) ? response.output : []
}

const isCutCall = (item: unknown): boolean => isObject(item) && String(item.type).endsWith('_call') && item.status === 'incomplete'

/** Every `added` has one `done`, but for a call that may be cut, and joined deltas say what `.done` says. */
function checkPairs(t: Tests, all: ReturnType<typeof events>): void {
  const added = all.filter((event) => event.type === 'response.output_item.added')
  const done = all.filter((event) => event.type === 'response.output_item.done')
  const final = finalOutput(all)
  const ending = added.filter(({ output_index: index }) => !isCutCall(final[Number(index)]))
  t.same(done.map((event) => event.output_index).sort(), ending.map((event) => event.output_index).sort())
  const ids = new Map(added.map((event) => [event.output_index, isObject(event.item) ? event.item.id : undefined]))
  t.same(
    all.filter((event) => 'item_id' in event && event.item_id !== ids.get(event.output_index)),
    [],
    'item ids are constant',
  )
  for (const event of done) t.same(event.item, final[Number(event.output_index)], 'done items stand in the terminal output')
  const joined = new Map<string, string>()
  for (const event of all) {
    const dot = event.type.lastIndexOf('.')
    const key = [event.type.slice(0, dot), event.output_index, event.content_index, event.summary_index].join()
    if (event.type.endsWith('.delta')) joined.set(key, (joined.get(key) ?? '') + String(event.delta))
    else if (event.type.endsWith('.done') && joined.has(key))
      t.equal(event.text ?? event.refusal ?? event.arguments ?? event.input, joined.get(key))
  }
}

t.test('order of events, one by one', async (t) => {
  const head = ['response.created', 'response.in_progress']
  const text = (deltas: number, extra: string[] = []): string[] => [
    'response.output_item.added',
    'response.content_part.added',
    ...Array<string>(deltas).fill('response.output_text.delta'),
    ...extra,
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
  ]
  const summary = (deltas: number): string[] => [
    'response.reasoning_summary_part.added',
    ...Array<string>(deltas).fill('response.reasoning_summary_text.delta'),
    'response.reasoning_summary_text.done',
    'response.reasoning_summary_part.done',
  ]
  const table: [string, string[]][] = [
    ['text', [...head, ...text(6), 'response.completed']],
    ['incomplete', [...head, ...text(3), 'response.incomplete']],
    ['filtered', [...head, ...text(1), 'response.incomplete']],
    [
      'reasoning-summary',
      [...head, 'response.output_item.added', ...summary(2), ...summary(2), 'response.output_item.done', ...text(2), 'response.completed'],
    ],
    ['reasoning-sealed', [...head, 'response.output_item.added', 'response.output_item.done', ...text(1), 'response.completed']],
    [
      'reasoning-raw',
      [
        ...head,
        'response.output_item.added',
        'response.content_part.added',
        'response.reasoning_text.delta',
        'response.reasoning_text.delta',
        'response.reasoning_text.done',
        'response.content_part.done',
        'response.output_item.done',
        ...text(1),
        'response.completed',
      ],
    ],
    [
      'refusal',
      [
        ...head,
        'response.output_item.added',
        'response.content_part.added',
        'response.refusal.delta',
        'response.refusal.delta',
        'response.refusal.delta',
        'response.refusal.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.completed',
      ],
    ],
    [
      'web-search',
      [
        ...head,
        'response.output_item.added',
        'response.web_search_call.in_progress',
        'response.web_search_call.searching',
        'response.web_search_call.completed',
        'response.output_item.done',
        ...text(2, ['response.output_text.annotation.added']),
        'response.completed',
      ],
    ],
    [
      'custom-tool',
      [
        ...head,
        'response.output_item.added',
        'response.custom_tool_call_input.delta',
        'response.custom_tool_call_input.done',
        'response.output_item.done',
        'response.completed',
      ],
    ],
  ]
  await every(t, 'every case', async (t) => {
    for (const [name, expected] of table) {
      const once = (list: string[]): string[] => list.filter((type, i) => !type.endsWith('.delta') || list[i - 1] !== type)
      t.same(once(types(encode(decode(fixture(`${name}.sse`))))), once(expected), `${name}, translated`)
      t.same(once(types(pass(fixture(`${name}.sse`)).text)), once(expected), `${name}, passed`)
    }
  })
})

t.test('parallel calls interleave and keep their own index', async (t) => {
  const all = events(encode(decode(fixture('tools.sse'))))
  const deltas = all.filter((event) => event.type === 'response.function_call_arguments.delta')
  t.same(
    deltas.map((event) => event.output_index),
    [0, 1, 0, 1, 0],
  )
  const done = all.filter((event) => event.type === 'response.function_call_arguments.done')
  t.same(
    done.map((event) => [event.name, event.arguments]),
    [
      ['get_weather', '{"city":"Paris"}'],
      ['get_time', '{"zone":"Europe/Paris"}'],
    ],
  )
  t.equal(new Set(done.map((event) => event.item_id)).size, 2)
})

t.test('log probabilities that follow their text go out with it', async (t) => {
  const logprob = (token: string): StreamEvent => ({
    type: 'block-note',
    block: 0,
    note: 'logprobs',
    data: { content: [{ token, logprob: -1, bytes: null, top_logprobs: [] }] },
  })
  const text = (part: string): StreamEvent => ({ type: 'block-delta', block: 0, text: part })
  const written = events(encode([{ type: 'block-start', block: 0, kind: 'text' }, text('A'), logprob('A'), text('B'), logprob('B')]))
  const deltas = written.filter((event) => event.type === 'response.output_text.delta')
  t.match(deltas, [
    { delta: 'A', logprobs: [{ token: 'A' }] },
    { delta: 'B', logprobs: [{ token: 'B' }] },
  ])
})

t.test('log probabilities, annotations and encrypted reasoning', async (t) => {
  const all = events(encode(decode(fixture('logprobs.sse'))))
  const delta = all.find((event) => event.type === 'response.output_text.delta')
  const done = all.find((event) => event.type === 'response.output_text.done')
  t.match(delta?.logprobs, [{ token: 'Hel', logprob: -0.25, bytes: [72, 101, 108] }])
  t.equal((done?.logprobs as unknown[] | undefined)?.length, 2)
  const annotation = events(encode(decode(fixture('web-search.sse')))).find(
    (event) => event.type === 'response.output_text.annotation.added',
  )
  t.match(annotation, { annotation_index: 0, content_index: 0, output_index: 1, annotation: { type: 'url_citation', title: 'Météo' } })

  const encrypted = response(encode(decode(fixture('reasoning-sealed.sse'))))
  t.match(encrypted.output, [
    { type: 'reasoning', id: 'rs_68c2', summary: [], encrypted_content: 'gAAAAABo-only-sealed==' },
    { type: 'message' },
  ])
  const hidden = encode(decode(fixture('reasoning-sealed.sse')), { ctx: context({ include: [] }) })
  t.notMatch(hidden, /encrypted_content|only-sealed/, 'not shown unless included')
})

t.test('events of a chat-shaped provider: no item ids', async (t) => {
  const list: StreamEvent[] = [
    { type: 'start' },
    { type: 'block-start', block: 0, kind: 'reasoning' },
    { type: 'block-delta', block: 0, text: 'hm' },
    { type: 'block-note', block: 0, note: 'signature', data: { signature: 'SIG', format: 'anthropic-claude-v1' } },
    { type: 'block-end', block: 0 },
    { type: 'block-start', block: 1, kind: 'text' },
    { type: 'block-note', block: 1, note: 'logprobs', data: { content: [{ token: 'A', logprob: -1, bytes: null, top_logprobs: [] }] } },
    { type: 'block-delta', block: 1, text: 'A' },
    { type: 'block-end', block: 1 },
    { type: 'block-start', block: 2, kind: 'refusal' },
    { type: 'block-delta', block: 2, text: 'no' },
    { type: 'block-end', block: 2 },
    { type: 'block-start', block: 3, kind: 'call', call: { id: 'call_x', name: 'f' } },
    { type: 'block-start', block: 4, kind: 'call', call: { id: 'call_y', name: 'g' } },
    { type: 'block-delta', block: 4, text: '{}' },
    { type: 'block-delta', block: 3, text: '{"a":1}' },
    { type: 'block-end', block: 3 },
    { type: 'block-end', block: 4 },
    {
      type: 'block-start',
      block: 5,
      kind: 'media',
      of: { dialect: 'chat', type: 'image', data: { image_url: { url: 'data:image/png;base64,AAAA' } } },
    },
    { type: 'block-end', block: 5 },
    {
      type: 'block-start',
      block: 6,
      kind: 'server',
      of: {
        dialect: 'gateway',
        type: 'router:datetime',
        data: { status: 'completed', datetime: '2026-01-01T00:00:00Z', timezone: 'UTC', call: { tool_name: 'x' } },
      },
    },
    { type: 'block-end', block: 6 },
    { type: 'end', reason: 'tool_calls' },
  ]
  const text = encode(list)
  const final = response(text)
  t.match(final, { status: 'completed', error: null, incomplete_details: null })
  const output = final.output as JsonObject[]
  t.match(output[0], {
    type: 'reasoning',
    summary: [],
    content: [{ type: 'reasoning_text', text: 'hm' }],
    signature: 'SIG',
    format: 'anthropic-claude-v1',
  })
  t.match(output[1], {
    type: 'message',
    content: [
      { type: 'output_text', text: 'A', annotations: [], logprobs: [{ token: 'A', bytes: [] }] },
      { type: 'refusal', refusal: 'no' },
    ],
  })
  t.match(output.slice(2, 4), [
    { type: 'function_call', call_id: 'call_x', arguments: '{"a":1}', status: 'completed' },
    { type: 'function_call', call_id: 'call_y', arguments: '{}' },
  ])
  t.match(output[4], { type: 'image_generation_call', result: 'AAAA' })
  t.match(output[5], { type: 'router:datetime', status: 'completed', timezone: 'UTC' })
  t.notOk('call' in output[5])
  const added = events(text).find((event) => event.type === 'response.output_item.added' && event.output_index === 5)
  t.match(added?.item, { status: 'in_progress', type: 'router:datetime', id: output[5].id })
  checkPairs(t, events(text))
  t.same(JSON.parse(responsesClient.encodeResult(fold(list), context(), buildFinal({ end: { reason: 'tool_calls' } }))).output, output)
  t.equal(new Set(output.map((item) => item.id)).size, output.length)
})

t.test('a broken stream ends with one response.failed and its partial output', async (t) => {
  await every(t, 'every name', async (t) => {
    for (const name of BROKEN) {
      const bytes = fixture(`${name}.sse`)
      for (const [lane, text] of [
        ['translate', encode(decode(bytes))],
        ['pass', pass(bytes).text],
      ] as const) {
        const all = events(text)
        t.equal(all.at(-1)?.type, 'response.failed', `${name}, ${lane}`)
        const failed = all.at(-1)?.response as JsonObject
        t.match(failed, { status: 'failed', error: { code: String, message: String }, error_type: String })
        t.notMatch(text, /sk-live|org-abc/, 'the words of the provider stay out')
        checkPairs(t, all)
      }
    }
  })
  const [translated, passed] = [response(encode(decode(fixture('cut.sse')))), response(pass(fixture('cut.sse')).text)]
  for (const failed of [translated, passed]) {
    t.equal(failed.error_type, 'provider_unavailable')
    t.match(failed.output, [
      { type: 'reasoning', summary: [{ text: 'Thinking' }] },
      { type: 'message', status: 'incomplete', content: [{ text: 'Bürokratie ' }] },
      { type: 'function_call', status: 'incomplete', arguments: '{"q":' },
    ])
  }
  t.equal(pass(fixture('error-event.sse')).stream.committed, false, 'an error as the first event commits nothing')
  t.match(pass(fixture('error-event.sse')).stream.fault, { code: 'upstream_limited' })
  t.match(pass(fixture('failed.sse')).stream.fault, { code: 'upstream_error' })
})

t.test('cut in the middle: whatever arrived is closed, wherever the cut is', async (t) => {
  await every(t, 'every name', async (t) => {
    for (const name of ['text', 'tools', 'reasoning-summary', 'refusal', 'custom-tool']) {
      const bytes = fixture(`${name}.sse`)
      for (let at = 0; at < bytes.length - 3; at += 41) {
        const part = bytes.subarray(0, at)
        const passed = pass(part)
        t.match(passed.stream.fault, { code: at === 0 ? 'upstream_empty' : /upstream_(cut|empty)/ })
        const all = events(passed.text)
        t.equal(all.at(-1)?.type, 'response.failed')
        if (passed.stream.committed) checkPairs(t, all)
      }
    }
  })
})

t.test('an empty answer commits nothing but is still written whole', async (t) => {
  const { stream, text } = pass(fixture('empty.sse'))
  t.equal(stream.committed, false)
  t.equal(stream.relayed, 0, 'what opens and closes says nothing')
  t.match(response(text), { status: 'completed', output: [{ type: 'message' }] })
})

t.test('commit point and relayed bytes', async (t) => {
  const bytes = fixture('text.sse')
  const ctx = context()
  responsesClient.open?.(ctx)
  ctx.opened = true
  const stream = passWire.stream(ctx)
  const before = bytes.indexOf('event: response.output_text.delta')
  t.equal(stream.feed(bytes.subarray(0, before)), '', 'nothing before the first content')
  t.equal(ctx.sequence, 2, 'a failed attempt would have used no numbers')
  t.equal(stream.committed, false)
  const out = stream.feed(bytes.subarray(before))
  t.equal(stream.committed, true)
  const utterance = [...out.matchAll(/"delta":"((?:[^"\\]|\\.)*)"/g)].map(([, words]) => words)
  t.ok(utterance.length > 1)
  t.equal(stream.relayed, 1 + utterance.join('').length, 'the deltas alone, not what repeats them')
  t.equal(
    out,
    bytes.toString('latin1').slice(bytes.indexOf('event: response.output_item.added'), bytes.indexOf('event: response.completed')),
    'verbatim',
  )
})

/** The last event line of deltas has another name of the same length. */
function withLateMismatch(stream: string): string {
  const at = stream.lastIndexOf('event: response.function_call_arguments.delta')
  return `${stream.slice(0, at)}event: response.function_call_arguments.DELTA${stream.slice(at + 'event: response.function_call_arguments.delta'.length)}`
}

t.test('every event has an event line that equals its type', async (t) => {
  const sent = fixture('tools.sse').toString()
  const lines = (stream: string): (string | undefined)[] => parseFrames(stream).map(({ event }) => event)
  const typesIn = (stream: string): string[] => parseStream(stream).map((event) => String(event.type))
  const usual = pass(Buffer.from(sent)).text
  t.same(lines(usual).slice(0, -1), typesIn(usual))
  const written = encode(decode(Buffer.from(sent)))
  t.same(lines(written).slice(0, -1), typesIn(written), 'in the translate lane')
  const forms: Record<string, string> = {
    'without event lines': sent.replace(/^event: .*\n/gm, ''),
    'with another event line': sent.replace(/^event: response\..*$/gm, 'event: message'),
    'with one of the same length': sent.replace(/^event: (response\..*)$/gm, (_line, type: string) => `event: ${'x'.repeat(type.length)}`),
    'with some': sent.replace(/^event: .*delta\n/gm, ''),
    'with another one late': withLateMismatch(sent),
  }
  t.not(forms['with another one late'], sent)
  await every(t, 'every form', async (t) => {
    for (const [name, form] of Object.entries(forms)) t.equal(pass(Buffer.from(form)).text, usual, name)
  })
})

t.test('numbers are patched where ours differ, wherever they stand', async (t) => {
  await every(t, 'every name', async (t) => {
    for (const name of COMPLETE) {
      const ctx = context()
      t.match(
        responsesClient.debug(ctx, { model: 'm' }),
        /^event: response.debug\ndata: \{"type":"response.debug","sequence_number":0,"debug":\{"echo_upstream_body":\{"model":"m"\}\}\}\n\n$/,
      )
      const { text } = pass(fixture(`${name}.sse`), { ctx })
      t.equal(ctx.sequence > 3, true)
      const numbers = text
        .split('\n\n')
        .slice(0, -2)
        .map((frame) => (JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as { sequence_number: number }).sequence_number)
      t.same(
        numbers,
        numbers.map((_, i) => i + 1),
      )
    }
  })
  const odd =
    ': ping\n\ndata: {"type":"keepalive","sequence_number":1}\n\n\ndata:{"delta":"Ü","type":"response.output_text.delta","content_index":0,"output_index":0}\n\ndata: {"type":"response.reasoning_text.delta","x":{"sequence_number":5},"sequence_number": 77,"delta":"\\"sequence_number\\":3"}\n\ndata: {"type":"response.completed","response":{"status":"completed","output":[]}}'
  const all = events(pass(Buffer.from(odd)).text)
  t.same(
    all.map((event) => event.type),
    ['response.created', 'response.in_progress', 'response.output_text.delta', 'response.reasoning_text.delta', 'response.completed'],
  )
  t.match(all[3], { x: { sequence_number: 5 }, delta: '"sequence_number":3' })
})

t.test('what a provider leaves out is filled in', async (t) => {
  const bytes = fixture('tools.sse')
  t.equal(
    bytes.toString().includes('"arguments":"{\\"city\\":\\"Paris\\"}","name"'),
    false,
    'the provider names no function in its done event',
  )
  const done = events(pass(bytes).text).filter((event) => event.type === 'response.function_call_arguments.done')
  t.same(
    done.map((event) => event.name),
    ['get_weather', 'get_time'],
  )
  const lines = fixture('text.sse').toString().split('\n\n')
  const last = lines.findIndex((line) => line.includes('"type":"response.completed"'))
  lines[last] =
    'data: {"type":"response.completed","sequence_number":12,"response":{"status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":2}}}'
  const whole = response(pass(fixture('text.sse')).text)
  t.same(response(pass(Buffer.from(lines.join('\n\n'))).text).output, whole.output, 'an empty output in the last object')
})

t.test('the official SDK reads every stream', async (t) => {
  await every(t, 'every name', async (t) => {
    for (const name of COMPLETE) {
      const bytes = fixture(`${name}.sse`)
      for (const text of [encode(decode(bytes)), pass(bytes).text]) {
        const fetch = async (): Promise<Response> => new Response(text, { headers: { 'content-type': 'text/event-stream' } })
        const client = new OpenAI({ apiKey: 'k', baseURL: 'http://127.0.0.1:1/v1', fetch })
        const stream = client.responses.stream({ model: 'openai/gpt-5-mini', input: 'hi' })
        const final = await stream.finalResponse()
        t.equal(final.output.length, (response(text).output as unknown[]).length, name)
        t.equal(final.id, context().id)
      }
    }
  })
})

t.test('property: any legal events give a legal stream that agrees with the whole reply', async (t) => {
  const kinds = fc.constantFrom('text', 'refusal', 'reasoning', 'summary', 'call', 'opaque')
  const step = fc.record({
    action: fc.constantFrom('start', 'delta', 'end', 'note'),
    kind: kinds,
    pick: fc.nat(),
    text: fc.string({ unit: 'binary' }),
  })
  const same = fc.property(
    fc.array(step, { maxLength: 40 }),
    fc.constantFrom('stop', 'length', 'error'),
    fc.integer({ min: 1, max: 5 }),
    (steps, reason, batch) => {
      const list = legalEvents(steps)
      const end = { reason }
      const text = encode(list, { batch, final: { end } })
      const whole = JSON.parse(responsesClient.encodeResult(fold(list), context(), buildFinal({ end }))) as JsonObject
      const equal = JSON.stringify(response(text)) === JSON.stringify(whole)
      return equal && JSON.stringify(openAndShut(events(text))) === JSON.stringify([])
    },
  )
  t.doesNotThrow(() => fc.assert(same, property(200, 20_000)))
})

interface Step {
  action: 'start' | 'delta' | 'end' | 'note'
  kind: 'text' | 'refusal' | 'reasoning' | 'summary' | 'call' | 'opaque'
  pick: number
  text: string
}

/** Turns random steps into events that keep the order rules; whatever is open at the end stays open. */
function legalEvents(steps: Step[]): StreamEvent[] {
  const list: StreamEvent[] = [{ type: 'start' }]
  const open: { block: number; kind: Step['kind'] }[] = []
  let next = 0
  for (const { action, kind, pick, text } of steps) {
    const at = open.length === 0 ? -1 : pick % open.length
    if (action === 'start') {
      const block = next++
      const call = kind === 'call' ? { id: `call_${block}`, name: 'f' } : undefined
      const of =
        kind === 'opaque' ? { dialect: 'responses', type: 'web_search_call', data: { id: `ws_${block}`, status: 'completed' } } : undefined
      list.push({ type: 'block-start', block, kind, ...(call ? { call } : {}), ...(of ? { of } : {}) })
      open.push({ block, kind })
    } else if (at !== -1) {
      const { block, kind } = open[at]
      if (action === 'end') {
        list.push({ type: 'block-end', block })
        open.splice(at, 1)
      } else if (action === 'delta' && kind !== 'opaque') list.push({ type: 'block-delta', block, text })
      else if (kind === 'text') list.push({ type: 'block-note', block, note: 'annotation', data: { type: 'url_citation', url: text } })
    }
  }
  return list
}

/** Items and parts that were opened and not shut, or the other way round. */
function openAndShut(all: ReturnType<typeof events>): string[] {
  const open = new Set<string>()
  for (const event of all) {
    const match = /^response\.(output_item|content_part|reasoning_summary_part)\.(added|done)$/.exec(event.type)
    if (!match) continue
    const key = [match[1], event.output_index, event.content_index, event.summary_index].join()
    if (match[2] === 'added') {
      if (open.has(key)) return [`twice ${key}`]
      open.add(key)
    } else if (!open.delete(key)) return [`never opened ${key}`]
  }
  return [...open].filter((key) => !isCutCall(finalOutput(all)[Number(key.split(',')[1])]))
}

t.test('garbled and lazy providers', async (t) => {
  const head = 'data: {"type":"response.created","response":{}}\n\n'
  for (const bad of ['{"type":', '[1]', 'oops']) {
    t.match(fold(decode(Buffer.from(`${head}data: ${bad}\n\n`))).fault, { code: 'upstream_garbled' })
    t.match(pass(Buffer.from(`${head}data: ${bad}\n\n`)).stream.fault, { code: 'upstream_garbled' })
  }
  t.match(pass(Buffer.alloc(MAX_FRAME + 1, 'x')).stream.fault, { code: 'upstream_oversized' }, 'a frame without end')
  t.match(fold(decode(Buffer.from(''))).fault, { code: 'upstream_empty' })
  t.match(fold(decode(Buffer.from(head))).fault, { code: 'upstream_cut' })
  t.match(fold(decodeWhole({ nothing: true })).fault, { code: 'upstream_garbled' })
  t.match(passWire.result({ nothing: true }, context()).fault, { code: 'upstream_garbled' })
  t.match(fold(decodeWhole({ error: { code: 'rate_limit_exceeded', message: 'x' } })).fault, { code: 'upstream_limited' })

  // Only finished things: items, texts, or the last object.
  const item = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
  }
  const done = {
    type: 'response.completed',
    response: { status: 'completed', output: [item], usage: { input_tokens: 1, output_tokens: 1 } },
  }
  const lazy = [
    [done],
    [{ type: 'response.output_item.done', output_index: 0, item }, done],
    [
      { type: 'response.output_item.added', output_index: 0, item: { id: 'msg_1', type: 'message' } },
      { type: 'response.output_text.done', output_index: 0, content_index: 0, text: 'Hi' },
      done,
    ],
  ]
  await every(t, 'every list', async (t) => {
    for (const list of lazy) {
      const bytes = Buffer.from(list.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
      t.match(plain(fold(decode(bytes))), { end: 'stop', blocks: [{ kind: 'text', text: 'Hi' }] })
      t.match(response(encode(decode(bytes))).output, [{ content: [{ text: 'Hi' }] }])
      t.match(response(pass(bytes).text).output, [{ content: [{ text: 'Hi' }] }])
    }
  })
})

t.test('how a reply ends', async (t) => {
  const list: StreamEvent[] = [
    { type: 'block-start', block: 0, kind: 'text' },
    { type: 'block-delta', block: 0, text: 'x' },
  ]
  t.match(response(encode(list, { final: { end: { reason: 'length' } } })), {
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    output: [{ status: 'incomplete' }],
  })
  t.match(response(encode(list, { final: { fault: new Fault('upstream_context') } })), { status: 'incomplete' })
  t.match(response(encode([], { final: { fault: new Fault('upstream_context') } })), {
    status: 'failed',
    error: { code: 'context_length_exceeded' },
  })
  t.match(response(encode([], { final: { fault: new Fault('bad_request') } })), { error: { code: 'invalid_prompt' } })
  t.match(response(encode([], { final: { fault: new Fault('no_credit') } })), { error: { code: 'insufficient_quota' } })
  t.match(response(encode([], { final: { fault: new Fault('rate_limited', { retryAfter: 3 }) } })), {
    error: { code: 'rate_limit_exceeded', message: 'Rate limit exceeded. Please try again in 3s.' },
  })
  t.match(response(encode(list, { final: { end: { reason: 'error' } } })), { status: 'failed', error: { code: 'server_error' } })
  t.match(response(encode(list, { final: { fault: new Fault('upstream_limited') } })), {
    error: { code: 'rate_limit_exceeded' },
    error_type: 'rate_limit_exceeded',
  })
  const metadata = { attempt: 1 }
  const shown = response(
    encode(list, { final: { end: { reason: 'stop', tier: 'flex' }, metadata, serverTools: { requested: 2, executed: 1 } } }),
  )
  t.match(shown, {
    router_metadata: metadata,
    service_tier: 'flex',
    completed_at: 1_763_712_005,
    usage: {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 15,
      cost: 0.0000025,
      cost_details: {
        upstream_inference_cost: 0.0000025,
        upstream_inference_input_cost: 0.0000015,
        upstream_inference_output_cost: 0.000001,
      },
      is_byok: false,
      server_tool_use_details: { tool_calls_requested: 2, tool_calls_executed: 1 },
    },
  })
  t.equal(shown.service_tier, 'flex')
})

t.test('the reply echoes the settings of the caller', async (t) => {
  const body = jsonFixture('request.json')
  const echoed = response(encode(decode(fixture('text.sse')), { ctx: context(body) }))
  await every(t, 'every key', async (t) => {
    for (const key of [
      'instructions',
      'temperature',
      'top_p',
      'metadata',
      'tool_choice',
      'reasoning',
      'text',
      'truncation',
      'max_output_tokens',
      'user',
    ])
      t.same(echoed[key], body[key], key)
  })
  t.match((echoed.tools as JsonObject[])[0], { name: 'lookup', strict: true })
  t.same(response(pass(fixture('text.sse'), { ctx: context(body) }).text).tools, echoed.tools)
  const bare = response(encode(decode(fixture('text.sse')), { ctx: context({ text: {}, tools: [{ type: 'function', name: 'f' }] }) }))
  t.match(bare, { temperature: 1, top_p: 1, tool_choice: 'auto', instructions: null, metadata: null, text: { format: { type: 'text' } } })
  t.same(bare.tools, [{ type: 'function', name: 'f', description: null, parameters: null, strict: null }])
})

t.test('whole replies in the pass lane', async (t) => {
  await every(t, 'every name', async (t) => {
    for (const name of COMPLETE) {
      const whole = jsonFixture(`${name}.json`)
      const passed = passWire.result(whole, context())
      t.same(passed.end?.reason, fold(decodeWhole(whole)).end?.reason)
      t.same(passed.usage, fold(decodeWhole(whole)).usage)
      const reply = JSON.parse(passed.finish(buildFinal(present({ end: passed.end })))) as JsonObject
      t.same(reply, response(pass(fixture(`${name}.sse`), { final: { usage: buildFinal().usage } }).text))
      t.same(reply.output, whole.output)
      t.same(reply.billing, whole.billing, 'members that are not ours stay')
      t.equal(reply.metadata, null)
    }
  })
})

t.test('faults of a provider', async (t) => {
  const table: [number, JsonObject | undefined, string][] = [
    [400, { error: { code: 'context_length_exceeded', message: 'x' } }, 'upstream_context'],
    [400, { error: { code: 'unsupported_parameter', param: 'temperature', message: 'x' } }, 'upstream_rejected'],
    [400, { error: { code: 'content_policy_violation' } }, 'upstream_policy'],
    [401, { error: { code: 'invalid_api_key', message: 'Incorrect key sk-abc' } }, 'upstream_auth'],
    [404, { error: { code: 'model_not_found' } }, 'upstream_missing'],
    [413, undefined, 'upstream_too_large'],
    [429, { error: { code: 'rate_limit_exceeded' } }, 'upstream_limited'],
    [429, { error: { type: 'insufficient_quota', code: 'insufficient_quota' } }, 'upstream_credit'],
    [500, { error: { type: 'server_error' } }, 'upstream_error'],
    [500, { error: { code: 'invalid_state' } }, 'upstream_error'],
    [503, { error: { code: 'server_overloaded' } }, 'upstream_overloaded'],
    [503, undefined, 'upstream_error'],
    [504, undefined, 'upstream_silent'],
    [529, undefined, 'upstream_overloaded'],
    [200, { error: { code: 429, message: 'x' } }, 'upstream_limited'],
    [200, { error: { code: 'server_error' } }, 'upstream_error'],
    [200, { error: { code: 'invalid_prompt' } }, 'upstream_rejected'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [status, body, code] of table) {
      const fault = openaiResponses.decodeFault(status, body)
      t.equal(fault.code, code, `${status} ${JSON.stringify(body)}`)
      t.notMatch(JSON.stringify([fault.message, fault.metadata]), /sk-abc/)
    }
  })
  t.match(openaiResponses.decodeFault(400, { error: { code: 'unsupported_parameter', param: 'temperature' } }), {
    message: 'Provider rejected the request (temperature)',
    metadata: { provider_code: 'unsupported_parameter' },
  })
  t.same(openaiResponses.auth('k'), ['authorization', 'Bearer k'])
})

t.test('events that open a reply are not read, whatever they hold', async (t) => {
  const good = fixture('text.sse').toString('utf8')
  const broken = good.replace(/^data: \{"type":"response\.(created|in_progress)".*$/gm, 'data: {"type":"response.$1","response":{')
  t.not(broken, good)
  t.equal(pass(Buffer.from(broken)).text, pass(Buffer.from(good)).text)
})

t.test('only deltas count as relayed text, in whichever form they come', async (t) => {
  /** Bytes of the text of all deltas, and one for the commit. */
  const utterance = (stream: string): number =>
    [...stream.matchAll(/"delta":"((?:[^"\\]|\\.)*)"/g)].reduce(
      (sum, [, text]) => sum + Buffer.byteLength(JSON.parse(`"${text}"`) as string),
      1,
    )
  for (const name of ['text', 'text-sorted', 'tools', 'reasoning-summary']) {
    const usual = fixture(`${name}.sse`).toString()
    const forms: Record<string, string> = {
      usual,
      'without event lines': usual.replace(/^event: .*\n/gm, ''),
      'the number last': usual.replace(/("sequence_number":\d+),(.*)\}$/gm, '$2,$1}').replaceAll(',,', ','),
      'escapes in the text': usual.replace(
        /"delta":"([a-zA-Z])/g,
        (_whole, letter: string) => `"delta":"\\u00${letter.charCodeAt(0).toString(16)}`,
      ),
    }
    await every(t, name, async (t) => {
      for (const [form, sent] of Object.entries(forms)) t.equal(pass(Buffer.from(sent)).stream.relayed, utterance(usual), form)
    })
  }
})
