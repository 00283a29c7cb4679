/** A name with several addresses: one that refuses, is silent or takes long does not keep a call from being served. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { type Address, NameLookups } from '../../src/core/name-lookups.ts'
import { type ConnectionPool, Pools } from '../../src/services/upstream/pools.ts'
import { startWatch } from '../support/eventually.ts'
import { startRawUpstream } from '../support/raw-upstream.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

/** Listens, and accepts nothing: once its queue is full the kernel drops every further attempt. */
const NEVER_ACCEPTS = `
  const server = require('node:net').createServer()
  server.listen({ host: process.argv[1], port: Number(process.argv[2]), backlog: 1 }, () => {
    require('node:fs').writeSync(1, 'ready')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })`

async function silence(t: Test, host: string, port: number): Promise<void> {
  const child = spawn(process.execPath, ['-e', NEVER_ACCEPTS, host, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const waiting: Socket[] = []
  t.teardown(() => {
    for (const socket of waiting) socket.destroy()
    child.kill('SIGKILL')
  })
  await once(child.stdout, 'data')
  // One more than the backlog is accepted by the kernel.
  for (let i = 0; i < 3; i++) waiting.push(connect(port, host).on('error', () => undefined))
  await Promise.all(waiting.slice(0, 2).map((socket) => once(socket, 'connect')))
}

const at = (address: string): Address => ({ address, family: address.includes(':') ? 6 : 4 })

interface Scene {
  pool: ConnectionPool
  port: number
  accepted(): number
}

/** A provider at 127.0.0.1 whose name has these addresses. */
async function scene(t: Test, addresses: readonly string[], connectTimeout = 4_000): Promise<Scene> {
  const upstream = await startRawUpstream(() => OK)
  const names = new NameLookups({
    system: (_host, receive) => setImmediate(receive, undefined, addresses.map(at)),
    servers: async () => [],
  })
  const pools = new Pools({ names })
  t.teardown(async () => {
    await pools.close()
    await upstream.close()
  })
  const port = Number(new URL(upstream.url).port)
  return { pool: pools.for({ origin: `http://provider.test:${port}`, connectTimeout }), port, accepted: () => upstream.accepted }
}

/** @returns the body, or the code of the error. */
function ask(pool: ConnectionPool): Promise<string> {
  return new Promise((resolve) => {
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
        onResponseError: (_controller, error) => resolve((error as NodeJS.ErrnoException).code ?? error.message),
      },
    )
  })
}

t.test('goes past addresses that refuse the connection within a second', async (t) => {
  const { pool, accepted } = await scene(t, ['::1', '127.0.0.2', '127.0.0.3', '127.0.0.1'])
  const watch = startWatch()
  t.equal(await ask(pool), 'ok')
  t.ok(watch() < 1_000, `within ${watch()} ms`)
  t.equal(accepted(), 1)
})

t.test('waits a second for a silent address, then connects to the next one', async (t) => {
  const { pool, port, accepted } = await scene(t, ['127.0.0.2', '127.0.0.1'])
  await silence(t, '127.0.0.2', port)
  const began = performance.now()
  const watch = startWatch()
  t.equal(await ask(pool), 'ok')
  t.ok(performance.now() - began > 950, 'it has a second: a round trip to the other side of the world takes longer than the 250 ms of Node')
  t.ok(watch() < 3_000, `within ${watch()} ms`)
  t.equal(accepted(), 1, 'one connection is made')
})

t.test('ends the call with its connect time-out where all addresses are silent', async (t) => {
  const { pool, port } = await scene(t, ['127.0.0.2', '127.0.0.3'], 1_500)
  await silence(t, '127.0.0.2', port)
  await silence(t, '127.0.0.3', port)
  const began = performance.now()
  const watch = startWatch()
  t.equal(await ask(pool), 'TIMEOUT')
  t.ok(performance.now() - began > 1_450 && watch() < 4_000)
  t.equal(pool.size, 0, 'nothing is left')
})
