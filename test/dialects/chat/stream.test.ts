import t, { type Test } from 'tap'
import { isObject, type JsonObject } from '../../../src/core/json.ts'
import { chatClient } from '../../../src/dialects/chat/index.ts'
import { every } from '../../support/every.ts'
import { fold } from '../../support/fold-events.ts'
import {
  buildFinal,
  byteChunks,
  context,
  decode,
  decodeWhole,
  pass,
  pieces,
  type Relayed,
  recorded,
  recordedReply,
  STREAMS,
  throughPass,
  throughTranslate,
  utterance,
  WHOLE,
  withLineEnds,
} from './rig.ts'

const LANES: [string, (chunks: readonly Buffer[]) => Relayed][] = [
  ['pass', throughPass],
  ['translate', throughTranslate],
]
const BROKEN: Record<string, string> = {
  cut: 'upstream_cut',
  'error-frame': 'upstream_error',
  'error-first': 'upstream_limited',
  'error-finish': 'upstream_error',
  garbled: 'upstream_garbled',
}
t.ok(STREAMS.length >= 20 && WHOLE.length >= 15, 'the fixtures are there')

t.test('a stream means the same wherever it is cut and however its lines end', async (t) => {
  await every(t, 'every name', async (t) => {
    for (const name of STREAMS) {
      const bytes = recorded(name)
      const upstream = utterance(fold(decode([bytes])))
      for (const lineEnd of ['\n', '\r\n', '\r']) {
        const same = withLineEnds(bytes, lineEnd)
        t.same(decode(pieces(same, 1)), decode([bytes]), `${name}: events byte by byte`)
        for (const [lane, through] of LANES) {
          t.same(utterance(fold(decode([through(pieces(same, 1)).bytes]))), upstream, `${name}: ${lane}, byte by byte`)
          t.same(utterance(fold(decode([through([same]).bytes]))), upstream, `${name}: ${lane}, at once`)
        }
      }
      const whole = throughPass([bytes])
      for (let at = 1; at < bytes.length; at++) {
        const cut = throughPass([bytes.subarray(0, at), bytes.subarray(at)])
        if (!cut.bytes.equals(whole.bytes)) t.fail(`${name}: pass differs when cut at byte ${at}`)
      }
    }
  })
})

t.test('a stream and a whole reply fold alike, in every lane', async (t) => {
  await every(t, 'every name', async (t) => {
    for (const name of WHOLE) {
      const streamed = utterance(fold(decode([recorded(name)])))
      t.same(utterance(decodeWhole(recordedReply(name))), streamed, `${name}: decoded`)
      const ctx = context()
      const passed = pass().result(recordedReply(name), ctx)
      t.same(utterance(decodeWhole(JSON.parse(passed.finish(buildFinal(passed))))), streamed, `${name}: pass`)
      const folded = decodeWhole(recordedReply(name))
      const text = chatClient.encodeResult(folded, ctx, buildFinal(folded))
      t.same(utterance(decodeWhole(JSON.parse(text))), streamed, `${name}: translate`)
      for (const reply of [passed.finish(buildFinal(passed)), text].map((each) => JSON.parse(each) as JsonObject)) {
        t.match(reply, { id: 'gen-abc-tag', object: 'chat.completion', model: 'acme/möbius', provider: 'Acme' }, `${name}: envelope`)
        t.type(reply.created, 'number')
        t.ok('system_fingerprint' in reply)
        t.match(reply.usage, { cost: 0.0000015, is_byok: false, cost_details: { upstream_inference_cost: 0.0000015 } })
        const [choice] = reply.choices as JsonObject[]
        t.ok(['stop', 'length', 'tool_calls', 'content_filter'].includes(choice.finish_reason as string))
        t.type(choice.native_finish_reason, 'string')
      }
    }
  })
})

t.test('every chunk to the client is ours', async (t) => {
  await every(t, 'every name', async (t) => {
    for (const name of STREAMS) {
      for (const [lane, through] of LANES) {
        const { bytes, facts } = through([recorded(name)])
        const chunks = byteChunks(bytes)
        const at = `${name}: ${lane}`
        t.equal(facts.fault?.code, BROKEN[name], `${at}: fault`)
        t.ok(
          chunks.every((chunk) => chunk.id === 'gen-abc-tag' && chunk.model === 'acme/möbius' && chunk.provider === 'Acme'),
          `${at}: envelope`,
        )
        t.equal(new Set(chunks.map((chunk) => chunk.created)).size, 1, `${at}: one created`)
        t.same(
          chunks.map((chunk) => 'usage' in chunk),
          chunks.map((_, i) => i === chunks.length - 1),
          `${at}: usage once, in the last chunk`,
        )
        const choices = chunks.flatMap((chunk) => chunk.choices as JsonObject[])
        const roles = choices.map((choice) => (choice.delta as JsonObject).role).filter((role) => role !== undefined)
        if (facts.fault === undefined || chunks.length > 1) t.equal((choices[0].delta as JsonObject).role, 'assistant', `${at}: role first`)
        if (lane === 'translate') t.ok(roles.length <= 1, `${at}: role once`)
        const finishes = choices.map((choice) => choice.finish_reason).filter((reason) => typeof reason === 'string')
        t.equal(finishes.length, 1, `${at}: one finish`)
        checkCalls(t, choices, at)
        if (facts.fault) {
          const error = chunks.at(-1)?.error as JsonObject
          t.equal(finishes[0], 'error')
          t.equal(error.code, facts.fault.status, `${at}: integer code`)
          t.match(error.metadata, { error_type: facts.fault.type })
          t.notMatch(bytes.toString(), /secret|sk-abc|org-123/, `${at}: the provider's words stay inside`)
        } else t.same(chunks.at(-1)?.choices, [], `${at}: the last chunk has no choices`)
      }
    }
  })
})

function checkCalls(t: Test, choices: JsonObject[], at: string): void {
  const seen = new Set<unknown>()
  for (const { delta } of choices) {
    for (const call of isObject(delta) && Array.isArray(delta.tool_calls) ? (delta.tool_calls as JsonObject[]) : []) {
      t.type(call.index, 'number', `${at}: index always`)
      const fn = call.function as JsonObject
      t.equal(call.id !== undefined && fn.name !== undefined, !seen.has(call.index), `${at}: id and name only first`)
      seen.add(call.index)
    }
  }
}

t.test('pass keeps the bytes of content frames but for the envelope', async (t) => {
  const frames = recorded('text').toString('utf8').split('\n\n').slice(1, 5)
  const out = throughPass([recorded('text')])
    .bytes.toString('utf8')
    .split('\n\n')
    .slice(1, 5)
  const expected = frames.map((frame) =>
    frame
      .replace('"chatcmpl-CkT1a"', '"gen-abc-tag"')
      .replace('"model":"gpt-x-2026-08-01"', '"model":"acme/möbius"')
      .replace('"fp_4a1b"', '"fp_4a1b","provider":"Acme"')
      .replace(',"usage":null}', '}'),
  )
  t.same(out, expected)
  const call = throughPass([recorded('tools-parallel')]).bytes.toString()
  t.match(call, '"provider":"Acme","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_B","type":"function"')
  const padded = throughPass([recorded('obfuscated')]).bytes.toString()
  for (const padding of ['xYz12', '"q"', 'abcdefghij']) t.match(padded, padding, 'fields that we do not know travel')
})

t.test('pass counts the words of a chunk that it has to write anew', async (t) => {
  const chunk = (delta: JsonObject, finish: string | null) =>
    Buffer.from(
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
    )
  const stream = pass().stream(context())
  stream.feed(chunk({ role: 'assistant', content: 'many words first' }, null))
  stream.feed(chunk({ content: 'then' }, null))
  stream.feed(chunk({ content: 'few', refusal: null }, 'stop'))
  t.equal(stream.relayed, 'many words firstthenfew'.length)
})

t.test('pass commits with the first content, holding the role till then', async (t) => {
  const stream = pass().stream(context())
  const frames = recorded('text').toString('latin1').split('\n\n')
  t.equal(stream.feed(Buffer.from(`${frames[0]}\n\n`, 'latin1')), '')
  t.equal(stream.committed, false)
  const first = stream.feed(Buffer.from(`${frames[1]}\n\n`, 'latin1'))
  t.equal(first.split('\n\n').length, 3, 'role and content come together')
  t.equal(stream.committed, true)
  t.equal(stream.relayed, Buffer.byteLength('Grüße'), 'only the words count')
  const failing = pass().stream(context())
  t.equal(failing.feed(recorded('error-first')), '')
  t.equal(failing.committed, false)
  t.equal(failing.fault?.code, 'upstream_limited')
})

t.test('a stream without anything is empty, one that was only opened is cut', async (t) => {
  const cases: [string, string][] = [
    ['', 'upstream_empty'],
    [': hello\n\n', 'upstream_empty'],
    ['data: {"id":"a","choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\n', 'upstream_cut'],
    ['data: 5\n\n', 'upstream_garbled'],
    ['data: [DONE]\n\n', 'upstream_empty'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [text, code] of cases) {
      t.equal(throughPass([Buffer.from(text)]).facts.fault?.code, code, `pass: ${JSON.stringify(text)}`)
      t.equal(fold(decode([Buffer.from(text)])).fault?.code, code, `decoded: ${JSON.stringify(text)}`)
    }
  })
})

t.test('what comes in the finish chunk is not lost', async (t) => {
  const only = (delta: object): Buffer =>
    Buffer.from(
      `data: ${JSON.stringify({ id: 'u', created: 3, model: 'm', choices: [{ index: 0, delta, finish_reason: 'stop', content_filter_results: { a: 1 } }] })}\n\n`,
    )
  const content = byteChunks(throughPass([only({ role: 'assistant', content: 'All at once' })]).bytes)
  t.same((content[0].choices as JsonObject[])[0].delta, { role: 'assistant', content: 'All at once' })
  t.equal((content[0].choices as JsonObject[])[0].finish_reason, null)
  t.equal(content.length, 3)
  const empty = byteChunks(throughPass([only({})]).bytes)
  t.match((empty[0].choices as JsonObject[])[0], { delta: { role: 'assistant' }, finish_reason: 'stop', content_filter_results: { a: 1 } })
})

t.test('members of the chunks that the gateway writes itself come with the last one', async (t) => {
  const chunk = (fields: object): string => `data: ${JSON.stringify({ id: 'u', created: 3, model: 'm', ...fields })}\n\n`
  const finish = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], system_fingerprint: 'late', obfuscation: 'x' }
  const filtered = { choices: [], prompt_filter_results: [{ prompt_index: 0 }] }
  const words = { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }], system_fingerprint: null }
  const moderated = { choices: [], moderation: { input: 'é' }, usage: { prompt_tokens: 1, completion_tokens: 1 } }
  const chunks = byteChunks(throughPass([Buffer.from([filtered, words, finish, moderated].map(chunk).join(''))]).bytes)
  const { usage, ...last } = chunks.at(-1) ?? {}
  t.ok(usage, 'with the usage of the gateway')
  t.match(last, { choices: [], prompt_filter_results: [{ prompt_index: 0 }], moderation: { input: 'é' }, system_fingerprint: 'late' })
  t.notOk('obfuscation' in last)
})

t.test('thoughts among the parts of content are reasoning, wherever they come', async (t) => {
  const chunk = (content: unknown): string =>
    `data: ${JSON.stringify({ id: 'u', created: 3, model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`
  const thought = (text: string, more: object[] = []): unknown => [{ type: 'thinking', thinking: [{ type: 'text', text }] }, ...more]
  const frames = [chunk(thought('Hm')), chunk('a'), chunk('b'), chunk('c'), chunk(thought('So', [{ type: 'text', text: 'd' }]))]
  const stream = pass().stream(context())
  const out = frames.map((frame) => stream.feed(Buffer.from(frame))).join('')
  const deltas = out.split('\n\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line.slice(6)).choices[0].delta as JsonObject]))
  t.equal(deltas.map(({ content }) => content).join(''), 'abcd')
  t.equal(deltas.map(({ reasoning }) => reasoning ?? '').join(''), 'HmSo')
})

t.test('a provider that changes its envelope on the way still gets ours', async (t) => {
  const frame = (created: number, content: string): string =>
    `data: ${JSON.stringify({ id: `x${created}`, object: 'chat.completion.chunk', created, model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`
  const text = [1, 1, 2, 2, 3, 3].map((created, i) => frame(created, String(i)))
  const stream = pass().stream(context())
  const out = text.map((each) => stream.feed(Buffer.from(each))).join('') + stream.feed(Buffer.from(text.join('')))
  t.equal(out.match(/"id":"gen-abc-tag"/g)?.length, 12)
  t.notMatch(out, /"id":"x/)
  t.match(out, /"content":"5"/)
})
