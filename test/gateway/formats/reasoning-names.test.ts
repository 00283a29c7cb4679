/** Reasoning reaches chat callers as `reasoning` and `reasoning_details` in every lane, whatever the provider calls it. */
import t from 'tap'
import { request } from 'undici'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { list, object, parseStream } from '../../support/fold.ts'
import { KEY, oneModel, startGateway } from '../../support/gateway.ts'
import { type Answer, jsonAnswer, type Script, sseAnswer, startUpstream } from '../../support/upstream.ts'

const WORDS = ['Let ', 'me "think"', ' about\\it\n', 'é😀', '', 'done. ']
const LANES = ['pass', 'observe', 'translate'] as const

const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
  id: 'c-1',
  object: 'chat.completion.chunk',
  created: 7,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const spaced = (value: unknown): string =>
  JSON.stringify(value).replace(/"(?:[^"\\]|\\.)*"|[:,]/g, (token) => (token === ':' || token === ',' ? `${token} ` : token))
const escapedKey = (value: unknown): string => JSON.stringify(value).replaceAll('"reasoning', '"reason\\u0069ng')

const detail = (text: string): JsonObject => ({ type: 'reasoning.text', text, index: 0 })

/** Ways in which providers write a piece of reasoning. */
const DELTAS: Readonly<Record<string, (text: string) => JsonObject>> = {
  alone: (text) => ({ reasoning_content: text }),
  'beside no content': (text) => ({ content: null, reasoning_content: text }),
  'beside empty content': (text) => ({ content: '', reasoning_content: text }),
  'beside an empty name': (text) => ({ reasoning: null, reasoning_content: text }),
  'under both names': (text) => ({ reasoning: text, reasoning_content: text }),
  'as reasoning alone': (text) => ({ reasoning: text }),
  'as reasoning beside empty content': (text) => ({ content: '', reasoning: text }),
  'as reasoning beside an empty list': (text) => ({ reasoning: text, reasoning_details: [] }),
  'in details alone': (text) => ({ reasoning_details: [detail(text)] }),
  'in details beside an empty name': (text) => ({ reasoning: null, reasoning_details: [detail(text)] }),
  'in details beside reasoning_content': (text) => ({ reasoning_content: text, reasoning_details: [detail(text)] }),
  'in details as a summary': (text) => ({ reasoning_details: [{ type: 'reasoning.summary', summary: text, index: 0 }] }),
  'under the usual names': (text) => ({ reasoning: text, reasoning_details: [detail(text)] }),
  'under all names': (text) => ({ reasoning: text, reasoning_content: text, reasoning_details: [detail(text)] }),
}
const STYLES: Readonly<Record<string, (value: unknown) => string>> = { tight: JSON.stringify, spaced, 'with an escaped key': escapedKey }

function streamed(delta: (text: string) => JsonObject, write: (value: unknown) => string): Answer {
  const chunks = [
    chunk({ role: 'assistant', content: '' }),
    ...WORDS.map((text) => chunk(delta(text))),
    ...['All ', 'well.'].map((content) => chunk({ content, reasoning_content: null })),
    chunk({}, 'stop'),
    { ...chunk({}), choices: [], usage: { prompt_tokens: 3, completion_tokens: 9 } },
  ]
  return sseAnswer([...chunks.map((each) => `data: ${write(each)}\n\n`), 'data: [DONE]\n\n'])
}

function whole(delta: (text: string) => JsonObject, write: (value: unknown) => string): Answer {
  const message = { role: 'assistant', ...delta(WORDS.join('')), content: 'All well.' }
  const body = { id: 'c-1', object: 'chat.completion', created: 7, model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }] }
  return { ...jsonAnswer({}), body: [write({ ...body, usage: { prompt_tokens: 3, completion_tokens: 9 } })] }
}

/** Reasoning that the caller reads, from the pieces of a stream or from a message. */
function read(messages: readonly JsonObject[]): JsonObject {
  const joined = (field: string): string => messages.map((message) => (typeof message[field] === 'string' ? message[field] : '')).join('')
  const details = messages.flatMap((message) => list(message.reasoning_details))
  return {
    content: joined('content'),
    reasoning: joined('reasoning'),
    details: details.map(({ text, summary }) => text ?? summary).join(''),
    types: [...new Set(details.map(({ type, index }) => `${type} ${index}`))],
  }
}

t.test('reasoning is read as reasoning and reasoning_details', async (t) => {
  const upstream = await startUpstream(() => ({}))
  t.teardown(() => upstream.close())
  const expected = { content: 'All well.', reasoning: WORDS.join(''), details: WORDS.join(''), types: ['reasoning.text 0'] }
  await every(t, 'every lane', async (t) => {
    for (const lane of LANES) {
      const gateway = await startGateway(oneModel(upstream.url, 'openai-chat'), { lane })
      t.teardown(() => gateway.close())
      for (const [way, delta] of Object.entries(DELTAS))
        for (const [style, write] of Object.entries(STYLES))
          for (const stream of [true, false]) {
            const name = `${lane}, ${way}, ${style}, stream ${stream}`
            const script: Script = () => (stream ? streamed(delta, write) : whole(delta, write))
            upstream.script = script
            const body = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }], stream }
            const response = await gateway.post('/v1/chat/completions', body)
            const text = await response.text()
            t.equal(response.status, 200, name)
            const messages = stream
              ? parseStream(text).flatMap((event) => list(event.choices).map((choice) => object(choice.delta)))
              : list(object(JSON.parse(text)).choices).map((choice) => object(choice.message))
            t.same(read(messages), way.endsWith('summary') ? { ...expected, types: ['reasoning.summary 0'] } : expected, name)
            if (lane !== 'translate' && 'reasoning_content' in delta('')) {
              const own = messages
                .map((message) => (typeof message.reasoning_content === 'string' ? message.reasoning_content : ''))
                .join('')
              t.equal(own, expected.reasoning, `${name}: and its own name stays`)
            }
          }
    }
  })
})

t.test('a client on reqwest, whose types take both names for one member, reads one of them', async (t) => {
  const upstream = await startUpstream(() => ({}))
  t.teardown(() => upstream.close())
  await every(t, 'every lane', async (t) => {
    for (const lane of LANES) {
      const gateway = await startGateway(oneModel(upstream.url, 'openai-chat'), { lane })
      t.teardown(() => gateway.close())
      for (const [way, delta] of Object.entries(DELTAS))
        for (const [style, write] of Object.entries(STYLES))
          for (const stream of [true, false]) {
            const name = `${lane}, ${way}, ${style}, stream ${stream}`
            upstream.script = () => (stream ? streamed(delta, write) : whole(delta, write))
            const body = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }], stream })
            const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', accept: '*/*' }
            // It adds no User-Agent, as reqwest does not.
            const reply = await request(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body })
            const text = await reply.body.text()
            const messages = stream
              ? parseStream(text).flatMap((event) => list(event.choices).map((choice) => object(choice.delta)))
              : list(object(JSON.parse(text)).choices).map((choice) => object(choice.message))
            t.equal(read(messages).reasoning, WORDS.join(''), name)
            const twice = messages.filter((message) => 'reasoning' in message && 'reasoning_content' in message)
            t.same(twice, [], `${name}: no member twice`)
          }
    }
  })
})
