/** Failures of one key's requests move that key alone, over real sockets: the others stay where they are until a rule moves them. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { passPause } from '../../support/pair-bench.ts'
import { CLIENTS, type Client, PATHS, questionFor } from '../../support/providers.ts'
import { jsonAnswer, REFUSING_URL, type Script, startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const KEYS = {
  bad: 'sk-router-v1-bad-0123456789abcdef01',
  good: 'sk-router-v1-good-0123456789abcdef0',
  third: 'sk-router-v1-third-0123456789abcdef',
}
type Key = keyof typeof KEYS

interface Scene {
  clock: FakeClock
  gateway: Gateway
  /** Provider that served, or the status. */
  server(key: Key, content?: string, client?: Client): Promise<string>
  cheap(script: Script): void
}

/** A provider at a five-hundredth of the other's price. */
async function scene(t: Test, address?: string): Promise<Scene> {
  const clock = new FakeClock()
  // As a server that stumbles over a schema: no word says why (vLLM 0.32, `minProperties` in an open object).
  const usual: Script = (seen) =>
    seen.body.includes('stumble')
      ? jsonAnswer({ error: { message: 'Internal server error', type: 'server_error' } }, 500)
      : answerFor(seen, { text: ['cheap'] })
  const cheap = await startUpstream(usual)
  const dear = await startUpstream((seen) => answerFor(seen, { text: ['dear'] }))
  const keys = Object.entries(KEYS).map(([name, key]) => `{ name: ${name}, key: "${key}" }`)
  const gateway = await startGateway(
    `auth: { keys: [ ${keys.join(', ')} ] }
providers:
  cheap: { dialect: openai-chat, base_url: "${address ?? `${cheap.url}/v1`}" }
  dear: { dialect: openai-chat, base_url: "${dear.url}/v1" }
models:
  acme/one: { context: 128000, endpoints: [ { provider: cheap, model: m, price: { prompt: "0.01", completion: "0.01" } }, { provider: dear, model: m, price: { prompt: "5.00", completion: "5.00" } } ] }
`,
    { clock },
  )
  t.teardown(() => Promise.all([gateway.close(), cheap.close(), dear.close()]))
  return {
    clock,
    gateway,
    cheap: (script) => {
      cheap.script = script
    },
    server: async (key, content = 'Hello', client = 'chat') => {
      const reply = await gateway.post(PATHS[client], questionFor(client, content), { authorization: `Bearer ${KEYS[key]}` })
      const text = await reply.text()
      return reply.status === 200 ? (/"(cheap|dear)"/.exec(text)?.[1] ?? text) : `${reply.status}`
    },
  }
}

async function entry(gateway: Gateway): Promise<JsonObject> {
  const { data } = (await (await gateway.get('/v1/models/acme/one/endpoints')).json()) as { data: { endpoints: JsonObject[] } }
  return data.endpoints[0] ?? {}
}

t.test('one bad conversation of one key costs another nothing', async (t) => {
  const { gateway, server } = await scene(t)
  t.equal(await server('good'), 'cheap')
  for (let times = 0; times < 7; times++) t.equal(await server('bad', 'stumble'), 'dear', 'the next endpoint serves it')
  t.equal(await server('bad', 'something else'), 'dear', 'that key is moved')
  for (const client of CLIENTS)
    for (let times = 0; times < 4; times++) t.equal(await server('good', 'Hello', client), 'cheap', `another key, ${client}`)
  t.equal(await server('third'), 'cheap', 'and one that comes now')
  t.equal((await entry(gateway)).status, 0, 'nothing holds against it for all keys')
})

t.test('a second key that fails moves everybody, and the first success brings everybody back', async (t) => {
  const { clock, gateway, server, cheap } = await scene(t)
  t.equal(await server('third'), 'cheap')
  cheap(() => ({ status: 500 }))
  t.equal(await server('bad'), 'dear')
  t.equal(await server('good'), 'dear')
  cheap((seen) => answerFor(seen, { text: ['cheap'] }))
  t.equal(await server('third'), 'dear', 'moved without a failure of its own')
  t.equal((await entry(gateway)).status, -3)
  await clock.advance(30_001)
  t.equal(await server('third'), 'cheap')
  t.equal(await server('bad'), 'cheap')
})

t.test('a connection that is refused moves everybody at once', async (t) => {
  const { gateway, server, clock } = await scene(t, REFUSING_URL)
  const [first] = await Promise.all([server('bad'), passPause(clock)])
  t.equal(first, 'dear')
  t.equal((await entry(gateway)).status, -3)
  t.equal(await server('good'), 'dear', 'without a call of its own')
})

t.test('a provider’s 502 and 503 move everybody at once', async (t) => {
  for (const status of [502, 503]) {
    const { server, cheap } = await scene(t)
    t.equal(await server('good'), 'cheap')
    cheap((seen) => (seen.body.includes('stumble') ? { status } : answerFor(seen, { text: ['cheap'] })))
    t.equal(await server('bad', 'stumble'), 'dear')
    t.equal(await server('good'), 'dear', `${status}`)
  }
})

t.test('shows the operator the failures of a key that is used alone', async (t) => {
  const { gateway, server } = await scene(t)
  t.equal(await server('bad', 'stumble'), 'dear')
  t.equal((await entry(gateway)).status, -3)
  t.equal(await server('bad'), 'dear')
})

t.test('a plan shows the order that its key gets', async (t) => {
  const { gateway, server } = await scene(t)
  t.equal(await server('good'), 'cheap')
  await server('bad', 'stumble')
  const planned = async (key: Key): Promise<unknown> => {
    const reply = await gateway.post('/v1/plan', questionFor('chat'), { authorization: `Bearer ${KEYS[key]}` })
    return ((await reply.json()) as { candidates: JsonObject[] }).candidates
  }
  t.match(await planned('bad'), [{ endpoint: 'dear' }, { endpoint: 'cheap', why: { health: 'recent_outage' } }])
  t.match(await planned('good'), [{ endpoint: 'cheap', why: { health: 'ok' } }, { endpoint: 'dear' }])
})
