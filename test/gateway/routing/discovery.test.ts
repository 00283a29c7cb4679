/** `discover` of a provider: asked again on an interval and when it comes back, and free only at a server of one's own. */
import dns from 'node:dns'
import { createServer } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer, type Seen } from '../../support/upstream.ts'
import { answerFor, upstreamError } from '../../support/wire.ts'

const LIMITED = 'sk-router-v1-limited-0123456789abcdef'
const FREE = 'sk-router-v1-unlimited-0123456789ab'
const KEYS = `auth: { keys: [ { name: limited, key: "${LIMITED}", limit: "5.00" }, { name: unlimited, key: "${FREE}" } ] }\n`

const modelList = (names: readonly string[]) => jsonAnswer({ object: 'list', data: names.map((id) => ({ id, object: 'model' })) })
const isList = ({ method, path }: Seen): boolean => method === 'GET' && path.startsWith('/v1/models')

async function served(gateway: Gateway): Promise<string[]> {
  const reply = await gateway.get('/v1/models', { authorization: `Bearer ${FREE}` })
  return ((await reply.json()) as { data: { id: string }[] }).data.map(({ id }) => id)
}

function has(gateway: Gateway, slug: string): Promise<boolean> {
  return eventually(`${slug} is listed`, async () => (await served(gateway)).includes(slug))
}

async function ask(gateway: Gateway, model: string, key = FREE): Promise<{ status: number; text: string }> {
  const body = { model, messages: [{ role: 'user', content: 'Hello' }] }
  const reply = await gateway.post('/v1/chat/completions', body, { authorization: `Bearer ${key}` })
  return { status: reply.status, text: await reply.text() }
}

/** A server whose list a test changes. */
async function discovering(t: Test, discover = 'true', host = '127.0.0.1') {
  const names = ['one']
  const broken = { chat: false }
  const { clock, gateway, upstream } = await startScene(t, {
    answer: (seen) => {
      if (isList(seen)) return modelList(names)
      if (seen.method === 'GET' || !seen.path.endsWith('/chat/completions')) return jsonAnswer({}, 404)
      return broken.chat ? upstreamError(503) : answerFor(seen, { text: ['ok'] })
    },
    config: (url) =>
      `${KEYS}providers: { own: { dialect: openai-chat, base_url: "${url.replace('127.0.0.1', host)}/v1", discover: ${discover} } }\n`,
  })
  await has(gateway, 'own/one')
  return { names, broken, upstream, clock, gateway, lists: () => upstream.requests.filter(isList).length }
}

t.test('the list is asked for again every five minutes: new models come, those that are gone leave', async (t) => {
  const { names, clock, gateway, lists } = await discovering(t)
  names.splice(0, 1, 'two')
  await clock.advance(299_999)
  t.equal(lists(), 1)
  await clock.advance(1)
  await has(gateway, 'own/two')
  t.same(await served(gateway), ['own/two'])
  t.equal((await ask(gateway, 'own/two')).status, 200)
  t.equal((await ask(gateway, 'own/one')).status, 404)
})

t.test('the interval is a setting', async (t) => {
  const { names, clock, gateway } = await discovering(t, '{ every: 20s }')
  names.push('two')
  await clock.advance(20_000)
  await has(gateway, 'own/two')
  t.same(await served(gateway), ['own/one', 'own/two'])
})

t.test('a server that was away at the start is asked again within 15 seconds', async (t) => {
  const asleep = createServer((request, response) => {
    const body = request.url === '/v1/models' ? { data: [{ id: 'late' }] } : {}
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  t.teardown(() => asleep.close())
  const listen = (port: number) => new Promise<void>((resolve) => asleep.listen(port, '127.0.0.1', resolve))
  await listen(0)
  const { port } = asleep.address() as AddressInfo
  await new Promise((resolve) => asleep.close(resolve))
  const clock = new FakeClock()
  const url = `http://127.0.0.1:${port}/v1`
  const gateway = await startGateway(`${KEYS}providers: { own: { dialect: openai-chat, base_url: "${url}", discover: true } }\n`, { clock })
  t.teardown(() => gateway.close())
  await clock.armed(15_000)
  t.same(await served(gateway), [])
  await listen(port)
  await clock.advance(15_000)
  t.ok(await has(gateway, 'own/late'))
})

t.test('a server that stops answering keeps its models', async (t) => {
  const { clock, gateway, upstream } = await discovering(t, '{ every: 1m }')
  upstream.script = () => upstreamError(503)
  await clock.advance(60_000)
  await clock.armed(15_000)
  t.same(await served(gateway), ['own/one'])
})

t.test('of a host that cannot be looked up nothing is served, and nothing is free, until it can be', async (t) => {
  const { lookup } = dns
  const restore = (): void => {
    dns.lookup = lookup
    syncBuiltinESMExports()
  }
  t.teardown(restore)
  const unknown = Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' })
  let known = false
  dns.lookup = ((host: string, options: dns.LookupAllOptions, done: (error: Error | null, addresses: dns.LookupAddress[]) => void) => {
    if (host !== 'own.test') lookup(host, options, done)
    else setImmediate(done, known ? null : unknown, [{ address: '127.0.0.1', family: 4 }])
  }) as unknown as typeof lookup
  syncBuiltinESMExports()
  const { clock, gateway, upstream } = await startScene(t, {
    answer: (seen) => {
      if (isList(seen)) return modelList(['one'])
      return seen.method === 'GET' ? jsonAnswer({}, 404) : answerFor(seen, { text: ['ok'] })
    },
    config: (url) =>
      `${KEYS}providers: { own: { dialect: openai-chat, base_url: "${url.replace('127.0.0.1', 'own.test')}/v1", discover: true } }\n`,
  })
  t.same(await served(gateway), [])
  known = true
  await eventually('the failure is no longer the answer', async () => {
    await clock.advance(15_000)
    return (await served(gateway)).includes('own/one')
  })
  t.equal((await ask(gateway, 'own/one', LIMITED)).status, 200, 'and free, since it is near')
  t.ok(upstream.requests.some(isList))
})

t.test('an endpoint that serves again after an outage has its provider asked at once', async (t) => {
  const { names, broken, clock, gateway, lists } = await discovering(t, '{ every: 10h }')
  broken.chat = true
  for (let turn = 0; turn < 10; turn++) await ask(gateway, 'own/one')
  broken.chat = false
  names.push('two')
  t.equal(lists(), 1)
  await eventually('the endpoint serves', async () => {
    await clock.advance(30_000)
    return (await ask(gateway, 'own/one')).status === 200
  })
  t.ok(await has(gateway, 'own/two'))
})

t.test('models of a server of the operator are free', async (t) => {
  const { gateway } = await discovering(t)
  t.equal((await ask(gateway, 'own/one', LIMITED)).status, 200)
})

// 0.0.0.0 reaches this machine, and is neither a loopback nor a private address (RFC 6890).
t.test('models at any other address have no price: a key with a limit is refused, the others use them', async (t) => {
  const { gateway } = await discovering(t, 'true', '0.0.0.0')
  t.match(await ask(gateway, 'own/one', LIMITED), { status: 403, text: /own\/one has no known price: a key with a limit cannot use it/ })
  t.equal((await ask(gateway, 'own/one')).status, 200)
})

t.test('unless the configuration says that they are free', async (t) => {
  const { gateway } = await discovering(t, '{ price: free }', '0.0.0.0')
  t.equal((await ask(gateway, 'own/one', LIMITED)).status, 200)
})
