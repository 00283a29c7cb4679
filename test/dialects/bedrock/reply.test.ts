/** Replies of Converse, whole and streamed: what they say, how they end, what they cost, and how they fail. */
import t from 'tap'
import { noUsage } from '../../../src/dialects/canon/usage.ts'
import { event, exception } from '../../support/event-stream.ts'
import { every } from '../../support/every.ts'
import type { Utterance } from '../../support/wire.ts'
import { bedrockFrames, bedrockReply } from '../../support/wire-bedrock.ts'
import { decode, decodeWhole, utterance } from './rig.ts'

const frames = (reply: Utterance): Buffer[] => bedrockFrames(reply).map((frame) => Buffer.from(frame, 'latin1'))
const CLAUDE = 'anthropic-claude-v1'

const REPLIES: Readonly<Record<string, Utterance>> = {
  text: { text: ['Grüß ', 'dich, 世界'] },
  reasoning: { reasoning: ['Let me ', 'see.'], signature: 'c2lnbmVk', text: ['Fine.'] },
  calls: {
    text: ['Both.'],
    calls: [
      { id: 'tooluse_a', name: 'weather', args: ['{"ci', 'ty":"Oslo"}'] },
      { id: 'tooluse_b', name: 'clock', args: [] },
    ],
  },
  citations: { text: ['It is so.'], citations: [{ url: 'https://example.com/a', title: 'A' }] },
  sequence: { text: ['Until'], sequence: 'END', usage: { input: 20, output: 5, cached: 6, written: 8, writtenLong: 3 } },
}

t.test('a stream says the same as the whole reply, wherever it is cut', async (t) => {
  await every(t, 'every reply', async (t) => {
    for (const [name, reply] of Object.entries(REPLIES)) {
      const whole = decodeWhole(bedrockReply(reply))
      const bytes = Buffer.concat(frames(reply))
      t.same(utterance(decode([bytes])), utterance(whole), `${name}: blocks`)
      t.same([decode([bytes]).usage, decode([bytes]).end], [whole.usage, whole.end], `${name}: usage and end`)
      t.same(decode(Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))), decode([bytes]), `${name}: byte by byte`)
      for (let at = 1; at < bytes.length; at += 7)
        t.same(decode([bytes.subarray(0, at), bytes.subarray(at)]), decode([bytes]), `${name}: ${at}`)
    }
  })
})

t.test('what each block says', async (t) => {
  t.same(utterance(decode(frames(REPLIES.reasoning))), [
    {
      kind: 'reasoning',
      text: 'Let me see.',
      notes: [
        { note: 'format', data: { format: CLAUDE } },
        { note: 'signature', data: { signature: 'c2lnbmVk', format: CLAUDE } },
      ],
    },
    { kind: 'text', text: 'Fine.' },
  ])
  t.same(utterance(decode(frames(REPLIES.calls))), [
    { kind: 'text', text: 'Both.' },
    { kind: 'call', call: { id: 'tooluse_a', name: 'weather' }, text: '{"city":"Oslo"}' },
    { kind: 'call', call: { id: 'tooluse_b', name: 'clock' }, text: '{}' },
  ])
  t.match(utterance(decode(frames(REPLIES.citations))), [
    {
      notes: [
        { note: 'annotation', data: { type: 'url_citation', url: 'https://example.com/a', title: 'A', start_index: 0, end_index: 9 } },
      ],
    },
  ])
  t.same(decode(frames(REPLIES.sequence)).end, { reason: 'stop', raw: 'stop_sequence', sequence: 'END' })
  t.same(decode(frames(REPLIES.sequence)).usage, { ...noUsage(), input: 20, output: 5, cached: 6, cacheWrite: 8, cacheWriteLong: 3 })
})

t.test('reasoning that was encrypted is of the family whose endpoint it is', async (t) => {
  const inner = 'EtkECkgIBxABGAIqQ'
  const redactedContent = Buffer.from(inner).toString('base64')
  const reply = { output: { message: { content: [{ reasoningContent: { redactedContent } }, { text: 'So.' }] } }, stopReason: 'end_turn' }
  t.match(utterance(decodeWhole(reply)), [{ notes: [{}, { note: 'encrypted', data: { data: inner, format: CLAUDE } }] }])
  t.match(utterance(decodeWhole(reply, { thinking: 'reasoning' })), [
    { notes: [{ note: 'encrypted', data: { data: redactedContent, format: 'amazon-bedrock-v1' } }] },
  ])
})

t.test('places in documents keep the form that Messages has for them', async (t) => {
  const located = (location: object) => ({
    title: 'Paper',
    sourceContent: [{ text: 'the words' }],
    location: location as never,
  })
  const reply = {
    output: {
      message: {
        content: [
          {
            citationsContent: {
              content: [{ text: 'So it says.' }],
              citations: [
                located({ documentChar: { documentIndex: 1, start: 3, end: 9 } }),
                located({ documentPage: { documentIndex: 0, start: 2, end: 4 } }),
                located({ searchResultLocation: { searchResultIndex: 5, start: 0, end: 1 } }),
              ],
            },
          },
        ],
      },
    },
    stopReason: 'end_turn',
  }
  const [{ notes }] = utterance(decodeWhole(reply)) as [{ notes: { data: { native: { data: object } } }[] }]
  t.match(
    notes.map(({ data }) => data.native.data),
    [
      {
        type: 'char_location',
        cited_text: 'the words',
        document_index: 1,
        document_title: 'Paper',
        start_char_index: 3,
        end_char_index: 9,
      },
      { type: 'page_location', start_page_number: 2, end_page_number: 4 },
      { type: 'search_result_location', search_result_index: 5, start_block_index: 0, end_block_index: 1 },
    ],
  )
})

t.test('what the provider itself ran is neither a call of the caller nor text', async (t) => {
  // Recording test_bedrock_model_code_execution_tool_stream.
  const stream = [
    event('messageStart', { role: 'assistant' }),
    event('contentBlockStart', {
      contentBlockIndex: 0,
      start: { toolUse: { name: 'nova_code_interpreter', toolUseId: 't1', type: 'server_tool_use' } },
    }),
    event('contentBlockDelta', { contentBlockIndex: 0, delta: { toolUse: { input: '{"snippet":"1"}' } } }),
    event('contentBlockStop', { contentBlockIndex: 0 }),
    event('contentBlockStart', { contentBlockIndex: 1, start: { toolResult: { toolUseId: 't1', type: 'nova_code_interpreter_result' } } }),
    event('contentBlockDelta', { contentBlockIndex: 1, delta: { toolResult: [{ json: { stdOut: '1' } }] } }),
    event('contentBlockStop', { contentBlockIndex: 1 }),
    event('contentBlockDelta', { contentBlockIndex: 2, delta: { text: 'One.' } }),
    event('contentBlockStop', { contentBlockIndex: 2 }),
    event('messageStop', { stopReason: 'end_turn' }),
    event('metadata', { usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 } }),
  ]
  t.same(utterance(decode(stream)), [{ kind: 'text', text: 'One.' }])
})

t.test('an image comes in pieces and leaves whole', async (t) => {
  const png = Buffer.from('not really a picture')
  const stream = [
    event('contentBlockStart', { contentBlockIndex: 0, start: { image: { format: 'png' } } }),
    event('contentBlockDelta', { contentBlockIndex: 0, delta: { image: { source: { bytes: png.subarray(0, 5).toString('base64') } } } }),
    event('contentBlockDelta', { contentBlockIndex: 0, delta: { image: { source: { bytes: png.subarray(5).toString('base64') } } } }),
    event('contentBlockStop', { contentBlockIndex: 0 }),
    event('messageStop', { stopReason: 'end_turn' }),
  ]
  const url = `data:image/png;base64,${png.toString('base64')}`
  t.match(utterance(decode(stream)), [{ kind: 'media', of: { type: 'image', data: { url } } }])
  const whole = {
    output: { message: { content: [{ image: { format: 'png', source: { bytes: png.toString('base64') } } }] } },
    stopReason: 'end_turn',
  }
  t.same(utterance(decodeWhole(whole)), utterance(decode(stream)))
})

t.test('how a turn ended', async (t) => {
  await every(t, 'every reason', async (t) => {
    for (const [raw, reason] of [
      ['end_turn', 'stop'],
      ['tool_use', 'tool_calls'],
      ['max_tokens', 'length'],
      ['model_context_window_exceeded', 'length'],
      ['guardrail_intervened', 'content_filter'],
      ['content_filtered', 'content_filter'],
      ['a_new_word', 'unknown'],
    ])
      t.same(decodeWhole({ output: { message: { content: [{ text: 'x' }] } }, stopReason: raw }).end, { reason, raw })
  })
  await every(t, 'every failure', async (t) => {
    for (const raw of ['malformed_tool_use', 'malformed_model_output'])
      t.match(decodeWhole({ output: { message: { content: [{ text: 'x' }] } }, stopReason: raw }), {
        end: undefined,
        fault: { code: 'upstream_error', metadata: { provider_code: raw } },
      })
  })
  const tier = { output: { message: { content: [{ text: 'x' }] } }, stopReason: 'end_turn', serviceTier: { type: 'flex' } }
  t.equal(decodeWhole(tier).end?.tier, 'flex')
})

t.test('a stream that breaks', async (t) => {
  const [start, delta] = frames(REPLIES.text)
  const half = [start, delta]
  t.equal(decode([]).fault?.code, 'upstream_empty')
  t.equal(decode(half).fault?.code, 'upstream_cut')
  t.equal(decode([...half, event('messageStop', { stopReason: 'end_turn' })]).end?.reason, 'stop', 'usage may be missing')
  t.equal(decode([...half, start]).fault?.code, 'upstream_garbled', 'a second beginning')
  t.match(decode([...half, Buffer.from('nonsense that is long enough')]), { broken: /checksum/ })
  await every(t, 'every exception', async (t) => {
    for (const [type, code, status] of [
      ['throttlingException', 'upstream_limited', 429],
      ['modelStreamErrorException', 'upstream_error', 502],
      ['internalServerException', 'upstream_error', 502],
      ['serviceUnavailableException', 'upstream_overloaded', 529],
      ['validationException', 'upstream_rejected', 400],
      ['modelTimeoutException', 'upstream_silent', 524],
      ['aNewException', 'upstream_error', 502],
    ] as const) {
      const { fault, blocks } = decode([...half, exception(type, 'It went wrong.')])
      t.match(fault, { code, status, metadata: { provider_code: type[0].toUpperCase() + type.slice(1) } }, type)
      t.equal(fault?.message.includes('went wrong'), false, 'its sentence is not ours')
      t.equal(blocks[0]?.text, 'Grüß ', 'what came before it stays')
    }
  })
})

t.test('bodies that are no replies', async (t) => {
  t.equal(decodeWhole({}).fault?.code, 'upstream_garbled')
  t.equal(decodeWhole({ output: { message: { content: 'text' } } }).fault?.code, 'upstream_garbled')
  // github.com/vercel/ai/issues/17523: a path that the service does not know is answered with 200.
  const unknown = { Output: { __type: 'com.amazon.coral.service#UnknownOperationException' }, Version: '1.0' }
  t.match(decodeWhole(unknown).fault, { code: 'upstream_missing', metadata: { provider_code: 'UnknownOperationException' } })
})
