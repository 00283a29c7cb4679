/** Stop sequences towards providers that do not take them: the gateway cuts the answer, in streams as in whole replies. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { StopCutter } from '../../../src/pipeline/reply/stop-cutter.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { list, object } from '../../support/fold.ts'
import { CLIENTS, type Client } from '../../support/matrix/clients.ts'
import { startScene } from '../../support/scene.ts'
import { sseAnswer } from '../../support/upstream.ts'
import { says, USAGE, type Utterance, WIRES } from '../../support/wire.ts'

const price = 'price: { prompt: "1.00", completion: "2.00" }'
// OpenAI's Responses API has no field for them; its reasoning models refuse `stop` in Chat Completions
// (github.com/BittnerPierre/AI-Agent-Casebook/issues/133), and so do xAI's.
const { gateway, upstream } = await startScene(t, {
  config: (url) => `
providers:
  responses: { dialect: openai-responses, base_url: "${url}/v1", key: sk-up }
  chat: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up }
  drops: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up, quirks: { body: { drop: [ stop ] } } }
models:
  acme/responses: { endpoints: [ { provider: responses, model: up, ${price} } ] }
  acme/listed: { endpoints: [ { provider: chat, model: up, ${price}, supported_parameters: [ max_tokens ] } ] }
  acme/drops: { endpoints: [ { provider: drops, model: up, ${price} } ] }
  acme/takes: { endpoints: [ { provider: chat, model: up, ${price} } ] }
`,
})

const MODELS = ['acme/responses', 'acme/listed', 'acme/drops']
// A Responses caller has no field for stop sequences.
const WAYS = CLIENTS.filter(({ id }) => id !== 'responses').flatMap((client) => [false, true].map((stream) => ({ client, stream })))

interface Got {
  text: string
  end: unknown
  sequence: unknown
  cost: number
  attempts: JsonObject[]
}

async function ask(
  { client, stream }: { client: Client; stream: boolean },
  model: string,
  utterance: Utterance,
  stop: string[],
  more = {},
): Promise<Got> {
  upstream.script = says(utterance)
  const body = { ...client.write({ turns: [{ user: [{ text: 'Hello' }] }], stop, cap: 500 }), model, stream, ...more }
  const response = await gateway.post(client.path, body)
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${response.status} ${text}`)
  const reply = stream ? client.foldStream(text) : client.fold(JSON.parse(text) as JsonObject)
  const found = await gateway.get(`/v1/generation?id=${response.headers.get('x-generation-id')}`)
  const generation = object(((await found.json()) as JsonObject).data)
  const sequence = /"stop_sequence":"([^"]*)"/.exec(text)?.[1]
  return {
    text: reply.text,
    end: reply.end,
    sequence,
    cost: Number(generation.total_cost),
    attempts: list(generation.provider_responses),
  }
}

t.test('the answer ends in front of the first sequence, wherever the provider cuts its pieces', async (t) => {
  const whole = 'Thought: look it up\nObservation: rain\nEND'
  const cuts = [
    [whole],
    [...whole],
    ['Thought: look it up\nObs', 'ervation', ': rain\nEND'],
    ['Thought: look it up', '\n', 'Observation: rain\nEND'],
  ]
  for (const model of MODELS)
    for (const way of WAYS)
      await every(t, `${way.client.id} → ${model}${way.stream ? ', streamed' : ''}`, async (t) => {
        for (const text of cuts) {
          const got = await ask(way, model, { text }, ['END', '\nObservation:'])
          t.equal(got.text, 'Thought: look it up')
          t.equal(got.end, way.client.id === 'messages' ? 'stop_sequence' : 'stop')
          if (way.client.id === 'messages') t.equal(got.sequence, '\\nObservation:', 'the sequence is reported')
          t.ok(got.cost > 0, 'charged as completed')
          t.same(
            got.attempts.map(({ status, dropped }) => [status, dropped]),
            [[200, undefined]],
            'nothing is lost',
          )
        }
        t.notMatch(upstream.requests.at(-1)?.body, /"stop"|stop_sequences/)
      })
})

t.test('returns text that only begins like a stop sequence', async (t) => {
  for (const way of WAYS)
    await every(t, `${way.client.id}${way.stream ? ', streamed' : ''}`, async (t) => {
      for (const text of [['\nObs', 'cure'], ['a\nObservation'], ['EN', 'EN', 'D'.toLowerCase()], ['x', '']]) {
        const got = await ask(way, 'acme/responses', { text }, ['END', '\nObservation:'])
        t.equal(got.text, text.join(''))
        t.equal(got.end, way.client.ends.stop)
      }
    })
})

t.test('calls behind a sequence do not come, calls in front of it do', async (t) => {
  const calls = [{ id: 'call_1', name: 'f', args: ['{}'] }]
  for (const way of WAYS)
    await every(t, `${way.client.id}${way.stream ? ', streamed' : ''}`, async (t) => {
      const got = await ask(way, 'acme/responses', { text: ['one END two'], calls }, ['END'])
      t.equal(got.text, 'one ')
      t.equal(got.end, way.client.id === 'messages' ? 'stop_sequence' : 'stop')
    })
})

t.test('reasoning is not cut', async (t) => {
  const [way] = WAYS
  const got = await ask(way, 'acme/responses', { reasoning: ['END of it'], text: ['fine'] }, ['END'])
  t.equal(got.text, 'fine')
})

t.test('a whole reply is charged by the reported usage', async (t) => {
  const [way] = WAYS
  const got = await ask(way, 'acme/responses', { text: ['one END two'], usage: USAGE }, ['END'])
  t.equal(got.cost, (USAGE.input * 1 + USAGE.output * 2) / 1e6)
})

t.test('a stream ends at once, and the provider is left', async (t) => {
  const frames = WIRES['openai-responses'].frames({ text: ['one END', ' two'] })
  const upTo = frames.findIndex((frame) => frame.includes('one END')) + 1
  upstream.script = () => ({ ...sseAnswer(frames.slice(0, upTo)), after: 'stall' })
  const at = upstream.requests.length
  const chat = CLIENTS[0]
  const body = { ...chat.write({ turns: [{ user: [{ text: 'Hello' }] }], stop: ['END'] }), model: 'acme/responses', stream: true }
  const text = await (await gateway.post(chat.path, body)).text()
  t.equal(chat.foldStream(text).text, 'one ')
  t.match(text, /data: \[DONE\]/)
  const seen = await upstream.request(at)
  t.ok(await eventually('the provider is left', () => seen.aborted))
})

t.test('an endpoint that takes them gets them', async (t) => {
  const [way] = WAYS
  const got = await ask(way, 'acme/takes', { text: ['one END two'] }, ['END'])
  t.equal(got.text, 'one END two', 'what the provider sends is not looked at')
  t.match(upstream.requests.at(-1)?.json, { stop: ['END'] })
})

t.test('require_parameters keeps endpoints whose answers are cut here', async (t) => {
  for (const model of MODELS)
    t.equal((await ask(WAYS[0], model, { text: ['one END two'] }, ['END'], { provider: { require_parameters: true } })).text, 'one ', model)
})

t.test('the window is no longer than what may still come', (t) => {
  const cutter = new StopCutter(['abc', 'bcd'])
  const text = (piece: string): string =>
    cutter
      .push([{ type: 'block-delta', block: 0, text: piece }])
      .map((event) => (event.type === 'block-delta' ? event.text : event.type))
      .join('|')
  cutter.push([{ type: 'block-start', block: 0, kind: 'text' }])
  t.equal(text('xa'), 'x')
  t.equal(text('b'), '')
  t.equal(text('x'), 'abx')
  t.equal(text('ab'), '')
  t.equal(text('cd'), 'block-end|end', 'the sequence that begins first')
  t.equal(cutter.met, true)
  t.end()
})
