/**
 * Cost of one dispatch while many streams to the same provider are open: `node bench/dispatch.ts`.
 * Prints the synchronous part (the choice of a connection and the write), its median and its 99th percentile.
 */

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Dispatcher } from 'undici'
import { entryAt } from '../src/core/entry-at.ts'
import { Pools } from '../src/services/upstream/pools.ts'

const COUNTS = [10, 1_000, 5_000]
const ROUNDS = 2_000
const HEAD = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'

/** Answers `/open` with the head of a stream that never ends, everything else at once. */
async function startProvider(): Promise<{ origin: string; close(): void }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      socket.write(bytes.toString('latin1').startsWith('GET /open') ? HEAD : 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() }
}

/** Resolves when the head, or with `whole` the end, of the reply has come. @returns milliseconds of the synchronous part. */
function ask(pool: Dispatcher, path: string, whole: boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    let took = 0
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: () => undefined,
      onResponseStart: () => {
        if (!whole) resolve(took)
      },
      onResponseData: () => undefined,
      onResponseEnd: () => resolve(took),
      onResponseError: (_controller, error) => reject(error),
    }
    const start = performance.now()
    pool.dispatch({ method: 'GET', path }, handler)
    took = performance.now() - start
  })
}

for (const count of COUNTS) {
  const provider = await startProvider()
  const pools = new Pools()
  const pool = pools.for({ origin: provider.origin, connectTimeout: 5_000 })
  for (let open = 0; open < count; open += 50)
    await Promise.all(Array.from({ length: Math.min(50, count - open) }, () => ask(pool, '/open', false).catch(() => undefined)))
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) times.push(await ask(pool, '/', true))
  times.sort((a, b) => a - b)
  const micros = (share: number): string => `${(entryAt(times, Math.floor(share * ROUNDS)) * 1000).toFixed(1)} µs`
  console.log(`${String(count).padStart(5)} open streams: median ${micros(0.5)}, p99 ${micros(0.99)}`)
  void pools.close().catch(() => undefined)
  provider.close()
}
process.exit(0)
