/** No caller is given a `Retry-After` of more than a minute: what clients make of more is worse than to be refused again. The true pause is beside it. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { object } from '../../support/fold.ts'
import { KEY } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { says, upstreamError } from '../../support/wire.ts'

const CLIENTS = ['chat', 'responses', 'messages'] as const

/** The pause in the body, wherever the format has it. */
function statedPause(body: JsonObject): unknown {
  const { error, metadata } = body
  return object(metadata ?? object(error).metadata).retry_after
}

t.test('a pause that a provider states', async (t) => {
  let stated = '0'
  const scene = await startScene(t, {
    answer: () => upstreamError(429, 'Quota of the day used up', { 'retry-after': stated }),
  })
  const cases: readonly [stated: string, shown: string, honest: number][] = [
    ['0', '1', 0],
    ['7', '7', 7],
    ['60', '60', 60],
    ['61', '60', 61],
    ['86400', '60', 86_400],
    ['999999999', '60', 604_800],
    ['', '60', 7_200],
  ]
  for (const [header, shown, honest] of cases)
    for (const client of CLIENTS) {
      // A date lies so far ahead of the clock.
      stated = header === '' ? new Date(scene.clock.now() + honest * 1000).toUTCString() : header
      const reply = await scene.ask({}, client)
      const body = object((await reply.json()) as JsonObject)
      t.equal(reply.status, 429)
      t.equal(reply.headers.get('retry-after'), shown, `${client}: ${header}`)
      // The clock of the gateway has milliseconds; a date has none.
      const pause = Number(statedPause(body))
      t.ok(Math.abs(pause - honest) <= 1, `${client}: ${header} is ${pause} in the body`)
      t.equal(reply.headers.get('x-should-retry'), honest > 60 ? 'false' : null, `${client}: ${header}`)
      const reset = reply.headers.get('x-ratelimit-reset')
      if (honest > 60) t.ok(Math.abs(Number(reset) - scene.clock.now() - pause * 1000) < 2_000, `${client}: ${header} ends at ${reset}`)
      // The endpoint rests after that.
      await scene.clock.advance(61_000)
    }
})

t.test('a pause of the limits of a key', async (t) => {
  const scene = await startScene(t, {
    yaml: `auth: { keys: [ { name: test, key: "${KEY}", limits: { tokens: 100 } } ] }\n`,
    answer: says({ text: ['fine'], usage: { input: 900, output: 100 } }),
  })
  t.equal((await scene.ask({ max_tokens: 10 })).status, 200)
  const reply = await scene.ask({ max_tokens: 10 })
  t.equal(reply.status, 429)
  const pause = Number(statedPause(object((await reply.json()) as JsonObject)))
  t.ok(pause > 300, `${pause} s until the tokens are there`)
  t.equal(reply.headers.get('retry-after'), '60')
  t.equal(reply.headers.get('x-should-retry'), 'false')
  t.equal(Number(reply.headers.get('x-ratelimit-reset')), Math.ceil(scene.clock.now() + pause * 1000))
})

t.test('a pause in a reply of the pass-through', async (t) => {
  let stated = '86400'
  const scene = await startScene(t, {
    yaml: `auth: { keys: [ { name: test, key: "${KEY}", pass_through: true } ] }\npass_through: { enabled: true }\n`,
    provider: 'pass_through: { price: "0" }',
    answer: () => upstreamError(429, 'Slow down', { 'retry-after': stated }),
  })
  const long = await scene.gateway.post('/v1/passage/first/v1/models', {})
  t.equal(long.status, 429)
  t.equal(long.headers.get('retry-after'), '60')
  t.equal(long.headers.get('x-should-retry'), 'false')
  t.equal(long.headers.get('x-provider-retry-after'), '86400', 'the provider’s own')
  stated = '30'
  const short = await scene.gateway.post('/v1/passage/first/v1/models', {})
  t.equal(short.headers.get('retry-after'), '30')
  t.equal(short.headers.get('x-should-retry'), null)
  t.equal(short.headers.get('x-provider-retry-after'), null)
})

t.test('a pause of an overloaded provider, in every operation', async (t) => {
  const scene = await startScene(t, {
    answer: () => upstreamError(503, 'Overloaded', { 'retry-after': '3600' }),
    config: (url) => `
providers: { first: { dialect: openai-chat, base_url: "${url}/v1" } }
models:
  acme/one: { endpoints: [ { provider: first, model: m, price: free } ] }
  acme/vectors: { kind: embedding, endpoints: [ { provider: first, model: v, price: free } ] }
`,
  })
  const replies = [
    ...CLIENTS.map((client) => () => scene.ask({}, client)),
    ...(['chat', 'messages'] as const).map((client) => () => scene.ask({ stream: true }, client)),
    () => scene.gateway.post('/v1/embeddings', { model: 'acme/vectors', input: 'Hello' }),
  ]
  for (const ask of replies) {
    const reply = await ask()
    const text = await reply.text()
    t.equal(reply.status, 529, text)
    t.equal(reply.headers.get('retry-after'), '60')
    t.equal(reply.headers.get('x-should-retry'), 'false')
    t.match(text, /"retry_after":3600\b/, 'the true pause is in the body')
    await scene.clock.advance(4_000_000)
  }
})
