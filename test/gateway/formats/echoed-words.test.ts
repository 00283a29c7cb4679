/**
 * Words of the caller's own that a provider repeats in its error, as validators and downloads of real servers do. Whatever of the table of
 * provider errors they spell, they move no other key, take no key out of a pool, raise no alarm, and a repeated text is not sent to dearer
 * endpoints.
 */
import t, { type Test } from 'tap'
import { FAULTS } from '../../../src/core/faults.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { ROWS } from '../../../src/dialects/faults/rows.ts'
import { ADMIN_TOKEN } from '../../support/admin.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { PATHS, questionFor } from '../../support/providers.ts'
import { LONG, seed } from '../../support/seed.ts'
import { jsonAnswer, type Seen, startUpstream, type Upstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

t.setTimeout(280_000)

/** Words that make the table blame the account or the provider. */
const PHRASES: readonly string[] = [
  'country, region, or territory not supported',
  'Your credit balance is too low to access the API',
  'insufficient_quota',
  'insufficient funds',
  'your monthly included credits',
  'you have reached your usage limits',
  'spending limit reached',
  'billing hard limit',
  'the invoice is overdue',
  'This organization has been disabled',
  'your account is in good standing',
  'you do not have access to this model',
  'you are not authorized to perform this',
  'operation not allowed: no access to the model',
  'Incorrect API key provided',
  'API key not valid. Please pass a valid API key',
  'the token has expired and authentication failed',
  'your organization must be verified',
  'Model not found',
  'The provided model identifier is invalid',
  'model_not_found',
  'the engine is overloaded, no capacity',
  'tokens per minute',
  'rate_limit_exceeded',
  'does not support logits computation',
  'server busy, please try again.  maximum pending requests exceeded',
]

const KEYS = { bad: 'sk-router-v1-bad-0123456789abcdef01', good: 'sk-router-v1-good-0123456789abcdef0' }
type Key = keyof typeof KEYS

/** Forms in which real servers repeat what they were sent. */
const ECHOES: readonly [status: number, of: (words: string) => string][] = [
  // OpenAI
  [400, (words) => `Invalid value: '${words}'. Supported values are: 'low', 'medium', and 'high'.`],
  [400, (words) => `Error while downloading https://example.test/${encodeURIComponent(words)}.png. Upstream status code: 404.`],
  [400, (words) => `Invalid schema for function 'f': In context=('properties', '${words}'), schema must have a 'type' key.`],
  // vLLM: errors of pydantic with the whole input, as Python writes it
  [
    400,
    (words) => `[{'type': 'literal_error', 'loc': ('body', 'messages', 0, 'role'), 'msg': "Input should be 'user'", 'input': "${words}"}]`,
  ],
  // DeepSeek: errors of serde
  [422, (words) => `Failed to deserialize the JSON body into the target type: ${words}: unknown variant at line 1 column 7`],
  // transformers serve
  [422, (words) => `Unexpected fields in the request: {'${words}'}`],
  // llama.cpp, of the wheel xllamacpp 2026.10.11549
  [400, (words) => `Unable to generate parser for this template. JSON schema error at #: unrecognized type ${words}`],
  // in no quotes at all
  [400, (words) => `${words} is no value of this field`],
  [400, (words) => `No such value: ${words}`],
]

/** Texts of a caller: with ends of quotations, in the middle of a long text, and bare. */
const WRAPPED: readonly [isLong: boolean, of: (phrase: string) => string][] = [
  [false, (phrase) => phrase],
  [false, (phrase) => `x' ${phrase} '`],
  [true, (phrase) => `It's the customer's question: "why does the bank's page say ${phrase} when I open it?"`],
  [
    true,
    (phrase) => `${'A long text about the weather. '.repeat(20)}"${phrase}" ${'And more of it, with `signs\' of "all" kinds. '.repeat(10)}`,
  ],
]

interface Scene {
  readonly gateway: Gateway
  readonly cheap: Upstream
  readonly dear: Upstream
  server(key: Key, content: string, more?: JsonObject): Promise<string>
  /** Lines of level 50. */
  alarms(): string[]
}

async function scene(t: Test, dialect: string): Promise<Scene> {
  const clock = new FakeClock()
  const cheap = await startUpstream((seen) => answerFor(seen, { text: ['cheap'] }))
  const dear = await startUpstream((seen) => answerFor(seen, { text: ['dear'] }))
  const keys = Object.entries(KEYS).map(([name, key]) => `{ name: ${name}, key: "${key}" }`)
  const gateway = await startGateway(
    `auth: { keys: [ ${keys.join(', ')} ] }
providers:
  cheap: { dialect: ${dialect}, base_url: "${cheap.url}/v1", keys: [ { name: a, key: sk-one }, { name: b, key: sk-two } ] }
  dear: { dialect: openai-chat, base_url: "${dear.url}/v1" }
models:
  acme/one: { context: 1280000, endpoints: [ { provider: cheap, model: m, price: { prompt: "0.01", completion: "0.01" } }, { provider: dear, model: m, price: { prompt: "5.00", completion: "5.00" } } ] }
`,
    { clock },
  )
  t.teardown(() => Promise.all([gateway.close(), cheap.close(), dear.close()]))
  return {
    gateway,
    cheap,
    dear,
    server: async (key, content, more = {}) => {
      const body = { ...questionFor('chat', content), ...more }
      const reply = await gateway.post(PATHS.chat, body, { authorization: `Bearer ${KEYS[key]}` })
      const text = await reply.text()
      return reply.status === 200 ? (/"(cheap|dear)"/.exec(text)?.[1] ?? text) : `${reply.status}`
    },
    alarms: () => gateway.logs.filter((line) => (JSON.parse(line) as JsonObject).level === 50),
  }
}

const dialectError = (dialect: string, status: number, message: string) => {
  if (dialect === 'anthropic') return jsonAnswer({ type: 'error', error: { type: 'invalid_request_error', message } }, status)
  if (dialect === 'gemini') return jsonAnswer({ error: { code: status, message, status: 'INVALID_ARGUMENT' } }, status)
  return jsonAnswer(
    { error: { message, type: status === 500 ? 'server_error' : 'invalid_request_error', param: null, code: null } },
    status,
  )
}

t.test('every pattern of the fault table that does not blame the caller has a phrase in this test', async (t) => {
  await every(t, 'every row', (t) => {
    for (const { kind, sentence, text, status } of ROWS) {
      const pattern = sentence ?? text
      // What only comes with other statuses is no answer to what a request holds.
      if (FAULTS[kind].blame === 'caller' || !pattern || !(status ?? [400]).some((each) => [400, 413, 422, 500].includes(each))) continue
      t.ok(
        PHRASES.some((phrase) => pattern.test(phrase)),
        `${kind}: ${pattern.source.slice(0, 60)}`,
      )
    }
  })
})

for (const dialect of ['openai-chat', 'openai-responses', 'anthropic', 'gemini'])
  t.test(`${dialect}: a refusal that repeats words of one caller does not move other callers`, async (t) => {
    const chance = new FakeClock(seed() + dialect.length)
    const { cheap, dear, gateway, server, alarms } = await scene(t, dialect)
    t.equal(await server('good', 'Hello'), 'cheap')
    await every(t, 'every phrase, echo and wrapping', async (t) => {
      for (const phrase of PHRASES)
        for (const [status, echo] of ECHOES)
          for (const [isLong, wrapped] of WRAPPED) {
            // Other combinations on each wire; the long run has all.
            if (chance.random() > (LONG ? 1 : 0.05)) continue
            const words = wrapped(phrase)
            const sentence = echo(words)
            const what = `${phrase} / ${sentence.slice(0, 60)}`
            cheap.script = () => dialectError(dialect, status, sentence)
            const before = [cheap.requests.length, dear.requests.length]
            const outcome = await server('bad', words)
            const calls = [cheap.requests.length - before[0], dear.requests.length - before[1]]
            t.ok(calls[0] >= 1, `the cheap one is called: ${what}`)
            if (isLong) t.same([outcome, calls[1]], [String(status), 0], `a refusal that no other endpoint is called for: ${what}`)
            else t.ok([String(status), 'dear'].includes(outcome), `${outcome}: ${what}`)
            cheap.script = (seen) => answerFor(seen, { text: ['cheap'] })
            t.equal(await server('good', 'Hello'), 'cheap', `another key: ${what}`)
          }
    })
    t.equal(await server('bad', 'Hello'), 'cheap', 'the caller itself as well')
    t.same(alarms(), [], 'no alarm')
    const metrics = await (await fetch(`${gateway.admin}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })).text()
    t.notMatch(metrics, /^headgate_account_refusals_total\{/m)
    cheap.script = (seen) => answerFor(seen, { text: ['cheap'] })
    const first = cheap.requests.length
    for (let call = 0; call < 12; call++) await server('good', `Hello ${call}`)
    const used = new Set(cheap.requests.slice(first).map(({ headers }) => headerKey(headers)))
    t.same([...used].sort(), ['sk-one', 'sk-two'], 'both keys of the pool are in use')
  })

const headerKey = (headers: Seen['headers']): string =>
  String(headers.authorization ?? headers['x-api-key'] ?? headers['x-goog-api-key']).replace('Bearer ', '')

t.test('two keys with such words eject nothing', async (t) => {
  const { cheap, server } = await scene(t, 'openai-chat')
  const words = "x' insufficient_quota '"
  for (let times = 0; times < 8; times++)
    for (const key of ['bad', 'good'] as const) {
      cheap.script = () => dialectError('openai-chat', 400, `Invalid value: '${words}'.`)
      await server(key, words)
    }
  cheap.script = (seen) => answerFor(seen, { text: ['cheap'] })
  for (const key of ['bad', 'good'] as const) t.equal(await server(key, 'Hello'), 'cheap', key)
})

t.test('names of tools and fields of the caller’s count as its words', async (t) => {
  const { cheap, server, alarms } = await scene(t, 'openai-chat')
  const name = 'spending_limit_reached'
  cheap.script = () => dialectError('openai-chat', 400, `Function ${name.replaceAll('_', ' ')} has no parameters`)
  const tools = [{ type: 'function', function: { name, parameters: { type: 'object', properties: {} } } }]
  await server('bad', 'Hello', { tools })
  cheap.script = () => dialectError('openai-chat', 400, 'Unknown user: spending limit')
  await server('bad', 'Hello', { user: 'spending%20limit' })
  cheap.script = (seen) => answerFor(seen, { text: ['cheap'] })
  t.equal(await server('bad', 'Hello'), 'cheap')
  t.same(alarms(), [])
})

t.test('an account that is really out of credit is recognised, and left for another by a caller that writes about it', async (t) => {
  const { cheap, server, alarms } = await scene(t, 'anthropic')
  const sentence =
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.'
  cheap.script = () => dialectError('anthropic', 400, sentence)
  for (const content of [`Why do I read this?\n> ${sentence}`, 'What is my credit balance, please?'])
    t.equal(await server('bad', content), 'dear', 'served all the same')
  t.equal(alarms().length, 0)
  t.equal(await server('good', 'Hello'), 'dear')
  t.ok(alarms().length > 0, 'the operator hears of it from a request without such words')
})

t.test('an error inside a good reply that states 502 is no failed connection', async (t) => {
  const { cheap, server } = await scene(t, 'openai-chat')
  t.equal(await server('good', 'Hello'), 'cheap')
  cheap.script = () => jsonAnswer({ error: { code: 502, message: 'Provider returned error' } }, 200)
  t.equal(await server('bad', 'Hello'), 'dear')
  cheap.script = (seen) => answerFor(seen, { text: ['cheap'] })
  t.equal(await server('good', 'Hello'), 'cheap')
})
