/** A frame that is recognised instead of parsed gives what parsing it gives: random streams are read both ways. */
import fc from 'fast-check'
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import type { StreamEvent } from '../../src/dialects/canon/events.ts'
import { ChatStreamDecoder } from '../../src/dialects/chat/decode-stream.ts'
import { MessagesStreamDecoder } from '../../src/dialects/messages/decode-stream.ts'
import { ResponsesStreamDecoder } from '../../src/dialects/responses/decode-stream.ts'
import { LikeFrames } from '../../src/dialects/sse/like-frames.ts'
import type { StreamDecoder } from '../../src/dialects/types.ts'

function read(decoder: StreamDecoder, frames: readonly string[]): StreamEvent[] {
  const out: StreamEvent[] = []
  for (const frame of frames) decoder.feed(frame, undefined, out)
  decoder.end(out)
  return out
}

/** Space before a frame means nothing, and no frame with more of it begins as the one before. */
const unlike = (frames: readonly string[]): string[] => frames.map((frame, at) => ' '.repeat(at + 1) + frame)

const text = fc.oneof(
  fc.constantFrom(
    'Hello',
    ' world',
    ',',
    ':',
    '":"',
    '\\',
    '\n',
    'é',
    '😀',
    '\ud83d',
    '',
    'content',
    'assistant',
    'stop',
    'null',
    '0',
    '}',
    '"}',
  ),
  fc.string({ maxLength: 6 }),
)

const choice = (delta: JsonObject, more: JsonObject = {}): JsonObject => ({ index: 0, delta, finish_reason: null, ...more })
const chunk = fc.oneof(
  { weight: 8, arbitrary: text.map((content) => ({ choices: [choice({ content })] })) },
  text.map((content) => ({ choices: [choice({ content })], usage: null, obfuscation: content.replace(/\W/g, 'x') })),
  text.map((content) => ({ choices: [choice({ content })], x: { obfuscation: content } })),
  text.map((content) => ({ choices: [choice({ content, role: 'assistant' })] })),
  text.map((content) => ({ choices: [choice({ reasoning_content: content })] })),
  text.map((content) => ({ choices: [choice({ content, reasoning: content })] })),
  text.map((content) => ({ choices: [choice({ content }), choice({ content: 'other' }, { index: 1 })] })),
  text.map((content) => ({ choices: [choice({ content }, { finish_reason: 'stop' })] })),
  text.map((args) => ({
    choices: [choice({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: args } }] })],
  })),
  text.map((content) => ({
    choices: [choice({ content }, { logprobs: { content: [{ token: content, logprob: -1, bytes: null, top_logprobs: [] }] } })],
  })),
  text.map((content) => ({ choices: [choice({ content })], service_tier: content, system_fingerprint: content })),
  fc.constant({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } }),
  fc.constant({ choices: [choice({ content: 'Hello' })], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } }),
)
const chunks = fc.array(
  fc
    .tuple(fc.constantFrom('chatcmpl-1', 'chatcmpl-1', 'chatcmpl-1', 'chatcmpl-2'), chunk)
    .map(([id, rest]) => JSON.stringify({ id, object: 'chat.completion.chunk', created: 1, model: 'm', ...rest })),
  { maxLength: 14, size: 'max' },
)

const delta = (index: number, data: JsonObject): JsonObject => ({ type: 'content_block_delta', index, delta: data })
const index = fc.constantFrom(0, 0, 0, 1)
const message = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(index, text).map(([at, some]) => delta(at, { type: 'text_delta', text: some })) },
  fc.tuple(index, text).map(([at, some]) => delta(at, { type: 'thinking_delta', thinking: some })),
  fc.tuple(index, text).map(([at, some]) => delta(at, { type: 'input_json_delta', partial_json: some })),
  fc.tuple(index, text).map(([at, some]) => delta(at, { type: 'citations_delta', citation: { type: 'char_location', cited_text: some } })),
  fc
    .tuple(index, fc.constantFrom('text', 'thinking'))
    .map(([at, type]) => ({ type: 'content_block_start', index: at, content_block: { type } })),
  fc.constant({ type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} } }),
  index.map((at) => ({ type: 'content_block_stop', index: at })),
  fc.constant({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } }),
)
const messages = fc.array(
  message.map((one) => JSON.stringify(one)),
  { maxLength: 14, size: 'max' },
)
const START = JSON.stringify({ type: 'message_start', message: { id: 'msg_1', model: 'm', usage: { input_tokens: 1, output_tokens: 1 } } })

const place = { item_id: 'msg_1', output_index: 0, content_index: 0 }
const event = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(text, text, index).map(([some, pad, at]) => ({
      type: 'response.output_text.delta',
      ...place,
      content_index: at,
      delta: some,
      logprobs: [],
      obfuscation: pad,
    })),
  },
  text.map((some) => ({ type: 'response.output_text.delta', ...place, delta: some, logprobs: [{ token: some, logprob: -1 }] })),
  text.map((some) => ({ type: 'response.refusal.delta', ...place, delta: some })),
  text.map((some) => ({ type: 'response.reasoning_text.delta', ...place, output_index: 1, delta: some })),
  text.map((some) => ({ type: 'response.output_text.done', ...place, text: some })),
  text.map((some) => ({ type: 'response.content_part.done', ...place, part: { type: 'output_text', text: some } })),
  fc.constant({ type: 'response.output_item.added', output_index: 1, item: { type: 'message', id: 'msg_2', content: [] } }),
  fc.constant({ type: 'response.output_item.done', output_index: 0, item: { type: 'message', id: 'msg_1', content: [] } }),
)
const events = fc
  .array(event, { maxLength: 14, size: 'max' })
  .map((list) => list.map((one, at) => JSON.stringify(at % 2 === 0 ? { ...one, sequence_number: at } : { sequence_number: at, ...one })))
const CREATED = JSON.stringify({ type: 'response.created', response: { id: 'resp_1', model: 'm' } })

for (const [name, streams, decoder] of [
  ['chat', chunks, () => new ChatStreamDecoder()],
  ['messages', messages.map((frames) => [START, ...frames]), () => new MessagesStreamDecoder()],
  ['responses', events.map((frames) => [CREATED, ...frames]), () => new ResponsesStreamDecoder()],
] as const) {
  t.test(`${name}: a random stream reads the same, recognised and parsed`, async (t) => {
    fc.assert(
      fc.property(streams, (frames) => {
        const found = JSON.stringify(read(decoder(), frames))
        const wanted = JSON.stringify(read(decoder(), unlike(frames)))
        if (found !== wanted) throw new Error(`${frames.join('\n')}\n${found}\n${wanted}`)
      }),
      { numRuns: 4_000, seed: 20261126 },
    )
    t.pass('the same events')
  })
}

t.test('frames of real providers are recognised, and no others', async (t) => {
  const frames = new LikeFrames([{ name: 'obfuscation', last: true }])
  const of = (content: string, more = ''): string =>
    `{"id":"1","choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":null}]${more}}`
  const delta = (words: string): StreamEvent => ({ type: 'block-delta', block: 3, text: words })
  t.equal(frames.read(of('a')), undefined, 'none has been learnt')
  frames.learn(of('first'), 'first', delta('first'))
  t.same(frames.read(of(' second')), delta(' second'))
  for (const other of [of('a\\n'), of(''), of('a', ',"usage":null'), of('a').slice(0, -1), of('a"},"x":{"y":"'), '[DONE]'])
    t.equal(frames.read(other), undefined, other)
  frames.learn(of('x', ',"obfuscation":"a1"'), 'x', delta('x'))
  t.same(frames.read(of('y', ',"obfuscation":"b22"')), delta('y'))
  frames.learn(of('content'), 'content', delta('content'))
  t.equal(frames.read(of('y')), undefined, 'a text that stands in its frame twice teaches nothing')
  frames.learn(of('z'), 'z', undefined)
  t.equal(frames.read(of('y')), undefined, 'a frame of several events forgets what was learnt')
})
