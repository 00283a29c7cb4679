/** Names of the limits that refuse requests, and the rest of a key's limits per minute, as clients read them. */
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { KEY } from '../../support/gateway.ts'
import { CLIENTS } from '../../support/providers.ts'
import { type SceneOptions, startScene } from '../../support/scene.ts'
import { Gate, sseAnswer } from '../../support/upstream.ts'
import { framesFor, says, upstreamError } from '../../support/wire.ts'

const says18 = says({ text: ['fine'], usage: { input: 11, output: 7 } })

/** A call of either model costs exactly a dollar. */
const dollarEach = (url: string): string => `
providers: { first: { dialect: openai-chat, base_url: "${url}/v1", key: "sk-provider-secret" } }
models:
  acme/one: { endpoints: [ { provider: first, model: one, price: { prompt: "0", completion: "0", request: "1.00" } } ] }
  acme/two: { endpoints: [ { provider: first, model: two, price: { prompt: "0", completion: "0", request: "1.00" } } ] }
`

function limited(t: Test, key: string, { yaml = '', config, ...options }: SceneOptions = {}) {
  const keys = `auth: { keys: [ { name: test, key: "${KEY}", ${key} } ] }\n${yaml}`
  return startScene(t, { answer: says18, ...options, yaml: keys, ...(config && { config: (url) => keys + config(url) }) })
}

interface Refusal {
  readonly message: string
  readonly limit: JsonObject | undefined
}

async function responseRefusal(response: Response): Promise<Refusal> {
  const body = (await response.json()) as { error: { message: string; metadata?: JsonObject }; metadata?: JsonObject }
  const { limit } = body.error.metadata ?? body.metadata ?? {}
  return { message: body.error.message, limit: limit as JsonObject | undefined }
}

t.test('429 names the key, which of its limits it was, its size, what is used, and when it opens', async (t) => {
  for (const client of CLIENTS) {
    const place = await limited(t, 'limits: { requests: 2 }')
    for (let i = 0; i < 2; i++) await (await place.ask({}, client)).text()
    const response = await place.ask({}, client)
    t.equal(response.status, 429)
    const { message, limit } = await responseRefusal(response)
    t.equal(message, 'Rate limit exceeded: 2 requests per minute for the key test', client)
    const resets = new Date(place.clock.now() + 30_000).toISOString()
    t.same(limit, { scope: 'key', name: 'test', kind: 'requests', per: 'minute', limit: 2, used: 2, remaining: 0, resets_at: resets })
  }
  const place = await limited(t, 'limits: { tokens: 100 }')
  const { limit } = await responseRefusal(await place.ask({ max_tokens: 1000 }))
  t.same(limit, { scope: 'key', name: 'test', kind: 'tokens', per: 'minute', limit: 100, resets_at: null }, 'one that never fits')
})

t.test('402 names the limit of the key with its window, and 403 the budget of a guardrail', async (t) => {
  const poor = await limited(t, 'limit: "1.50", limit_reset: monthly', { config: dollarEach })
  t.equal((await poor.ask()).status, 200)
  const spent = await responseRefusal(await poor.ask())
  const now = new Date(poor.clock.now())
  const resets_at = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString()
  t.match(spent.message, /\$1\.00, \$0\.50 is left under the monthly limit of \$1\.50 of the key test\. The limit begins anew/)
  const shown = { kind: 'usd', per: 'month', limit: '1.50', used: '1.00', remaining: '0.50', resets_at }
  t.same(spent.limit, { scope: 'key', name: 'test', ...shown })
  const budget = 'guardrails: [ { name: team, limit_usd: 1.5, reset_interval: monthly } ]\n'
  const bound = await limited(t, 'disabled: false', { config: dollarEach, yaml: budget })
  t.equal((await bound.ask()).status, 200)
  const over = await bound.ask()
  t.equal(over.status, 403)
  t.same((await responseRefusal(over)).limit, { scope: 'guardrail', name: 'team', ...shown })
})

t.test("names limits of a provider and of the key's list of models as well", async (t) => {
  const place = await limited(t, 'disabled: false', { answer: () => upstreamError(429, 'Slow down', { 'retry-after': '7' }) })
  const { limit } = await responseRefusal(await place.ask())
  const resets_at = new Date(place.clock.now() + 7_000).toISOString()
  t.same(limit, { scope: 'provider', name: 'first', model: 'acme/one', kind: null, per: null, resets_at })
  const narrow = await limited(t, 'allowed_models: [ acme/two ]', { config: dollarEach })
  const refused = await narrow.ask()
  t.equal(refused.status, 403)
  t.match((await responseRefusal(refused)).limit, { scope: 'key', name: 'test', kind: 'models' })
})

t.test('replies of a key with limits show what is left: in the head of a stream too, and in the words of the format', async (t) => {
  const place = await limited(t, 'limits: { requests: 60, tokens: 600 }')
  const client = new OpenAI({ apiKey: KEY, baseURL: `${place.gateway.url}/v1`, maxRetries: 0 })
  const asked = { model: 'acme/one', messages: [{ role: 'user' as const, content: 'Say fine.' }] }
  const { response } = await client.chat.completions.create(asked).withResponse()
  const responseFamily = ({ headers }: Pick<Response, 'headers'>) =>
    ['limit', 'remaining', 'reset'].flatMap((what) => ['requests', 'tokens'].map((kind) => headers.get(`x-ratelimit-${what}-${kind}`)))
  t.same(responseFamily(response), ['60', '600', '59', '582', '1s', '1.8s'], 'tokens as they were used')
  t.equal(response.headers.get('x-ratelimit-limit'), null, 'that family is of refusals')
  const messages = await place.ask({}, 'messages')
  await messages.text()
  const { headers } = messages
  const at = (ms: number): string => new Date(Math.ceil((place.clock.now() + ms) / 1000) * 1000).toISOString().replace('.000', '')
  for (const [name, value] of [
    ['requests-limit', '60'],
    ['requests-remaining', '58'],
    ['requests-reset', at(2_000)],
    ['tokens-limit', '600'],
    ['tokens-remaining', '564'],
    ['tokens-reset', at(3_600)],
  ] as const)
    t.equal(headers.get(`anthropic-ratelimit-${name}`), value, name)
  t.equal(headers.get('x-ratelimit-limit-requests'), null)
  const refused = await place.ask({ model: 'acme/none' })
  t.equal(refused.status, 404)
  t.equal(refused.headers.get('x-ratelimit-remaining-requests'), '57', 'an error has them too')
})

t.test('a stream has them before its first content has ended', async (t) => {
  const gate = new Gate()
  const place = await limited(t, 'limits: { requests: 120 }', {
    answer: (seen) => {
      const frames = framesFor(seen.path, { text: ['one ', 'two'] })
      return sseAnswer([...frames.slice(0, -1), gate.step, ...frames.slice(-1)])
    },
  })
  const response = await place.ask({ stream: true })
  t.equal(response.headers.get('x-ratelimit-remaining-requests'), '119')
  t.equal(response.headers.get('x-ratelimit-reset-requests'), '500ms')
  t.equal(response.headers.get('x-ratelimit-limit-tokens'), null, 'no limit of tokens')
  gate.open()
  await response.text()
})

t.test('a key without limits has none of them', async (t) => {
  const place = await limited(t, 'disabled: false')
  for (const client of CLIENTS) {
    const response = await place.ask({}, client)
    await response.text()
    t.same(
      [...response.headers.keys()].filter((name) => name.includes('ratelimit')),
      [],
    )
  }
})
