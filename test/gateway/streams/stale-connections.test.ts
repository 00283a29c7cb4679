/** Connections that a provider, a balancer or a NAT has given up while they were idle: no caller may notice. */
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { ADMIN_TOKEN } from '../../support/admin.ts'
import { type Gateway, oneModel, startGateway } from '../../support/gateway.ts'
import { type RawUpstream, rawJson, startRawUpstream, type WireRequest } from '../../support/raw-upstream.ts'
import { chatReply } from '../../support/wire-chat.ts'

const REPLY = rawJson(chatReply({ text: ['fine'] }))
const QUESTION = { model: 'acme/one', messages: [{ role: 'user', content: 'x' }] }

interface Stage {
  gateway: Gateway
  upstream: RawUpstream
  ask(): Promise<number>
}

async function stage(t: Test, answer: RawUpstream['answer']): Promise<Stage> {
  const upstream = await startRawUpstream(answer)
  const gateway = await startGateway(oneModel(upstream.url, 'openai-chat'))
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  return { gateway, upstream, ask: async () => (await gateway.post('/v1/chat/completions', QUESTION)).status }
}

/** The socket of a request, which `answer` was given. */
type Ending = (socket: Socket) => void

const ENDINGS: Record<string, Ending> = {
  reset: (socket) => void socket.resetAndDestroy(),
  closed: (socket) => void socket.destroy(),
}

/** Number of replies of each status. */
function counts(statuses: readonly number[]): Record<number, number> {
  const sums: Record<number, number> = {}
  for (const status of statuses) sums[status] = (sums[status] ?? 0) + 1
  return sums
}

for (const [name, end] of Object.entries(ENDINGS))
  t.test(`40 idle connections that are ${name} at their next request cost none of 120 calls`, async (t) => {
    /** Those that stand before the idle time; one of them serves no more. */
    const old = new Set<number>()
    let stale = false
    const held: Socket[] = []
    const { ask } = await stage(t, ({ socket: number }, socket) => {
      if (stale && old.has(number)) {
        // A round trip later: all of them have been used by then.
        setTimeout(() => end(socket), 40)
        return undefined
      }
      if (stale) {
        // A reply that takes its time: repeats stay open beside each other.
        setTimeout(() => socket.write(REPLY), 50)
        return undefined
      }
      old.add(number)
      // So that as many connections stand as there are calls.
      if (held.push(socket) === 40) for (const each of held) each.write(REPLY)
      return undefined
    })
    t.same(counts(await Promise.all(Array.from({ length: 40 }, ask))), { 200: 40 })
    stale = true
    t.same(counts(await Promise.all(Array.from({ length: 120 }, ask))), { 200: 120 })
  })

t.test('a connection that meanwhile was opened by another call does not hide that one is stale', async (t) => {
  let stale: Socket | undefined
  let waiting: (() => void) | undefined
  const { ask, upstream } = await stage(t, ({ socket: number, position }, socket) => {
    if (number === 0 && position === 1) {
      // Reset only when the other call has its connection.
      waiting = () => void socket.resetAndDestroy()
      stale = socket
      return undefined
    }
    if (number === 1) waiting?.()
    return REPLY
  })
  t.equal(await ask(), 200)
  const first = ask()
  await upstream.request(1)
  t.ok(stale)
  const second = ask()
  t.same(await Promise.all([first, second]), [200, 200])
})

t.test('a provider that resets every second request of a connection costs no call, and is sent each at most twice', async (t) => {
  const { ask, upstream } = await stage(t, ({ position }, socket) => {
    if (position === 0) return REPLY
    socket.resetAndDestroy()
    return undefined
  })
  const statuses: number[] = []
  for (let round = 0; round < 6; round++) statuses.push(...(await Promise.all(Array.from({ length: 10 }, ask))))
  t.same(counts(statuses), { 200: 60 })
  t.ok(upstream.requests.length <= 120, `${upstream.requests.length} requests`)
})

t.test('inputs of embeddings that met a stale connection go over a new one', async (t) => {
  const vectors = rawJson({
    object: 'list',
    data: [{ index: 0, embedding: [1, 2] }],
    model: 'm',
    usage: { prompt_tokens: 1, total_tokens: 1 },
  })
  const upstream = await startRawUpstream(({ position }, socket) => {
    if (position === 0) return vectors
    socket.resetAndDestroy()
    return undefined
  })
  const gateway = await startGateway(`
providers: { first: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: "sk-provider-secret" } }
models: { acme/one: { kind: embedding, endpoints: [ { provider: first, model: m, price: free } ] } }`)
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  const ask = async (): Promise<number> => (await gateway.post('/v1/embeddings', { model: 'acme/one', input: 'x' })).status
  for (let i = 0; i < 5; i++) t.equal(await ask(), 200)
})

const WORKED = 400

t.test('a request that the provider may have worked on is sent once, and its failure counts', async (t) => {
  const marked = ({ headers }: WireRequest): string => headers.get('x-client-request-id') ?? ''
  const { ask, upstream, gateway } = await stage(t, ({ position }, socket) => {
    if (position === 0) return REPLY
    setTimeout(() => socket.destroy(), WORKED)
    return undefined
  })
  t.equal(await ask(), 200)
  t.equal(await ask(), 502)
  t.equal(upstream.requests.length, 2, 'the provider has it once')
  t.equal(new Set(upstream.requests.map(marked)).size, 2)
  const metrics = await (await fetch(`${gateway.admin}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })).text()
  t.match(metrics, /headgate_attempts_total\{provider="first",outcome="upstream_cut"\} 1/)
})

t.test('a request that ends after part of its reply is not sent again', async (t) => {
  const { ask, upstream } = await stage(t, ({ position }, socket) => {
    if (position === 0) return REPLY
    socket.end('HTTP/1.1 200 O')
    return undefined
  })
  t.equal(await ask(), 200)
  t.equal(await ask(), 502)
  t.equal(upstream.requests.length, 2)
})

t.test('a request that ends after an interim reply is not sent again: the provider has read it', async (t) => {
  for (const interim of ['100 Continue', '102 Processing', '103 Early Hints']) {
    const { ask, upstream } = await stage(t, ({ position }, socket) => {
      if (position === 0) return REPLY
      socket.end(`HTTP/1.1 ${interim}\r\n\r\n`)
      return undefined
    })
    t.equal(await ask(), 200, interim)
    t.equal(await ask(), 502, interim)
    t.equal(upstream.requests.length, 2, interim)
  }
})

t.test('a large body that could not be written is sent again, however long it took', async (t) => {
  const upstream = await startRawUpstream(() => REPLY)
  const gateway = await startGateway(oneModel(upstream.url, 'openai-chat').replace('context: 128000', 'context: 100000000'))
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  t.equal((await gateway.post('/v1/chat/completions', QUESTION)).status, 200)
  for (const socket of upstream.sockets) {
    socket.pause()
    setTimeout(() => socket.resetAndDestroy(), WORKED)
  }
  const large = { ...QUESTION, messages: [{ role: 'user', content: 'x'.repeat(8 * 1024 * 1024) }] }
  t.equal((await gateway.post('/v1/chat/completions', large)).status, 200)
})
