/**
 * Runs in a network of its own, with a name server that is silent for some names: pages of hosts that the operator allows, and of strangers.
 * Prints what became of them as one line of JSON.
 */
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { guardedFetch, OutboundPolicy } from '../../src/services/outbound/index.ts'
import { startWatch } from './eventually.ts'
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

async function fetch(host: string, by = policy): Promise<{ fine: boolean; ms: number }> {
  const watch = startWatch()
  const fine = await guardedFetch(`http://${host}:${port}/`, { policy: by }).then(
    () => true,
    () => false,
  )
  return { fine, ms: watch() }
}

for (let i = 0; i < 8; i++) void fetch(`silent${i}.corp.test`)
await new Promise((resolve) => setTimeout(resolve, 300))
const watch = startWatch()
const own = await Promise.race([lookup('other.test').then(watch), new Promise<number>((resolve) => setTimeout(resolve, 4_000, -1))])
const pages = await Promise.all(Array.from({ length: 20 }, () => fetch('wiki.corp.test')))
const before = opened
await Promise.all(Array.from({ length: 20 }, () => fetch('stranger.example.com')))

// A name that leads outside at first and home from then on, at the address where what it led to is gone.
const site = createServer((_request, response) => {
  response.setHeader('content-type', 'text/plain').end('page')
})
site.listen(port, '127.0.0.2')
await once(site, 'listening')
const rebinding = new OutboundPolicy({ allowPrivate: ['127.0.0.2'], ports: [port] })
const homeBefore = opened
const first = await fetch('flip.example.com', rebinding)
const kept = await fetch('flip.example.com', rebinding)
site.closeAllConnections()
await new Promise((resolve) => site.close(resolve))
const gone = await fetch('flip.example.com', rebinding)
const moved = await fetch('flip.example.com', rebinding)
const result = {
  rebound: {
    fine: [first, kept, gone, moved].map(({ fine }) => fine),
    home: opened - homeBefore,
    queries: queries.get('flip.example.com'),
  },
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
