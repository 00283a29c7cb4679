/**
 * Prompts near the end of a context: a server that counts tokens is called once, before the request, and its figure decides how much output
 * there is room for and whether the request fits; what fails to count leaves the estimate, and what is far from the end is never counted.
 */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { eventually } from '../../support/eventually.ts'
import { object } from '../../support/fold.ts'
import type { Client } from '../../support/providers.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer, type Seen } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const CONTEXT = 1000
/** 5,400 letters: an estimate of 1,800 tokens at 3 letters each; a tokenizer of English makes about half of it. */
const LONG = 'hello world '.repeat(450)
const isCount = ({ path }: Seen): boolean => /tokenize|input_tokens|count_tokens/.test(path)

interface Counter {
  readonly name: string
  readonly dialect: string
  readonly quirks?: string
  readonly path: string
  readonly reply: (tokens: number) => JsonObject
}

const COUNTERS: readonly Counter[] = [
  {
    name: 'vLLM',
    dialect: 'openai-chat',
    quirks: 'count_tokens: tokenize',
    path: '/tokenize',
    reply: (count) => ({ count, max_model_len: CONTEXT, tokens: Array.from({ length: count }, (_, at) => at), token_strs: null }),
  },
  {
    name: 'llama.cpp',
    dialect: 'openai-chat',
    quirks: 'count_tokens: input_tokens',
    path: '/v1/chat/completions/input_tokens',
    reply: (count) => ({ object: 'response.input_tokens', input_tokens: count }),
  },
  {
    name: 'a server of Responses',
    dialect: 'openai-responses',
    path: '/v1/responses/input_tokens',
    reply: (count) => ({ object: 'response.input_tokens', input_tokens: count }),
  },
]

interface Place extends Scene {
  readonly counts: () => Seen[]
  readonly answers: () => Seen[]
}

type Counted = number | (() => Answer | Promise<Answer>)

async function place(t: Test, { dialect, quirks = '', reply }: Counter, counted: Counted, context = CONTEXT): Promise<Place> {
  const scene = await startScene(t, {
    dialect,
    endpoint: `context: ${context}`,
    provider: quirks && `quirks: { ${quirks} }`,
    answer: (seen) => {
      if (!isCount(seen)) return answerFor(seen, { text: ['fine'], usage: { input: 5, output: 1 } })
      return typeof counted === 'number' ? jsonAnswer(reply(counted)) : counted()
    },
  })
  const { requests } = scene.upstream
  return { ...scene, counts: () => requests.filter(isCount), answers: () => requests.filter((seen) => !isCount(seen)) }
}

const CAPPED: readonly Client[] = ['chat', 'responses', 'messages']
const long = (client: Client, cap: number, text = LONG): JsonObject => {
  if (client === 'responses') return { input: text, max_output_tokens: cap }
  return { messages: [{ role: 'user', content: text }], max_tokens: cap }
}
const capSent = ({ answers }: Place): unknown => {
  const { max_tokens, max_completion_tokens, max_output_tokens } = answers().at(-1)?.json ?? {}
  return max_tokens ?? max_completion_tokens ?? max_output_tokens
}

for (const counter of COUNTERS)
  t.test(`the counter of ${counter.name} decides near the end of its context`, async (t) => {
    const fitting = await place(t, counter, 700)
    for (const client of CAPPED) {
      const before = fitting.counts().length
      t.equal((await fitting.ask(long(client, 500), client)).status, 200, client)
      t.equal(fitting.counts().length, before + 1, `${client}: one count`)
      t.equal(fitting.counts().at(-1)?.path, counter.path)
      t.equal(capSent(fitting), 300, `${client}: the cap is what the count leaves`)
      t.equal((await fitting.ask(long(client, 200), client)).status, 200, client)
      t.equal(capSent(fitting), 200, `${client}: a cap that fits stays`)
    }
    const full = await place(t, counter, 1100)
    for (const client of CAPPED) {
      const refused = await full.ask(long(client, 10), client)
      t.equal(refused.status, 400, client)
      t.match(JSON.stringify(await refused.json()), /context|too long/)
      t.equal(full.answers().length, 0, `${client}: what does not fit is not sent`)
    }
    const near = await place(t, counter, 1010)
    t.equal((await near.ask(long('chat', 10))).status, 200, 'a count that is hardly too high: the provider decides')
    t.equal(near.answers().length, 1)
  })

const [VLLM] = COUNTERS as readonly [Counter]

t.test('no count is made where it would change nothing', async (t) => {
  const scene = await place(t, VLLM, 700)
  t.equal((await scene.ask({ max_tokens: 32_000 })).status, 200, 'a short prompt with a cap above the context')
  t.equal((await scene.ask(long('chat', 10, 'hello '.repeat(100)))).status, 200, 'what surely fits')
  t.equal((await scene.gateway.post('/v1/plan', { model: 'acme/one', ...long('chat', 500) })).status, 200, 'a plan')
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
  const pictured = { messages: [{ role: 'user', content: [image, { type: 'text', text: LONG }] }], max_tokens: 500 }
  await (await scene.ask(pictured)).text()
  t.equal(scene.counts().length, 0)
})

t.test('a cap that may not be lowered is counted for however short the prompt is', async (t) => {
  const scene = await place(t, VLLM, 100)
  const strict = { ...long('chat', 900, 'hello '.repeat(100)), provider: { require_parameters: true } }
  t.equal((await scene.ask(strict)).status, 200)
  t.equal(scene.counts().length, 1)
  t.equal(capSent(scene), 900)
})

t.test('the template of vLLM is counted with tools and what the caller sets of it', async (t) => {
  const scene = await place(t, { ...VLLM, quirks: 'count_tokens: tokenize, thinking_off: chat_template_kwargs' }, 700)
  const tool = { type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: {} } } }
  t.equal((await scene.ask({ ...long('chat', 500), tools: [tool], reasoning_effort: 'none', temperature: 0 })).status, 200)
  const [seen] = scene.counts()
  t.match(seen?.json, { model: 'm', messages: [{ role: 'user', content: LONG }], tools: [{ function: { name: 'get_weather' } }] })
  t.equal(object(seen?.json.chat_template_kwargs).enable_thinking, false)
  t.same([seen?.json.max_tokens, seen?.json.temperature, seen?.json.stream], [undefined, undefined, undefined])
  // The operation stands beside `/v1`, and the count of callers of Messages comes from it, too.
  const counted = await scene.ask({ max_tokens: undefined, messages: [{ role: 'user', content: 'hello' }] }, 'messages')
  await counted.text()
  const response = await scene.gateway.post('/v1/messages/count_tokens', {
    model: 'acme/one',
    messages: [{ role: 'user', content: 'hello' }],
  })
  t.match(await response.json(), { input_tokens: 700 })
})

t.test('a reply with a long list of tokens is read', async (t) => {
  const scene = await place(t, VLLM, 127_000, 130_000)
  t.equal((await scene.ask(long('chat', 32_000, 'hello world '.repeat(40_000)))).status, 200)
  t.equal(capSent(scene), 3000)
})

t.test('a counter that fails leaves the estimate, and is called again after a minute', async (t) => {
  for (const [what, answer] of [
    ['is not there', () => jsonAnswer({ detail: 'Not Found' }, 404)],
    ['fails', () => jsonAnswer({ error: { message: 'busy' } }, 503)],
    ['returns no count', () => jsonAnswer({ fine: true })],
  ] as const) {
    const scene = await place(t, VLLM, answer)
    for (let round = 0; round < 3; round++) t.equal((await scene.ask(long('chat', 500))).status, 200, `${what}: served`)
    t.equal(scene.counts().length, 1, `${what}: one call`)
    t.equal(capSent(scene), 63, `${what}: a sixteenth of the context`)
    await scene.clock.advance(61_000)
    t.equal((await scene.ask(long('chat', 500))).status, 200)
    t.equal(scene.counts().length, 2, `${what}: called again`)
  }
})

t.test('a request that the counter refuses says nothing of the counter', async (t) => {
  const scene = await place(t, VLLM, () => jsonAnswer({ error: { message: 'no', type: 'BadRequestError', code: 400 } }, 400))
  for (let round = 0; round < 2; round++) t.equal((await scene.ask(long('chat', 500))).status, 200)
  t.equal(scene.counts().length, 2)
})

t.test('a counter that does not answer is waited for two seconds at most', async (t) => {
  const scene = await place(t, VLLM, () => new Promise<Answer>(() => {}))
  const asked = scene.ask(long('chat', 500))
  await eventually('the count is under way', () => scene.counts().length === 1)
  t.equal(scene.answers().length, 0, 'it is waited for')
  await scene.clock.advance(2_100)
  t.equal((await asked).status, 200)
})

t.test('a caller that leaves ends the count', async (t) => {
  const scene = await place(t, VLLM, () => new Promise<Answer>(() => {}))
  const leaving = new AbortController()
  const asked = fetch(`${scene.gateway.url}/v1/chat/completions`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { authorization: `Bearer ${scene.gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/one', ...long('chat', 500) }),
  })
  await eventually('the count is under way', () => scene.counts().length === 1)
  leaving.abort()
  await t.rejects(asked)
  await eventually('the count is ended', async () => {
    // The gateway probes a connection that has only been closed halfway.
    await scene.clock.advance(20)
    return scene.counts().every(({ aborted }) => aborted)
  })
  t.equal(scene.answers().length, 0)
})

t.test('the count of one model says nothing of another', async (t) => {
  const provider = (name: string, url: string): string =>
    `  ${name}: { dialect: openai-chat, base_url: "${url}/${name}/v1", quirks: { count_tokens: tokenize } }`
  const scene = await startScene(t, {
    config: (url) => `
providers:
${provider('first', url)}
${provider('second', url)}
models:
  acme/one:
    context: 10000
    endpoints: [ { provider: first, model: m, price: free }, { provider: second, model: m, price: free } ]
  acme/two:
    context: 10000
    endpoints: [ { provider: second, model: n, price: free } ]
`,
    answer: (seen) => (isCount(seen) ? jsonAnswer(VLLM.reply(20_000)) : answerFor(seen, { text: ['fine'] })),
  })
  const { requests } = scene.upstream
  const response = await scene.ask({ ...long('chat', 10, 'hello world '.repeat(4500)), models: ['acme/one', 'acme/two'] })
  t.equal(response.status, 200)
  t.match(await response.json(), { model: /two/ }, 'the second model may have room')
  t.same(
    requests.map(({ path }) => path),
    ['/first/tokenize', '/second/v1/chat/completions'],
    'both servers of the first model count alike, and one was called',
  )
})
