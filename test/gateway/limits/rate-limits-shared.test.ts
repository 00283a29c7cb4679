/** Two gateways on one Redis: one limit, the same sticky sessions, news of outages, and what happens without it. */
import t, { type Test } from 'tap'
import { eventually } from '../../support/eventually.ts'
import { KEY } from '../../support/gateway.ts'
import { type Providers, startProviders } from '../../support/providers.ts'
import { type RedisServer, startRedis } from '../../support/redis.ts'
import { says, upstreamError } from '../../support/wire.ts'

const NAMES = ['aye', 'bee', 'sea']

interface Pair {
  first: Providers
  second: Providers
}

let pairs = 0

async function pair(t: Test, url: string, { limits = '', endpoint }: { limits?: string; endpoint?: string } = {}): Promise<Pair> {
  // A name of its own: the counters of the other tests are on the same server.
  const name = `pair-${pairs++}`
  const options = {
    providers: NAMES,
    top: `shared: { url: "${url}" }\nauth: { keys: [ { name: ${name}, key: "${KEY}"${limits} } ] }`,
    ...(endpoint === undefined ? {} : { endpoint: () => endpoint }),
  }
  const scenes = [await startProviders(t, options), await startProviders(t, options)]
  return { first: scenes[0], second: scenes[1] }
}

const providerParts = ({ gateway }: Providers) => gateway.running.runtime.dependencies

/** The statuses of so many requests at once, at each of these gateways. */
async function statuses(scenes: readonly Providers[], count: number): Promise<Record<string, number>> {
  const asked = scenes.flatMap((scene) => Array.from({ length: count }, () => scene.ask('chat')))
  const found: Record<string, number> = {}
  for (const response of await Promise.all(asked)) {
    await response.text()
    found[response.status] = (found[response.status] ?? 0) + 1
  }
  return found
}

const outages = ({ gateway }: Providers): string[] => gateway.logs.filter((line) => /"kind":"shared-(lost|back)"/.test(line))

function tests(t: Test, server: RedisServer): void {
  t.test('requests per minute are those of both together', async (t) => {
    const { first, second } = await pair(t, server.url, { limits: ', limits: { requests: 5 }' })
    t.same(await statuses([first, second], 10), { 200: 5, 429: 15 })
    const refused = await second.ask('chat')
    t.equal(refused.status, 429)
    t.equal(refused.headers.get('x-ratelimit-limit'), '5')
    t.equal(refused.headers.get('x-ratelimit-remaining'), '0')
    t.match(refused.headers.get('retry-after'), /^([1-9]|1[012])$/)
  })

  t.test('tokens per minute too: taken here, they are missing there', async (t) => {
    const { first, second } = await pair(t, server.url, { limits: ', limits: { tokens: 600 }' })
    first.script(says({ text: ['aye'], usage: { input: 300, output: 290 } }))
    t.equal((await first.ask('chat')).status, 200)
    let passed = -1
    await eventually('the difference that nobody waited for', async () => {
      passed++
      return (await second.ask('chat')).status === 429
    })
    t.ok(passed < 5, `${passed} passed; counted by itself it could have had thirty`)
    t.same(outages(first), [])
  })

  t.test('the server goes and comes back: nothing fails, and each outage is told once', async (t) => {
    const { first, second } = await pair(t, server.url, { limits: ', limits: { requests: 4, tokens: 1000000 }' })
    t.same(await statuses([first], 1), { 200: 1 })
    await server.kill()
    const during = await statuses([first, second], 10)
    t.same(Object.keys(during), ['200', '429'])
    t.ok(during[200] <= 8, 'at most the limit for each: neither knows of the other without a store in common')
    await eventually('said', () => outages(first).length === 1 && outages(second).length === 1)
    await server.start()
    await eventually('said that it is over', () => outages(first).length === 2 && outages(second).length === 2)
    t.same(await statuses([first, second], 10), { 200: 4, 429: 16 }, 'shared again')
    t.equal(outages(first).length + outages(second).length, 4)
  })

  t.test('a session that one has made is kept by the other', async (t) => {
    const { first, second } = await pair(t, server.url)
    const homes = new Map<string, string>()
    for (const session of ['s1', 's2', 's3', 's4', 's5', 's6']) {
      homes.set(session, await first.server('chat', { session_id: session }))
    }
    t.ok(new Set(homes.values()).size > 1, 'they are spread')
    await eventually('all pins', () => providerParts(second).sessions.size === homes.size)
    for (const [session, home] of homes) {
      for (let i = 0; i < 3; i++) t.equal(await second.server('chat', { session_id: session }), home, session)
    }
  })

  t.test('a conversation without a name is sticky too, where a cache pays', async (t) => {
    const { first, second } = await pair(t, server.url, { endpoint: 'price: { prompt: "1.00", completion: "1.00", cached: "0.10" }' })
    const secrets = () => [first, second].map((scene) => providerParts(scene).sessions.commonSecret)
    await eventually('a secret in common', () => secrets()[0] !== undefined && secrets()[0] === secrets()[1])
    for (const scene of [first, second]) {
      for (const name of NAMES) scene.script(says({ text: [name], usage: { input: 11, output: 7, cached: 9 } }), name)
    }
    const words = ['a', 'b', 'c', 'd', 'e', 'f'].map((content) => ({ messages: [{ role: 'user', content }] }))
    const homes: string[] = []
    for (const more of words) homes.push(await first.server('chat', more))
    await eventually('all pins', () => providerParts(second).sessions.size === words.length)
    t.ok(new Set(homes).size > 1, 'they are spread')
    const found: string[] = []
    for (const more of words) found.push(await second.server('chat', more))
    t.same(found, homes)
  })

  t.test('an endpoint that one has ejected is avoided by the other, until the first says that it is well', async (t) => {
    const { first, second } = await pair(t, server.url)
    const order = { provider: { order: ['aye', 'bee'] } }
    const ejected = (scene: Providers): boolean => {
      const { runtime } = scene.gateway.running
      const endpoint = runtime.catalog.models[0].endpoints.find(({ provider }) => provider.slug === 'aye')
      if (!endpoint) throw new Error('no such endpoint')
      return runtime.dependencies.health.ejected(endpoint)
    }
    first.script(() => upstreamError(500), 'aye')
    t.equal(await second.server('chat', order), 'aye')
    await eventually('ejected there', async () => {
      await first.server('chat', { provider: { only: ['aye'] } })
      return ejected(first)
    })
    await eventually('ejected here', () => ejected(second))
    for (let i = 0; i < 5; i++) t.equal(await second.server('chat', order), 'bee')
    first.heal()
    await first.clock.advance(1_000)
    t.equal(await first.server('chat', { provider: { only: ['aye'] } }), 'aye', 'its probe')
    await eventually('heard', () => !ejected(second))
    t.equal(await second.server('chat', order), 'aye')
  })
}

const server = await startRedis()
if (server) {
  t.teardown(() => server.close())
  tests(t, server)
} else t.plan(0, 'neither redis-server nor valkey-server is installed')
