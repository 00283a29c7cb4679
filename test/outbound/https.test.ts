/** Guarded fetching over TLS: the name that was asked for is the name that is checked, whatever address it has. */
import { once } from 'node:events'
import { createServer as createPlainServer } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setDefaultCACertificates, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { Fault } from '../../src/core/faults.ts'
import { type Fetched, guardedFetch, OutboundPolicy, type Resolved } from '../../src/services/outbound/index.ts'
import { certificate, type Signed } from '../support/certificates.ts'

const OPEN = '127.0.0.2'
const authority = certificate({ name: 'the test authority' })
const stranger = certificate({ name: 'another authority' })
setDefaultCACertificates([authority.cert])

interface Site {
  port: number
  /** Host header and server name of each request that arrived. */
  seen: [host: string | undefined, name: string | false | null | undefined][]
}

async function site(t: Test, { cert, key }: Signed, location?: string): Promise<Site> {
  const seen: Site['seen'] = []
  const server: Server = createServer({ cert, key: key.export({ type: 'pkcs8', format: 'pem' }) }, (request, response) => {
    seen.push([request.headers.host, (request.socket as TLSSocket).servername])
    if (location === undefined) response.end('fine')
    else response.writeHead(302, { location }).end()
  })
  server.listen(0, OPEN)
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, seen }
}

const home = async (): Promise<Resolved[]> => [{ address: OPEN, family: 4 }]

function fetched(address: string, ...ports: number[]): Promise<Fetched> {
  return guardedFetch(address, { policy: new OutboundPolicy({ allowPrivate: [`${OPEN}/32`], ports: [443, ...ports] }), resolve: home })
}

async function refused(t: Test, what: string, fetching: Promise<Fetched>): Promise<void> {
  const fault = await fetching.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  t.ok(fault instanceof Fault, what)
  t.match(fault, { status: 422, message: 'The address could not be fetched', metadata: { fetch: 'unreachable' } }, what)
}

t.test('the right name is fetched, and told to the server', async (t) => {
  const { port, seen } = await site(t, certificate({ name: 'x', by: authority, hosts: ['www.example.com', '*.sub.example.com'] }))
  for (const host of ['www.example.com', 'WWW.Example.COM', 'a.sub.example.com']) {
    const { status, bytes, url } = await fetched(`https://${host}:${port}/`, port)
    t.same([status, bytes.toString(), url], [200, 'fine', `https://${host.toLowerCase()}:${port}/`])
    t.same(seen.at(-1), [`${host.toLowerCase()}:${port}`, host.toLowerCase()])
  }
})

t.test('any other is refused before a byte of the request is sent', async (t) => {
  const good = await site(t, certificate({ name: 'x', by: authority, hosts: ['www.example.com'] }))
  const at = (host: string): Promise<Fetched> => fetched(`https://${host}:${good.port}/`, good.port)
  await at('www.example.com')
  for (const host of ['example.com', 'evil.example', 'a.www.example.com', 'www.example.com.evil.example', OPEN])
    await refused(t, host, at(host))
  t.equal(good.seen.length, 1, 'nor does a session of the right name serve another')
  for (const [what, options] of [
    ['an authority that nobody knows', { by: stranger, hosts: ['www.example.com'] }],
    ['its own authority', { hosts: ['www.example.com'] }],
    ['out of date', { by: authority, hosts: ['www.example.com'], expired: true }],
  ] as const) {
    const bad = await site(t, certificate({ name: 'x', ...options }))
    await refused(t, what, fetched(`https://www.example.com:${bad.port}/`, bad.port))
    t.same(bad.seen, [], what)
  }
  const plain = createPlainServer((_request, response) => response.end('plain')).listen(0, OPEN)
  await once(plain, 'listening')
  t.teardown(() => void plain.close())
  const { port } = plain.address() as AddressInfo
  await refused(t, 'a server without TLS', fetched(`https://www.example.com:${port}/`, port))
})

t.test('an address of its own in the certificate, and redirects', async (t) => {
  const numbered = await site(t, certificate({ name: 'x', by: authority, addresses: [OPEN] }))
  t.equal((await fetched(`https://${OPEN}:${numbered.port}/`, numbered.port)).bytes.toString(), 'fine')
  const from = async (location: string, ...ports: number[]): Promise<Fetched> => {
    const moved = await site(t, certificate({ name: 'x', by: authority, hosts: ['www.example.com'] }), location)
    return fetched(`https://www.example.com:${moved.port}/`, moved.port, ...ports)
  }
  t.equal((await from(`https://${OPEN}:${numbered.port}/`, numbered.port)).bytes.toString(), 'fine')
  await refused(t, 'to a name that the certificate does not have', from(`https://other.example.com:${numbered.port}/`, numbered.port))
  const inside = await from('https://127.0.0.1/').catch((thrown: unknown) => thrown)
  t.match(inside, { status: 400, metadata: { fetch: 'refused' } })
})
