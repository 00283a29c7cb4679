/** POST /v1/completions: the legacy form, in front of every provider format. */
import OpenAI from 'openai'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { bodyText } from '../../support/body-text.ts'
import { every } from '../../support/every.ts'
import { object, parseFrames, parseStream } from '../../support/fold.ts'
import { startScene } from '../../support/scene.ts'
import type { Script } from '../../support/upstream.ts'
import { framesFor, says, type Utterance, upstreamError } from '../../support/wire.ts'

const DIALECTS = { 'openai-chat': '/v1', 'openai-responses': '/v1', anthropic: '', gemini: '/v1beta' } as const
const UTTERANCES: Utterance = { reasoning: ['Hm.'], text: ['Once ', 'upon ', 'a “time”'], usage: { input: 11, output: 7 } }
const TEXT = 'Once upon a “time”'

let script: Script = says(UTTERANCES)
const { gateway, upstream } = await startScene(t, {
  answer: (seen, index) => script(seen, index),
  config: (url) => `
providers:
${Object.entries(DIALECTS)
  .map(([id, base]) => `  ${id}: { dialect: ${id}, base_url: "${url}${base}", key: sk-up }`)
  .join('\n')}
models:
${Object.keys(DIALECTS)
  .map(
    (id) => `  m/${id}: { context: 128000, endpoints: [ { provider: ${id}, model: m, price: { prompt: "1.00", completion: "2.00" } } ] }`,
  )
  .join('\n')}
presets: { brief: { system_prompt: "Be brief.", parameters: { temperature: 0.5 } } }
`,
})

const PATH = '/v1/completions'
const ask = (more: JsonObject, headers?: Record<string, string>): Promise<Response> =>
  gateway.post(PATH, { model: 'm/openai-chat', prompt: 'Tell a story.', ...more }, headers)
const chunkChoices = (chunk: JsonObject): JsonObject[] => (Array.isArray(chunk.choices) ? (chunk.choices as JsonObject[]) : [])

t.test('a whole reply has the legacy form', async (t) => {
  await every(t, 'every provider', async (t) => {
    for (const id of Object.keys(DIALECTS))
      for (const prompt of ['Tell a story.', ['Tell a story.']]) {
        script = says(UTTERANCES)
        const response = await ask({ model: `m/${id}`, prompt, max_tokens: 50, stop: 'END', echo: false, n: 1, best_of: 1, suffix: null })
        const reply = (await response.json()) as JsonObject
        t.equal(response.status, 200, id)
        t.match(reply, { id: /^gen-/, object: 'text_completion', created: Number, model: `m/${id}` }, id)
        t.same(reply.choices, [{ text: TEXT, index: 0, logprobs: null, finish_reason: 'stop' }], id)
        t.match(reply.usage, { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18, cost: Number }, id)
        t.equal(response.headers.get('x-request-id'), reply.id)
        const sent = JSON.stringify(upstream.requests.at(-1)?.json)
        t.match(sent, /"role":"user"/)
        t.match(sent, /Tell a story\./)
        t.notMatch(sent, /"(echo|best_of|suffix|prompt)"/, 'nothing of the legacy form reaches a provider')
      }
  })
})

t.test('a streamed reply has the legacy form', async (t) => {
  await every(t, 'every provider', async (t) => {
    for (const id of Object.keys(DIALECTS))
      for (const apart of [false, true]) {
        script = says(UTTERANCES)
        const stream_options = apart ? { include_usage: true } : null
        const text = await bodyText(await ask({ model: `m/${id}`, stream: true, stream_options }))
        t.same(parseFrames(text).at(-1), { event: undefined, data: '[DONE]' })
        const chunks = parseStream(text)
        t.equal(chunks.flatMap((chunk) => chunkChoices(chunk).map((choice) => choice.text)).join(''), TEXT, id)
        t.ok(chunks.every((chunk) => chunk.object === 'text_completion' && chunk.model === `m/${id}`))
        t.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1)
        const ends = chunks.flatMap((chunk) => chunkChoices(chunk).map((choice) => choice.finish_reason))
        t.same([ends.at(-1), ends.slice(0, -1).every((end) => end === null)], ['stop', true])
        t.match(chunks.at(-1)?.usage, { prompt_tokens: 11, completion_tokens: 7 }, id)
        t.equal(
          chunks.filter((chunk) => chunkChoices(chunk).length === 0).length,
          apart ? 1 : 0,
          'a chunk without a choice on request alone',
        )
      }
  })
})

t.test('echo puts the prompt in front, behind a preset as well', async (t) => {
  script = says(UTTERANCES)
  const whole = (await (await ask({ echo: true })).json()) as JsonObject
  t.equal(chunkChoices(whole)[0]?.text, `Tell a story.${TEXT}`)
  const chunks = parseStream(await bodyText(await ask({ echo: true, stream: true, preset: 'brief' })))
  t.equal(chunks.flatMap((chunk) => chunkChoices(chunk).map((choice) => choice.text)).join(''), `Tell a story.${TEXT}`)
  t.match(upstream.requests.at(-1)?.json, {
    temperature: 0.5,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Tell a story.' },
    ],
  })
})

t.test('refuses fields that the legacy form cannot express, by name', async (t) => {
  const before = upstream.requests.length
  const cases: readonly (readonly [string, JsonObject])[] = [
    ['prompt', { prompt: ['one', 'two'] }],
    ['prompt', { prompt: [1, 2, 3] }],
    ['prompt', { prompt: [[1, 2], [3]] }],
    ['prompt', { prompt: '' }],
    ['prompt', { prompt: [] }],
    ['prompt', { prompt: null }],
    ['prompt', { prompt: { id: 'x' } }],
    ['suffix', { suffix: 'the end' }],
    ['best_of', { best_of: 3 }],
    ['n', { n: 2 }],
    ['logprobs', { logprobs: 0 }],
    ['echo', { echo: 'yes' }],
    ['messages', { messages: [{ role: 'user', content: 'Hi' }] }],
    ['tools', { tools: [{ type: 'function', function: { name: 'f' } }] }],
    ['temperature', { temperature: 'hot' }],
  ]
  await every(t, 'every field', async (t) => {
    for (const [field, more] of cases) {
      const response = await ask(more)
      const { error } = (await response.json()) as { error: JsonObject }
      t.equal(response.status, 400, field)
      t.match(error, { param: field, type: 'invalid_request_error' }, JSON.stringify(more))
      t.ok(String(error.message).startsWith(`${field}: `), String(error.message))
    }
  })
  t.equal(upstream.requests.length, before, 'no provider is called')
  t.equal((await gateway.get(PATH)).status, 405)
})

t.test('errors, cut replies and content filters', async (t) => {
  script = says({ ...UTTERANCES, end: 'length' })
  t.match(await (await ask({})).json(), { choices: [{ finish_reason: 'length' }] })
  script = says({ refusal: ['I cannot.'] })
  t.match(await (await ask({})).json(), { choices: [{ text: 'I cannot.' }] })
  script = () => upstreamError(500)
  const failed = await ask({ stream: true })
  t.equal(failed.status, 502, 'before content it is a status')
  t.match(await failed.json(), { error: { code: 502, type: 'server_error' } })
  script = (seen) => ({
    headers: { 'content-type': 'text/event-stream' },
    body: framesFor(seen.path, UTTERANCES).slice(0, 3),
    after: 'close',
  })
  const chunks = parseStream(await bodyText(await ask({ stream: true })))
  const last = object(chunks.at(-1) as JsonObject)
  t.match(last, { object: 'text_completion', choices: [{ text: '', finish_reason: 'error' }], error: { code: 502 } })
})

t.test('the SDK of OpenAI reads both', async (t) => {
  script = says(UTTERANCES)
  const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  const reply = await openai.completions.create({ model: 'm/anthropic', prompt: 'Tell a story.', max_tokens: 50 })
  t.equal(reply.choices[0]?.text, TEXT)
  let text = ''
  for await (const chunk of await openai.completions.create({ model: 'm/anthropic', prompt: 'Tell a story.', stream: true }))
    text += chunk.choices[0]?.text
  t.equal(text, TEXT)
  const generation = (await (await gateway.get(`/v1/generation?id=${reply.id}`)).json()) as { data: JsonObject }
  t.match(generation.data, { id: reply.id, model: 'm/anthropic', tokens_prompt: 11, tokens_completion: 7 })
})
