/** Which provider is asked, seen from outside. */
import t from 'tap'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { startUpstream, type Upstream } from '../../support/upstream.ts'
import { says, upstreamError } from '../../support/wire.ts'

const QUESTION = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }

interface Two {
  clock: FakeClock
  gateway: Gateway
  a: Upstream
  b: Upstream
  /** Provider that served, by name; else the status. */
  ask(more?: object, headers?: Record<string, string>): Promise<string>
}

async function withTwo(body: (scene: Two) => Promise<void>, more: { models?: string; endpoint?: string } = {}): Promise<void> {
  const clock = new FakeClock(7)
  const a = await startUpstream(says({ text: ['a'] }))
  const b = await startUpstream(says({ text: ['b'] }))
  const gateway = await startGateway(
    `
providers:
  aye: { dialect: openai-chat, base_url: "${a.url}/v1" }
  bee: { dialect: openai-chat, base_url: "${b.url}/v1" }
models:
  acme/one:
    context: 128000
    endpoints:
      - { provider: aye, model: m, price: { prompt: "1.00", completion: "1.00" }${more.endpoint ?? ''} }
      - { provider: bee, model: m, price: { prompt: "1.00", completion: "1.00" } }
${more.models ?? ''}`,
    { clock },
  )
  const ask = async (fields: object = {}, headers: Record<string, string> = {}): Promise<string> => {
    const response = await gateway.post('/v1/chat/completions', { ...QUESTION, ...fields }, headers)
    const reply = (await response.json()) as { choices?: { message: { content: string } }[] }
    return reply.choices?.[0].message.content ?? String(response.status)
  }
  try {
    await body({ clock, gateway, a, b, ask })
  } finally {
    await gateway.close()
    await Promise.all([a.close(), b.close()])
  }
}

const times = async (count: number, ask: () => Promise<string>): Promise<string[]> => {
  const seen: string[] = []
  for (let i = 0; i < count; i++) seen.push(await ask())
  return seen
}

t.test('a session stays at the endpoint that served it', async (t) => {
  await withTwo(async ({ clock, a, b, ask }) => {
    t.same(new Set(await times(20, () => ask())).size, 2, 'without a session both serve')
    await every(t, 'every where', async (t) => {
      for (const where of ['body', 'header'] as const) {
        const session = (name: string) => (where === 'body' ? ask({ session_id: name }) : ask({}, { 'x-session-id': name }))
        const homes = new Map<string, string>()
        for (const name of ['s1', 's2', 's3', 's4', 's5', 's6']) homes.set(`${where}-${name}`, await session(`${where}-${name}`))
        t.equal(new Set(homes.values()).size, 2, 'sessions spread')
        for (const [name, home] of homes) t.same(new Set(await times(5, () => session(name))), new Set([home]), `${where} ${name}`)
      }
    })
    const home = await ask({ session_id: 'moved' })
    const own = home === 'a' ? a : b
    own.script = () => upstreamError(500)
    t.not(await ask({ session_id: 'moved' }), home, 'an error falls through')
    own.script = says({ text: [home] })
    await clock.advance(60_000)
    t.not(await ask({ session_id: 'moved', provider: { order: [home === 'a' ? 'bee' : 'aye'] } }), home, 'order decides')
    t.equal(await ask({ session_id: 'body-s1' }, { 'x-session-id': 'header-s2' }), await ask({ session_id: 'body-s1' }), 'the body decides')
  })
})

t.test('an endpoint that failed is called last for thirty seconds', async (t) => {
  await withTwo(async ({ clock, a, ask }) => {
    a.script = () => upstreamError(500)
    t.same(new Set(await times(20, () => ask())), new Set(['b']))
    const calls = a.requests.length
    t.ok(calls >= 1 && calls <= 2, `then it is left alone (${calls})`)
    await clock.advance(29_000)
    await times(10, () => ask())
    t.equal(a.requests.length, calls, 'for thirty seconds')
    a.script = says({ text: ['a'] })
    await clock.advance(2_000)
    t.equal(new Set(await times(20, () => ask())).size, 2, 'and no longer')
  })
})

t.test('falls back to the next endpoint and model, and returns the failure where fallbacks are off', async (t) => {
  const models = `  acme/two: { context: 128000, endpoints: [ { provider: bee, model: m2, price: { prompt: "5.00", completion: "5.00" } } ] }\n`
  await withTwo(
    async ({ gateway, a, b, ask }) => {
      a.script = () => upstreamError(500)
      const only = { provider: { only: ['aye'] } }
      t.equal(await ask({ provider: { order: ['aye'], allow_fallbacks: false } }), '502')
      t.equal(await ask(only), '502')
      t.equal(b.requests.length, 0)
      t.equal(await ask({ ...only, models: ['acme/two'] }), '502', 'the other model is not there either')
      b.script = (seen, index) => (seen.json.model === 'm' ? upstreamError(429) : says({ text: ['two'] })(seen, index))
      const response = await gateway.post('/v1/chat/completions', { ...QUESTION, models: ['acme/two'] }, { 'x-router-metadata': 'enabled' })
      t.match(await response.json(), {
        model: 'acme/two',
        choices: [{ message: { content: 'two' } }],
        usage: { cost: 0.00009 },
        router_metadata: {
          strategy: 'fallback',
          attempt: 3,
          attempts: [{ status: Number }, { status: Number }, { status: 200, model: 'acme/two' }],
        },
      })
      b.script = () => upstreamError(529)
      t.equal(await ask({ models: ['acme/two'] }), '529', 'the last error')
    },
    { models },
  )
})

t.test('leaves out a parameter that an endpoint lacks, or removes the endpoint with require_parameters', async (t) => {
  await withTwo(
    async ({ a, b, ask }) => {
      const only = { only: ['aye'] }
      t.equal(await ask({ provider: only, top_k: 5, seed: 7 }), 'a')
      t.notOk('top_k' in (a.requests.at(-1)?.json ?? {}), 'is not sent there')
      t.equal(a.requests.at(-1)?.json.seed, 7)
      t.equal(await ask({ provider: { ...only, require_parameters: true }, top_k: 5 }), '404')
      t.same(new Set(await times(10, () => ask({ provider: { require_parameters: true }, top_k: 5 }))), new Set(['b']))
      t.equal(b.requests.at(-1)?.json.top_k, 5)
    },
    { endpoint: ', supported_parameters: [ seed, temperature, max_tokens ]' },
  )
})

t.test('returns 400 for a prompt that is too long, and leaves out its middle with context-compression', async (t) => {
  const models = `  acme/small: { context: 8000, endpoints: [ { provider: bee, model: m2, price: free } ] }\n  acme/mid: { context: 12000, endpoints: [ { provider: bee, model: m2, price: free } ] }\n`
  await withTwo(
    async ({ gateway, b }) => {
      const messages = Array.from({ length: 60 }, (_, i) => ({
        role: i % 2 ? 'assistant' : 'user',
        content: `number ${i}. ${'word '.repeat(400)}`,
      }))
      const ask = (model: string, more: object = {}) =>
        gateway.post('/v1/chat/completions', { model, messages: [...messages, { role: 'user', content: 'the last' }], ...more })
      const refused = await ask('acme/mid')
      t.equal(refused.status, 400)
      t.match(await refused.json(), { error: { message: /context-compression/, metadata: { error_type: 'context_length_exceeded' } } })
      t.equal(b.requests.length, 0)
      t.equal((await ask('acme/mid', { plugins: [{ id: 'context-compression' }] })).status, 200)
      const sent = JSON.stringify(b.requests[0].json.messages)
      t.match(sent, /number 0\./)
      t.match(sent, /the last/)
      t.notMatch(sent, /number 30\./)
      t.equal((await ask('acme/small')).status, 200, 'by default where the context is small')
      t.equal((await ask('acme/small', { plugins: [{ id: 'context-compression', enabled: false }] })).status, 400)
    },
    { models },
  )
})
