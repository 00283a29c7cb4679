/** A frame that is recognised instead of parsed gives what parsing it gives: random streams are read both ways. */
import fc from 'fast-check'
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import type { StreamEvent } from '../../src/dialects/canon/events.ts'
import { ChatStreamDecoder } from '../../src/dialects/chat/decode-stream.ts'
import { Sources } from '../../src/dialects/chat/sources.ts'
import { GeminiStreamDecoder } from '../../src/dialects/gemini/decode-stream.ts'
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

/** A run of replies of one form, which differ in the text (%t) and in numbers (%n) alone. */
const usages = fc.oneof(
  { weight: 4, arbitrary: fc.constant('{"promptTokenCount": %n,"candidatesTokenCount":%n}') },
  fc.constantFrom(
    '{"promptTokenCount":%n,"promptTokenCount":%n,"trafficType":"ON_DEMAND"}',
    '{"promptTokenCount":%n,"promptTokensDetails":[{"modality":"AUDIO","tokenCount":%n},{"modality":"TEXT","tokenCount":%n}]}',
    '{"candidatesTokenCount":%n,"thoughtsTokenCount":%n,"trafficType":"ON_DEMAND_FLEX"}',
    '{"candidatesTokenCount":%n,"x":[%n,[%n]]}',
    '%n',
    '{}',
    'null',
    '[]',
  ),
)
const parts = fc.oneof(
  { weight: 6, arbitrary: fc.constant('{"text": %t}') },
  fc.constantFrom(
    '{"text":%t,"thought":true}',
    '{"text":%t,"thoughtSignature":"sig"}',
    '{"text":%t},{"text":"more"}',
    '{"text":%t},{"text":""}',
    '{"text":%t},{"thoughtSignature":"sig"}',
    '{"functionCall":{"name":"f","args":{"a":%n}}}',
    '{"thoughtSignature":"sig"}',
    '{"text":%t,"partMetadata":{"n":%n}}',
  ),
)
const besides = fc.oneof(
  { weight: 8, arbitrary: fc.constant('') },
  fc.constantFrom(
    ',"finishReason":"STOP"',
    ',"safetyRatings":[{"category":"C","probability":"LOW"}]',
    ',"citationMetadata":{"citations":[{"uri":"https://a.example/%n","startIndex":0,"endIndex":2}]}',
    ',"citationMetadata":{"citations":[{"uri":"https://b.example","startIndex":1,"endIndex":9}]}',
    ',"groundingMetadata":{"webSearchQueries":["q"],"groundingChunks":[{"web":{"uri":"https://a.example","title":"a"}}]}',
    ',"logprobsResult":{"chosenCandidates":[{"token":"a","logProbability":-1}]}',
    ',"avgLogprobs":-0.5',
    ',"tokenCount":%n',
  ),
)
const wraps = fc.oneof(
  { weight: 9, arbitrary: fc.constant('{"candidates": [{%c}],"usageMetadata": %u,"responseId":"r1"}') },
  fc.constantFrom(
    '{"usageMetadata":%u,"candidates":[{%c}],"responseId":"r1"}',
    '[{"candidates":[{%c}],"usageMetadata":%u}]',
    '{"candidates":[{%c},{"index":1,"content":{"parts":[{"text":"other"}]}}],"usageMetadata":%u}',
    '{"candidates":[{%c}],"usageMetadata":%u,"usageMetadata":%u}',
    '{"candidates":[{%c}],"usageMetadata":%u,"responseId":"r2"}',
  ),
)
const number = fc.oneof(
  { weight: 60, arbitrary: fc.nat({ max: 2_000 }).map(String) },
  fc.constantFrom('0', '1.5', '1e3', '-3', '10000000001', '12345678901234567890', '01', ''),
)
const run = fc
  .tuple(wraps, parts, besides, usages, fc.constantFrom('"index":0', '"index":0', '"x":%n', '"index":%n'))
  .chain(([wrap, utterance, more, usage, at]) => {
    const form = wrap.replace('%c', () => `"content": {"parts": [${utterance}],"role": "model"},${at}${more}`).replaceAll('%u', () => usage)
    const filled = fc.tuple(text, fc.array(number, { minLength: 6, maxLength: 6 })).map(([some, numbers]) => {
      let next = 0
      return form.replaceAll('%n', () => numbers[next++] ?? '1').replace('%t', () => JSON.stringify(some))
    })
    return fc.array(filled, { minLength: 1, maxLength: 5 })
  })
const replies = fc.array(run, { maxLength: 5, size: 'max' }).map((runs) => runs.flat())

for (const [name, streams, decoder] of [
  ['chat', chunks, () => new ChatStreamDecoder(new Sources())],
  ['messages', messages.map((frames) => [START, ...frames]), () => new MessagesStreamDecoder()],
  ['responses', events.map((frames) => [CREATED, ...frames]), () => new ResponsesStreamDecoder()],
  ['gemini', replies, () => new GeminiStreamDecoder()],
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

t.test('counts are read out of the frame at hand', async (t) => {
  const frames = new LikeFrames([], 'usageMetadata')
  const of = (content: string, input: string, output: string): string =>
    `{"parts": [{"text": "${content}"}],"index":0,"usageMetadata": {"promptTokenCount": ${input},"details":[{"tokenCount": ${output}}]}}`
  const delta = (words: string): StreamEvent => ({ type: 'block-delta', block: 3, text: words })
  frames.learn(of('first', '118', '1'), 'first', delta('first'))
  t.same(frames.read(of(' second', '118', '20')), delta(' second'))
  t.same(frames.counts, { promptTokenCount: 118, details: [{ tokenCount: 20 }] })
  t.same(frames.read(of(' third', '0', '100000')), delta(' third'))
  t.same(frames.counts, { promptTokenCount: 0, details: [{ tokenCount: 100_000 }] })
  frames.learn(of('last', '118', '1').replace('"details":[', '"details":[5,'), 'last', delta('last'))
  t.equal(frames.read(of('y', '118', '2').replace('"details":[', '"details":[5,')), undefined, 'a number in a list teaches nothing')
  frames.learn(of('first', '118', '1'), 'first', delta('first'))
  for (const other of ['01', '', '-1', '1.5', '1e3', '1234567890123456', 'null'])
    t.equal(frames.read(of('a', '118', other)), undefined, `"${other}" is left to the parser`)
  t.equal(frames.read(of('a', '118', '2').replace('"index":0', '"index":1')), undefined, 'a number that is no count is not to differ')
  frames.learn(of('x', '1.5', '2'), 'x', delta('x'))
  t.equal(frames.read(of('y', '1.5', '2')), undefined, 'a frame with a fraction teaches nothing')
})

t.test('a citation of Gemini finds its place behind text that was recognised', async (t) => {
  const of = (words: string, more: JsonObject = {}): string =>
    JSON.stringify({
      candidates: [{ content: { parts: [{ text: words }] }, ...more }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2 },
    })
  const citations = [{ uri: 'https://a.example', startIndex: 8, endIndex: 13 }]
  const frames = ['one ', 'two ', 'three ', 'four ']
    .map((words) => of(words))
    .concat(of('five', { citationMetadata: { citations }, finishReason: 'STOP' }))
  const found = read(new GeminiStreamDecoder(), frames).find(({ type }) => type === 'block-note')
  t.match(found, { note: 'annotation', data: { start_index: 8, end_index: 13 } })
})
