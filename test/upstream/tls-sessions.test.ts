/** TLS sessions with providers are resumed, also after a pause and after garbage has been collected. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { type ConnectionPool, Pools } from '../../src/services/upstream/pools.ts'
import { certificate } from '../support/certificates.ts'
import { eventually } from '../support/eventually.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const authority = certificate({ name: 'the test authority' })
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok'

interface Provider {
  readonly pool: ConnectionPool
  readonly server: Server
  /** For each connection: true where it resumed a session. */
  readonly resumed: boolean[]
}

/** A provider that closes each connection after one reply. */
async function scene(t: Test, maxVersion: 'TLSv1.2' | 'TLSv1.3'): Promise<Provider> {
  const site = certificate({ name: 'provider', by: authority, addresses: ['127.0.0.1'] })
  const resumed: boolean[] = []
  const options = { cert: site.cert, key: String(site.key.export({ type: 'pkcs8', format: 'pem' })), maxVersion }
  const server = createServer(options, (socket: TLSSocket) => {
    resumed.push(socket.isSessionReused())
    socket.on('error', () => undefined)
    socket.on('data', () => socket.end(OK))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const pools = new Pools()
  t.teardown(async () => {
    await pools.close()
    server.close()
  })
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const connection = { maxAge: 300_000, tls: { ca: authority.cert } }
  return { pool: pools.for({ origin, connectTimeout: 5_000, connection }), server, resumed }
}

/** @returns once the connection has ended. */
async function ask(pool: ConnectionPool): Promise<string> {
  const reply = await new Promise<string>((resolve, reject) => {
    let body = ''
    pool.begin(
      { method: 'POST', path: '/', headers: ['x-test', 'yes'], body: '{}' },
      {
        onRequestStart: () => undefined,
        onResponseStart: () => undefined,
        onResponseData: (_controller, chunk) => {
          body += chunk
        },
        onResponseEnd: () => resolve(body),
        onResponseError: (_controller, error) => reject(error),
      },
    )
  })
  await eventually('the connection has ended', () => pool.size === 0)
  return reply
}

for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
  t.test(`${version}: a session outlives its connection and the collection of garbage`, async (t) => {
    const { pool, server, resumed } = await scene(t, version)
    for (let i = 0; i < 4; i++) {
      t.equal(await ask(pool), 'ok')
      for (let times = 0; times < 3; times++) {
        collect()
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    t.same(resumed, [false, true, true, true])
    server.setTicketKeys(randomBytes(48))
    t.equal(await ask(pool), 'ok', 'a provider that does not know the session any more')
    t.equal(await ask(pool), 'ok')
    t.same(resumed.slice(4), [false, true])
  })
