/**
 * A request that is given up while its connection is made takes the attempt along, in every step of it. A connection that is made at the
 * same moment is closed or serves the next request: none stays open beside the pool.
 */
import { once } from 'node:events'
import { type Agent, request } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import t, { type Test } from 'tap'
import type { Dispatcher } from 'undici'
import type { RequestOptions } from '../../src/machines/http1-client/whole-requests.ts'
import { type ConnectionPool, Pools } from '../../src/services/upstream/pools.ts'
import { certificate } from '../support/certificates.ts'
import { eventually } from '../support/eventually.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const authority = certificate({ name: 'the test authority' })

interface Peer {
  readonly port: number
  /** Connections that are open now, and made so far. */
  readonly open: Set<Socket>
  accepted: number
  /** Texts that came. */
  readonly heard: string[]
}

/** A peer that accepts, and says what `reply` returns to the first bytes. */
async function peer(t: Test, reply: (text: string, socket: Socket) => string | undefined = () => undefined): Promise<Peer> {
  const open = new Set<Socket>()
  const seen = { open, accepted: 0, heard: [] as string[] }
  const server = createServer((socket) => {
    seen.accepted++
    open.add(socket)
    socket.on('close', () => open.delete(socket)).on('error', () => undefined)
    socket.on('data', (bytes) => {
      const text = bytes.toString('latin1')
      seen.heard.push(text)
      const utterance = reply(text, socket)
      if (utterance !== undefined) socket.write(utterance)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return Object.assign(seen, { port: (server.address() as AddressInfo).port })
}

/** The two kinds of requests: those over connections of ours, and those over undici's. */
const KINDS: Readonly<Record<'a body at hand' | 'a body of undici', RequestOptions>> = {
  'a body at hand': { method: 'POST', path: '/', headers: ['x-test', 'yes'], body: '{}' },
  'a body of undici': { method: 'GET', path: '/', headers: ['x-test', 'yes'], body: null },
}

function begin(pool: ConnectionPool, kind: keyof typeof KINDS) {
  const { promise: ended, resolve } = Promise.withResolvers<string>()
  let body = ''
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart: () => undefined,
    onResponseStart: () => undefined,
    onResponseData: (_controller, chunk) => {
      body += chunk
    },
    onResponseEnd: () => resolve(body),
    onResponseError: (_controller, error) => resolve(error.message),
  }
  return { ended, started: pool.begin(KINDS[kind], handler) }
}

function pools(t: Test, env: Record<string, string> = {}): Pools {
  const made = new Pools({ env })
  t.teardown(() => made.close())
  return made
}

for (const kind of ['a body at hand', 'a body of undici'] as const) {
  t.test(`${kind}: while TLS is agreed on`, async (t) => {
    const silent = await peer(t)
    const pool = pools(t).for({ origin: `https://127.0.0.1:${silent.port}`, connectTimeout: 60_000 })
    const { ended, started } = begin(pool, kind)
    await eventually('the provider has the greeting', () => silent.heard.length > 0)
    t.equal(started.phase, 'tls')
    started.abort(new Error('given up'))
    t.equal(await ended, 'given up')
    await eventually('no connection is left on either side', () => pool.size === 0 && silent.open.size === 0)
    t.equal(silent.accepted, 1, 'and none is made anew')
  })

  t.test(`${kind}: while a proxy is asked`, async (t) => {
    const proxy = await peer(t)
    const pool = pools(t, { HTTP_PROXY: `http://127.0.0.1:${proxy.port}` }).for({ origin: 'http://192.0.2.1:80', connectTimeout: 60_000 })
    const { ended, started } = begin(pool, kind)
    await eventually('the proxy is asked', () => proxy.heard.some((text) => text.startsWith('CONNECT')))
    started.abort(new Error('given up'))
    t.equal(await ended, 'given up')
    await eventually('no connection is left on either side', () => pool.size === 0 && proxy.open.size === 0)
  })

  t.test(`${kind}: while TLS is agreed on through a proxy`, async (t) => {
    const proxy = await peer(t, (text) => (text.startsWith('CONNECT') ? 'HTTP/1.1 200 OK\r\n\r\n' : undefined))
    const pool = pools(t, { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` }).for({ origin: 'https://192.0.2.1', connectTimeout: 60_000 })
    const { ended, started } = begin(pool, kind)
    await eventually('the greeting goes through the tunnel', () => proxy.heard.length > 1)
    t.equal(started.phase, 'tls')
    started.abort(new Error('given up'))
    t.equal(await ended, 'given up')
    await eventually('no connection is left on either side', () => pool.size === 0 && proxy.open.size === 0)
  })

  t.test(`${kind}: at every moment around the one at which the connection stands`, async (t) => {
    const provider = await peer(t, () => OK)
    const pool = pools(t).for({ origin: `http://127.0.0.1:${provider.port}`, connectTimeout: 60_000 })
    const outcomes = new Set<string>()
    for (let turns = 0; turns < 40; turns++) {
      const { ended, started } = begin(pool, kind)
      for (let turn = 0; turn < turns % 20; turn++) await new Promise((resolve) => setImmediate(resolve))
      started.abort(new Error('given up'))
      outcomes.add(await ended)
    }
    t.strictSame([...outcomes].sort(), [...outcomes].filter((end) => end === 'ok' || end === 'given up').sort())
    t.ok(outcomes.has('given up'))
    await eventually('all that is open is idle in the pool', () => pool.size === pool.idleCount && provider.open.size === pool.idleCount)
    const { ended } = begin(pool, kind)
    t.equal(await ended, 'ok', 'the next one is served')
  })
}

t.test("a request of Node's own client: a connection that comes too late is closed", async (t) => {
  const site = certificate({ name: 'provider', by: authority, addresses: ['127.0.0.1'] })
  const open = new Set<Socket>()
  let raw: Socket | undefined
  // The handshake waits until the request has been given up.
  const server = createTlsServer({ cert: site.cert, key: String(site.key.export({ type: 'pkcs8', format: 'pem' })) }, (socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket)).on('error', () => undefined)
  })
  const front = createServer((socket) => {
    raw = socket
    socket.on('error', () => undefined)
  })
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  t.teardown(() => {
    raw?.destroy()
    front.close()
  })
  const { port } = front.address() as AddressInfo
  const connection = { maxAge: 300_000, tls: { ca: authority.cert } }
  const agent: Agent = pools(t).agent({ origin: `https://127.0.0.1:${port}`, connectTimeout: 60_000, connection })
  const outgoing = request({ agent, protocol: 'https:', host: '127.0.0.1', port, method: 'GET', path: '/' })
  const failed = once(outgoing, 'error')
  outgoing.end()
  await eventually('the connection is begun', () => raw !== undefined)
  outgoing.destroy(new Error('given up'))
  // Node's client reports it once the agent has a connection for it, or has none.
  if (raw) server.emit('connection', raw)
  await failed
  await eventually('it is closed', () => raw?.destroyed === true && open.size === 0)
})
