import fc from 'fast-check'
import t from 'tap'
import { Fault } from '../../../src/core/faults.ts'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import type { StreamEvent } from '../../../src/dialects/canon/events.ts'
import { noUsage } from '../../../src/dialects/canon/usage.ts'
import { geminiUpstream } from '../../../src/dialects/gemini/index.ts'
import { every } from '../../support/every.ts'
import { property } from '../../support/seed.ts'
import { COMPLETE, decode, decodeFrames, decodeWhole, recorded, recordedReply, STREAMS, told } from './rig.ts'

const FORMAT = { note: 'format', data: { format: 'google-gemini-v1' } }
const encrypted = (data: string, id?: string): JsonObject => ({
  note: 'encrypted',
  data: { data, ...(id === undefined ? {} : { id }), format: 'google-gemini-v1' },
})
const PNG = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
const cite = (url: string, title: string, start_index: number, end_index: number, more = {}): JsonObject => ({
  note: 'annotation',
  data: { type: 'url_citation', url, title, start_index, end_index, ...more },
})
const logprob = (token: string, value: number): JsonObject => ({
  token,
  logprob: value,
  bytes: [...Buffer.from(token)],
  top_logprobs: [
    { token, logprob: value, bytes: [...Buffer.from(token)] },
    { token: 'x', logprob: -9, bytes: [120] },
  ],
})

interface Expected {
  blocks: JsonObject[]
  usage: object
  end?: object
  fault?: object
}

const EXPECTED: Record<string, Expected> = {
  text: {
    blocks: [{ kind: 'text', text: 'Grüß dich, 世界 😀!' }],
    usage: { input: 9, output: 8, cached: 4 },
    end: { reason: 'stop', raw: 'STOP', tier: 'priority' },
  },
  'thoughts-calls': {
    blocks: [
      { kind: 'summary', item: 'thought-0', text: '**Look** up both.', notes: [FORMAT] },
      { kind: 'text', text: 'One moment.' },
      { kind: 'reasoning', item: 'thought-2', notes: [FORMAT, encrypted('U2lnT25l', 'call_r2Calls_zz_0')] },
      { kind: 'call', call: { id: 'call_r2Calls_zz_0', name: 'get_weather' }, text: '{"city":"Oslo","days":[1,2],"unit":null}' },
      { kind: 'call', call: { id: 'call_r2Calls_zz_1', name: 'get_time' }, text: '{}' },
    ],
    usage: { input: 30, output: 74, reasoning: 52 },
    end: { reason: 'tool_calls', raw: 'STOP' },
  },
  'signed-text': {
    blocks: [
      { kind: 'summary', item: 'thought-0', text: 'Hm.', notes: [FORMAT] },
      { kind: 'text', text: 'Forty-two' },
      { kind: 'reasoning', item: 'thought-2', notes: [FORMAT, encrypted('VGV4dFNpZw==')] },
    ],
    usage: { input: 5, output: 6, reasoning: 3 },
    end: { reason: 'stop', raw: 'STOP' },
  },
  'own-call-id': {
    blocks: [
      { kind: 'summary', item: 'thought-0', text: 'Thinking.', notes: [FORMAT] },
      { kind: 'reasoning', item: 'thought-0', notes: [FORMAT, encrypted('U2lnQ2FsbA==', 'fc-own-1')] },
      { kind: 'call', call: { id: 'fc-own-1', name: 'look' }, text: '{"q":"ø"}' },
    ],
    usage: { input: 12, output: 8, reasoning: 2 },
    end: { reason: 'tool_calls', raw: 'STOP' },
  },
  grounding: {
    blocks: [
      {
        kind: 'text',
        text: 'Øl er gull. 東京 is far. Done.',
        notes: [
          cite('https://a.example/one', 'One', 0, 11),
          cite('https://b.example/two', 'Two', 12, 22),
          cite('https://c.example/doc', 'Doc', 12, 22, { content: 'what the document says' }),
        ],
      },
    ],
    usage: { input: 111, output: 9, webSearches: 2 },
    end: { reason: 'stop', raw: 'STOP' },
  },
  image: {
    blocks: [
      { kind: 'text', text: 'Here: ' },
      { kind: 'reasoning', item: 'thought-1', notes: [FORMAT, encrypted('U2lnSW1n')] },
      { kind: 'media', of: { dialect: 'common', type: 'image', data: { url: PNG, media_type: 'image/png' } } },
      { kind: 'text', text: 'Enjoy.' },
    ],
    usage: { input: 20, output: 1300, imageOutput: 1290 },
    end: { reason: 'stop', raw: 'STOP' },
  },
  audio: {
    blocks: [
      {
        kind: 'media',
        of: {
          dialect: 'common',
          type: 'audio',
          data: { data: btoa('0123456789abcdef0123'), format: 'pcm16', transcript: 'Hi there.' },
        },
      },
    ],
    usage: { input: 6, output: 40, audioInput: 4, audioOutput: 40 },
    end: { reason: 'stop', raw: 'STOP' },
  },
  code: {
    blocks: [
      { kind: 'text', text: 'I compute.' },
      {
        kind: 'opaque',
        of: { dialect: 'gemini', type: 'executableCode', data: { executableCode: { language: 'PYTHON', code: 'print(6*7)' } } },
      },
      {
        kind: 'opaque',
        of: { dialect: 'gemini', type: 'codeExecutionResult', data: { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '42\n' } } },
      },
      { kind: 'text', text: 'It is 42.' },
    ],
    usage: { input: 15, output: 30 },
    end: { reason: 'stop', raw: 'STOP' },
  },
  length: {
    blocks: [{ kind: 'text', text: 'Once upon a' }],
    usage: { input: 7, output: 3 },
    end: { reason: 'length', raw: 'MAX_TOKENS' },
  },
  safety: {
    blocks: [{ kind: 'text', text: 'Well, ' }],
    usage: { input: 7, output: 2 },
    end: { reason: 'content_filter', raw: 'SAFETY' },
  },
  'malformed-call': {
    blocks: [],
    usage: { input: 40, output: 0 },
    fault: { code: 'upstream_error', metadata: { provider_code: 'MALFORMED_FUNCTION_CALL' } },
  },
  logprobs: {
    blocks: [{ kind: 'text', text: 'é!', notes: [{ note: 'logprobs', data: [logprob('é', -0.1), logprob('!', -0.2)] }] }],
    usage: { input: 3, output: 2 },
    end: { reason: 'stop', raw: 'STOP' },
  },
  citations: {
    blocks: [{ kind: 'text', text: 'Å to be or not', notes: [cite('https://d.example/src', 'https://d.example/src', 2, 11)] }],
    usage: { input: 3, output: 2 },
    end: { reason: 'content_filter', raw: 'RECITATION' },
  },
}

const BROKEN: Record<string, { code: string; text: string; provider?: string; retryAfter?: number }> = {
  cut: { code: 'upstream_cut', text: 'Half an ' },
  empty: { code: 'upstream_empty', text: '' },
  blocked: { code: 'upstream_policy', text: '', provider: 'PROHIBITED_CONTENT' },
  'error-first': { code: 'upstream_overloaded', text: '', provider: 'UNAVAILABLE' },
  'error-later': { code: 'upstream_limited', text: 'Half an ', provider: 'RESOURCE_EXHAUSTED', retryAfter: 13 },
  garbled: { code: 'upstream_garbled', text: 'Half an ' },
}

const faults = (events: readonly StreamEvent[]): StreamEvent[] => events.filter(({ type }) => type === 'fault')
const spoken = (events: readonly StreamEvent[]): string =>
  told(events)
    .blocks.map(({ text }) => text ?? '')
    .join('')

t.test('every recorded reply means what it says, streamed and whole', async (t) => {
  t.same(COMPLETE.toSorted(), Object.keys(EXPECTED).toSorted(), 'each has its meaning here')
  await every(t, 'every name', async (t) => {
    for (const name of COMPLETE) {
      const { blocks, usage, end, fault } = EXPECTED[name]
      const expected = { model: 'gemini-3.8-flash', blocks, usage: { ...noUsage(), ...usage }, end }
      for (const [way, { fault: found, ...utterance }] of [
        ['streamed', told(decode([recorded(name)]))],
        ['whole', told(decodeWhole(recordedReply(name)))],
      ] as const) {
        t.same(utterance, expected, `${name}: ${way}`)
        t.match(found, fault, `${name}: ${way}`)
      }
    }
  })
})

t.test('broken streams end in one fault', async (t) => {
  t.same(STREAMS.filter((name) => !COMPLETE.includes(name)).toSorted(), Object.keys(BROKEN).toSorted())
  await every(t, 'every case', async (t) => {
    for (const [name, { code, text, provider, retryAfter }] of Object.entries(BROKEN)) {
      const events = decode([recorded(name)])
      const { fault, end } = told(events)
      t.match(fault, { code, retryAfter }, name)
      t.equal(fault?.metadata?.provider_code, provider, name)
      t.equal(faults(events).length, 1)
      t.equal(events.at(-1)?.type, 'fault')
      t.equal(end, undefined)
      t.equal(spoken(events), text, name)
    }
  })
})

t.test('a stream means the same wherever it is cut and however its lines end', async (t) => {
  await every(t, 'every name', async (t) => {
    for (const name of STREAMS) {
      const bytes = recorded(name)
      const expected = decode([bytes])
      for (const lineEnd of ['\n', '\r\n', '\r']) {
        const same = Buffer.from(bytes.toString('utf8').replaceAll('\r\n', '\n').replaceAll('\n', lineEnd))
        t.same(decode(Array.from(same, (_, i) => same.subarray(i, i + 1))), expected, `${name}: byte by byte`)
        const cuts = fc.array(fc.nat({ max: same.length }), { maxLength: 6 })
        const chunked = fc.property(cuts, (places) => {
          const at = [0, ...places.toSorted((a, b) => a - b), same.length]
          const events = decode(at.slice(1).map((end, i) => same.subarray(at[i], end)))
          return JSON.stringify(events) === JSON.stringify(expected)
        })
        t.doesNotThrow(() => fc.assert(chunked, property(15, 150)), `${name}: any chunks`)
      }
    }
  })
})

t.test('a whole reply is the same as its stream, however text is split over frames', async (t) => {
  const signature = fc.option(fc.constantFrom('S1', 'S2'), { nil: undefined })
  const spokenPart = fc.record({ text: fc.string({ unit: 'grapheme' }), thought: fc.boolean(), thoughtSignature: signature })
  const otherPart = fc.oneof(
    fc.record({
      functionCall: fc.record({ name: fc.constantFrom('f', 'g'), args: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 2 }) }),
      thoughtSignature: signature,
    }),
    fc.record({
      inlineData: fc.record({ mimeType: fc.constantFrom('image/png', 'audio/wav', 'video/mp4'), data: fc.base64String() }),
      thoughtSignature: signature,
    }),
    fc.record({ executableCode: fc.record({ code: fc.string() }) }),
  )
  const parts = fc.array(
    fc.oneof({ weight: 3, arbitrary: spokenPart as fc.Arbitrary<JsonObject> }, otherPart as fc.Arbitrary<JsonObject>),
    { maxLength: 6 },
  )
  const ending = fc.constantFrom('STOP', 'MAX_TOKENS', 'SAFETY', 'OTHER', 'SOMETHING_NEW')
  const chunked = fc.property(parts, ending, fc.infiniteStream(fc.nat({ max: 7 })), (whole, finishReason, sizes) => {
    const next = (): number => sizes.next().value ?? 1
    const pieces = whole.flatMap((part): JsonObject[] => {
      const { text, thoughtSignature, ...rest } = part
      if (typeof text !== 'string') return [part]
      const letters = [...text]
      const cut: JsonObject[] = []
      for (let i = 0; i < letters.length; ) {
        const size = 1 + next()
        cut.push({ ...rest, text: letters.slice(i, i + size).join('') })
        i += size
      }
      // The signature comes with the last piece, or in an empty one behind it.
      if (cut.length === 0 || next() > 4) cut.push({ ...rest, text: '' })
      return [...cut.slice(0, -1), { ...cut.at(-1), ...(thoughtSignature === undefined ? {} : { thoughtSignature }) }]
    })
    const grounding = {
      groundingChunks: [{ web: { uri: 'u', title: 't' } }],
      groundingSupports: [{ segment: { startIndex: 0, endIndex: 1 }, groundingChunkIndices: [0] }],
    }
    const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 4, thoughtsTokenCount: 5, cachedContentTokenCount: 1 }
    const frames: JsonObject[] = []
    for (let i = 0; i < pieces.length; ) {
      const size = 1 + (next() % 3)
      frames.push({ candidates: [{ content: { parts: pieces.slice(i, i + size) } }], modelVersion: 'm', responseId: 'r' })
      i += size
    }
    frames.push({ candidates: [{ finishReason, groundingMetadata: grounding }], modelVersion: 'm', responseId: 'r', usageMetadata })
    const reply = {
      candidates: [{ content: { parts: whole }, finishReason, groundingMetadata: grounding }],
      modelVersion: 'm',
      responseId: 'r',
      usageMetadata,
    }
    const [streamed, atOnce] = [told(decodeFrames(frames)), told(decodeWhole(reply))]
    return (
      (streamed.end ?? streamed.fault) !== undefined && streamed.usage !== undefined && JSON.stringify(streamed) === JSON.stringify(atOnce)
    )
  })
  t.doesNotThrow(() => fc.assert(chunked, property(300, 3_000)))
})

t.test('an answer needs its end, and its end may come more than once', async (t) => {
  const frame = (text: string, more = {}): JsonObject => ({ candidates: [{ content: { parts: [{ text }] }, ...more }] })
  t.match(
    told(
      decodeFrames([
        frame('a', { finishReason: 'STOP' }),
        frame('b', { finishReason: 'STOP' }),
        frame('c', { finishReason: 'MAX_TOKENS' }),
      ]),
    ),
    {
      blocks: [{ text: 'abc' }],
      end: { reason: 'length', raw: 'MAX_TOKENS' },
    },
  )
  t.match(told(decodeFrames([frame('a', { finishReason: 'FINISH_REASON_UNSPECIFIED' })])).fault, { code: 'upstream_cut' })
  t.match(told(decodeFrames([frame('a', { finishReason: 'STOP' }), '[DONE]'])), { end: { reason: 'stop' } })
  t.match(
    told(decodeFrames([[frame('a'), frame('b', { finishReason: 'STOP' })]])),
    { blocks: [{ text: 'ab' }], end: { reason: 'stop' } },
    'an array of replies',
  )
  t.match(told(decodeWhole(frame('a'))), { blocks: [{ text: 'a' }], end: { reason: 'stop', raw: undefined } })
  const second = { candidates: [{ index: 1, content: { parts: [{ text: 'other' }] } }] }
  t.same(told(decodeFrames([second, frame('a', { finishReason: 'STOP' })])).blocks, [{ kind: 'text', text: 'a' }])
  const late = [
    frame('a', { finishReason: 'STOP' }),
    { usageMetadata: { promptTokenCount: 2, candidatesTokenCount: 1, trafficType: 'ON_DEMAND_FLEX' } },
    { usageMetadata: { promptTokenCount: 2, candidatesTokenCount: 1 } },
  ]
  t.match(told(decodeFrames(late)), { usage: { input: 2, output: 1 }, end: { tier: 'flex' } }, 'counts may follow')
  t.same(
    told(
      decodeWhole({
        candidates: [{ finishReason: 'STOP' }],
        usageMetadata: { promptTokenCount: -1, candidatesTokenCount: 'x', thoughtsTokenCount: 2, cachedContentTokenCount: 9 },
      }),
    ).usage,
    {
      ...noUsage(),
      output: 2,
      reasoning: 2,
      inputUnknown: true,
    },
    'a count below zero is none',
  )
  await every(t, 'every case', async (t) => {
    for (const [raw, reason] of [
      ['RECITATION', 'content_filter'],
      ['BLOCKLIST', 'content_filter'],
      ['PROHIBITED_CONTENT', 'content_filter'],
      ['SPII', 'content_filter'],
      ['MODEL_ARMOR', 'content_filter'],
      ['IMAGE_SAFETY', 'content_filter'],
      ['IMAGE_PROHIBITED_CONTENT', 'content_filter'],
      ['IMAGE_RECITATION', 'content_filter'],
      ['CONTINUATION', 'length'],
      ['A_NEW_WORD', 'unknown'],
    ])
      t.same(told(decodeFrames([frame('a', { finishReason: raw })])).end, { reason, raw })
  })
  await every(t, 'every failure', async (t) => {
    for (const raw of ['LANGUAGE', 'OTHER', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS', 'MALFORMED_RESPONSE', 'NO_IMAGE', 'IMAGE_OTHER'])
      t.match(told(decodeFrames([frame('a', { finishReason: raw })])).fault, { code: 'upstream_error', metadata: { provider_code: raw } })
  })
})

t.test('a signature does not break a text apart, and joins only the thoughts right before it', async (t) => {
  const call = (id: string, thoughtSignature?: string): JsonObject => ({ functionCall: { id, name: 'f' }, thoughtSignature })
  const parts = [
    { text: 'Thought.', thought: true, thoughtSignature: 'S0' },
    call('a'),
    call('b', 'S1'),
    { text: 'One ', thoughtSignature: 'S2' },
    { text: 'two.' },
  ]
  const groundingMetadata = {
    groundingChunks: [{ web: { uri: 'https://s.example/', title: 'S' } }],
    groundingSupports: [{ segment: { startIndex: 4, endIndex: 8, text: 'two.' }, groundingChunkIndices: [0] }],
  }
  t.same(told(decodeWhole({ candidates: [{ content: { parts }, finishReason: 'STOP', groundingMetadata }] })).blocks, [
    { kind: 'summary', item: 'thought-0', text: 'Thought.', notes: [FORMAT] },
    { kind: 'reasoning', item: 'thought-0', notes: [FORMAT, encrypted('S0')] },
    { kind: 'call', call: { id: 'a', name: 'f' }, text: '{}' },
    { kind: 'reasoning', item: 'thought-3', notes: [FORMAT, encrypted('S1', 'b')] },
    { kind: 'call', call: { id: 'b', name: 'f' }, text: '{}' },
    { kind: 'text', text: 'One two.', notes: [cite('https://s.example/', 'S', 4, 8)] },
    { kind: 'reasoning', item: 'thought-6', notes: [FORMAT, encrypted('S2')] },
  ])
  const later = [{ text: 'Thought.', thought: true }, call('a'), call('b', 'S1')]
  const { blocks } = told(decodeWhole({ candidates: [{ content: { parts: later } }] }))
  t.same(
    blocks.map(({ item }) => item),
    ['thought-0', undefined, 'thought-2', undefined],
  )
})

t.test('audio has the names that callers know', async (t) => {
  for (const [mimeType, format] of [
    ['audio/L16;codec=pcm;rate=24000', 'pcm16'],
    ['audio/pcm', 'pcm16'],
    ['audio/mpeg', 'mp3'],
    ['audio/x-wav', 'wav'],
    ['audio/ogg; codecs=opus', 'ogg'],
  ]) {
    const { blocks } = told(decodeWhole({ candidates: [{ content: { parts: [{ inlineData: { mimeType, data: 'AAEC' } }] } }] }))
    t.same(blocks, [{ kind: 'media', of: { dialect: 'common', type: 'audio', data: { data: 'AAEC', format } } }])
  }
})

t.test('calls have identifiers that no other turn has', async (t) => {
  const reply = (parts: Json[], more: JsonObject = {}): JsonObject => ({
    candidates: [{ content: { parts }, finishReason: 'STOP' }],
    ...more,
  })
  const call = { functionCall: { name: 'f' } }
  const ids = (body: JsonObject): string[] => told(decodeWhole(body)).blocks.map((block) => (block.call as JsonObject).id as string)
  const first = ids(reply([call, call, { functionCall: { name: 'f', id: '' } }], { usageMetadata: { promptTokenCount: 5 } }))
  const second = ids(reply([call, call], { usageMetadata: { promptTokenCount: 9 } }))
  t.equal(new Set([...first, ...second]).size, 5)
  for (const id of [...first, ...ids(reply([call], { responseId: 'a/b+c=' }))]) t.match(id, /^[A-Za-z0-9_-]{1,64}$/)
  t.same(ids(reply([call], { responseId: 'abc' })), ['call_abc_0'])
  t.same(ids(reply([call, call], { usageMetadata: { promptTokenCount: 9 } })), second, 'the same reply, the same identifiers')
})

t.test('sources of more than one text', async (t) => {
  const web = (n: number): JsonObject => ({ web: { uri: `https://s.example/${n}`, title: `S${n}` } })
  const support = (index: number, segment: JsonObject): JsonObject => ({ segment, groundingChunkIndices: [index] })
  const parts = [{ text: 'First é. ' }, { executableCode: { code: '1' } }, { text: 'Second é.' }]
  const metadata = {
    groundingChunks: [web(0), web(1), { image: { sourceUri: 'https://s.example/2' } }, {}],
    groundingSupports: [
      support(0, { startIndex: 7, endIndex: 10, text: 'é.' }),
      support(1, { startIndex: 999, endIndex: 1000 }),
      support(2, { startIndex: 1, endIndex: 2, text: 'Second' }),
      support(3, { endIndex: 1 }),
      support(1, { startIndex: 999, endIndex: 1000 }),
    ],
  }
  const { blocks } = told(decodeWhole({ candidates: [{ content: { parts }, finishReason: 'STOP', groundingMetadata: metadata }] }))
  t.same(blocks.at(-1), {
    kind: 'text',
    text: 'Second é.',
    notes: [
      cite('https://s.example/0', 'S0', 7, 9),
      cite('https://s.example/1', 'S1', 0, 0),
      cite('https://s.example/2', 'https://s.example/2', 0, 6),
    ],
  })
  const unplaced = {
    candidates: [
      {
        content: { parts: [{ text: 'x' }, { functionCall: { name: 'f' } }] },
        finishReason: 'STOP',
        groundingMetadata: { groundingChunks: [web(0)] },
      },
    ],
  }
  t.match(told(decodeWhole(unplaced)).blocks, [
    { kind: 'text', text: 'x' },
    { kind: 'call' },
    { kind: 'text', notes: [cite('https://s.example/0', 'S0', 0, 0)] },
  ])
})

t.test('thoughts that are no text are not shown as the answer', async (t) => {
  const parts = [
    { inlineData: { mimeType: 'image/png', data: 'AA==' }, thought: true },
    { fileData: { fileUri: 'gs://a/b' } },
    { thoughtSignature: 'S' },
    {},
  ]
  t.same(told(decodeWhole({ candidates: [{ content: { parts }, finishReason: 'STOP' }] })).blocks, [
    { kind: 'opaque', of: { dialect: 'gemini', type: 'inlineData', data: parts[0] } },
    { kind: 'opaque', of: { dialect: 'gemini', type: 'fileData', data: parts[1] } },
    { kind: 'reasoning', item: 'thought-2', notes: [FORMAT, encrypted('S')] },
  ])
})

t.test('garbage is one fault and never a throw', async (t) => {
  const nested = JSON.parse(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`) as Json
  const bad: [JsonObject, string][] = [
    [{}, 'upstream_empty'],
    [{ candidates: [] }, 'upstream_empty'],
    [{ candidates: {} }, 'upstream_garbled'],
    [{ candidates: [{ content: { parts: 'x' } }] }, 'upstream_garbled'],
    [{ candidates: [{ content: { parts: ['x'] } }] }, 'upstream_garbled'],
    [{ candidates: [{ content: { parts: [{ functionCall: {} }] } }] }, 'upstream_garbled'],
    [{ candidates: [{ content: { parts: [{ functionCall: { name: 'f', args: [] } }] } }] }, 'upstream_garbled'],
    [{ candidates: [{ content: { parts: [{ functionCall: { name: 'f', args: nested, id: 'i' } }] } }] }, 'upstream_oversized'],
    [{ error: 'no' }, 'upstream_error'],
    [{ error: { code: 404 } }, 'upstream_missing'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [body, code] of bad) {
      const events = decodeWhole(body)
      t.match(told(events).fault, { code })
      t.equal(faults(events).length, 1)
    }
  })
  const some = (names: string[], value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
    fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] })
  const part = some(['text', 'thought', 'functionCall', 'inlineData', 'audioTranscription', 'thoughtSignature'], fc.jsonValue())
  const content = fc.oneof(fc.jsonValue(), fc.record({ parts: fc.array(part, { maxLength: 3 }) }))
  const candidate = some(['content', 'finishReason', 'groundingMetadata', 'citationMetadata', 'logprobsResult', 'index'], content)
  const members = ['candidates', 'usageMetadata', 'promptFeedback', 'error', 'modelVersion', 'responseId']
  const body = some(members, fc.oneof(fc.jsonValue(), fc.array(candidate, { maxLength: 2 })))
  const ends = (events: StreamEvent[]): number => events.filter(({ type }) => type === 'end' || type === 'fault').length
  const anything = fc.property(
    fc.array(fc.oneof(body, fc.jsonValue(), fc.string()), { maxLength: 4 }),
    (frames) => ends(decodeFrames(frames)) === 1,
  )
  t.doesNotThrow(() => fc.assert(anything, property(200, 2_000)))
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(body, (each) => ends(decodeWhole(each as JsonObject)) === 1),
      property(200, 2_000),
    ),
  )
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => ends(decode([Buffer.from(bytes)])) === 1),
      property(100, 1_000),
    ),
  )
})

const rpc = (code: number, status: string | undefined, more: JsonObject = {}): JsonObject => ({
  error: { code, message: 'at 10.1.2.3 with key AIzaSecret', ...(status === undefined ? {} : { status }), ...more },
})
const info = (reason: string): Json[] => [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'googleapis.com' }]
const retry = (retryDelay: Json): Json[] => [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }]

t.test('errors become faults that tell nothing of the provider', async (t) => {
  const table: [number, Json | undefined, string, object?][] = [
    [400, rpc(400, 'INVALID_ARGUMENT'), 'upstream_rejected', { metadata: { provider_code: 'INVALID_ARGUMENT' } }],
    [
      400,
      rpc(400, 'INVALID_ARGUMENT', { details: info('API_KEY_INVALID') }),
      'upstream_auth',
      { metadata: { provider_code: 'API_KEY_INVALID' } },
    ],
    [400, rpc(400, 'INVALID_ARGUMENT', { message: 'API key not valid. Please pass a valid API key.' }), 'upstream_auth'],
    [
      400,
      rpc(400, 'INVALID_ARGUMENT', { message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).' }),
      'upstream_context',
    ],
    [400, rpc(400, 'INVALID_ARGUMENT', { message: 'Request payload size exceeds the limit: 20971520 bytes.' }), 'upstream_too_large'],
    [
      400,
      rpc(400, 'INVALID_ARGUMENT', {
        details: [
          {
            '@type': 'type.googleapis.com/google.rpc.BadRequest',
            fieldViolations: [{ field: 'generation_config.temperature', description: 'AIzaSecret' }],
          },
        ],
      }),
      'upstream_rejected',
      { message: 'Provider rejected the request (generation_config.temperature)', metadata: { field: 'generation_config.temperature' } },
    ],
    [
      400,
      rpc(400, 'INVALID_ARGUMENT', {
        details: [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: 'AIzaSecret is bad' }] }],
      }),
      'upstream_rejected',
      { message: 'Provider rejected the request' },
    ],
    [400, rpc(400, 'FAILED_PRECONDITION'), 'upstream_account'],
    [400, rpc(400, 'OUT_OF_RANGE'), 'upstream_rejected'],
    [401, rpc(401, 'UNAUTHENTICATED'), 'upstream_auth'],
    [
      403,
      rpc(403, 'PERMISSION_DENIED', { details: info('SERVICE_DISABLED') }),
      'upstream_rights',
      { metadata: { provider_code: 'SERVICE_DISABLED' } },
    ],
    [404, rpc(404, 'NOT_FOUND'), 'upstream_missing'],
    [413, undefined, 'upstream_too_large'],
    [429, rpc(429, 'RESOURCE_EXHAUSTED', { details: retry('41s') }), 'upstream_limited', { retryAfter: 41 }],
    [429, rpc(429, 'RESOURCE_EXHAUSTED', { details: retry('0.2s') }), 'upstream_limited', { retryAfter: 1 }],
    [429, rpc(429, 'RESOURCE_EXHAUSTED', { details: retry('7200s') }), 'upstream_limited', { retryAfter: 7200 }],
    [429, rpc(429, 'RESOURCE_EXHAUSTED', { details: retry('soon') }), 'upstream_limited', { retryAfter: undefined }],
    [429, undefined, 'upstream_limited', { metadata: { provider_code: '429' } }],
    [499, rpc(499, 'CANCELLED'), 'upstream_error'],
    [500, rpc(500, 'INTERNAL'), 'upstream_error'],
    [500, rpc(500, 'INTERNAL', { message: 'The model is overloaded' }), 'upstream_overloaded'],
    [501, rpc(501, 'UNIMPLEMENTED'), 'upstream_error'],
    [503, rpc(503, 'UNAVAILABLE'), 'upstream_overloaded'],
    [503, 'plain text', 'upstream_overloaded'],
    [504, rpc(504, 'DEADLINE_EXCEEDED'), 'upstream_silent'],
    [529, rpc(529, 'SOME_ERROR'), 'upstream_overloaded'],
    [418, {}, 'upstream_error'],
    [502, [rpc(502, undefined)], 'upstream_error'],
    [200, [rpc(429, 'RESOURCE_EXHAUSTED')], 'upstream_limited'],
    [200, rpc(503, undefined), 'upstream_overloaded'],
    [200, { error: {} }, 'upstream_error', { metadata: { provider_code: '500' } }],
    [400, rpc(400, 'AIza secret'), 'upstream_rejected', { metadata: { provider_code: '400' } }],
  ]
  await every(t, 'every case', async (t) => {
    for (const [status, body, code, more = {}] of table) {
      const fault = geminiUpstream.decodeFault(status, body)
      t.ok(fault instanceof Fault)
      t.match(fault, { code, ...more }, `${status} ${JSON.stringify(body)?.slice(0, 90)}`)
      t.notMatch(JSON.stringify([fault.message, fault.metadata]), /10\.1\.2\.3|AIza/)
    }
  })
  const anything = fc.property(
    fc.integer({ min: 200, max: 599 }),
    fc.jsonValue(),
    (status, body) => geminiUpstream.decodeFault(status, body as Json) instanceof Fault,
  )
  t.doesNotThrow(() => fc.assert(anything, property(100, 1_000)))
})
