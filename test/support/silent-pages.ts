/**
 * Runs in a network of its own, with a name server that is silent for some names: pages of hosts that the operator allows, and of strangers.
 * Prints what became of them as one line of JSON.
 */
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { guardedFetch, OutboundPolicy } from '../../src/services/outbound/index.ts'
import { startNameServer } from './name-server.ts'

const queries = await startNameServer()
let opened = 0
const server = createServer((_request, response) => {
  response.setHeader('content-type', 'text/plain').end('page')
})
server.on('connection', () => opened++)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo
const policy = new OutboundPolicy({ allowPrivate: [`*.corp.test:${port}`], ports: [port] })

async function fetch(host: string): Promise<{ fine: boolean; ms: number }> {
  const began = performance.now()
  const fine = await guardedFetch(`http://${host}:${port}/`, { policy }).then(
    () => true,
    () => false,
  )
  return { fine, ms: Math.round(performance.now() - began) }
}

for (let i = 0; i < 8; i++) void fetch(`silent${i}.corp.test`)
await new Promise((resolve) => setTimeout(resolve, 300))
const began = performance.now()
const own = await Promise.race([
  lookup('other.test').then(() => Math.round(performance.now() - began)),
  new Promise<number>((resolve) => setTimeout(resolve, 4_000, -1)),
])
const pages = await Promise.all(Array.from({ length: 20 }, () => fetch('wiki.corp.test')))
const before = opened
await Promise.all(Array.from({ length: 20 }, () => fetch('stranger.example.com')))
const result = {
  own,
  pages: {
    failed: pages.filter(({ fine }) => !fine).length,
    slowest: Math.max(...pages.map(({ ms }) => ms)),
    queries: queries.get('wiki.corp.test'),
  },
  strangers: { opened: opened - before, queries: queries.get('stranger.example.com') },
}
// An ordinary end would wait for the look-ups that hang.
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.kill(process.pid, 'SIGKILL'))
