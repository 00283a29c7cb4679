/** Servers that nobody may reach, a site that may be reached, and a record of every connection that this process tries to open. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Test } from 'tap'
import { nameSources, queryBy } from '../../src/core/name-sources.ts'
import { ofFamily, serveNames } from './name-server.ts'

export type Serve = (request: IncomingMessage, response: ServerResponse) => void

/** A loopback address that stands for the public. */
export const OPEN = '127.0.0.2'
/** Loopback addresses at which a canary sits, on the port of the site. */
const CLOSED = ['127.0.0.1', '::1', '127.0.0.3']
export const SECRET = 'the canary sings'

export interface Canaries {
  readonly port: number
  /** Requests that the canaries have seen. */
  hits: number
  /** Answers what is asked of the site at `OPEN`. */
  serve: Serve
  /** Requests that the site has seen. */
  readonly seen: IncomingMessage[]
  /** Address of the site. */
  at(path?: string): string
  /** Tries of this process to connect, as `address:port`, but for those that are expected. */
  strange(): string[]
  /** All tries. */
  readonly tries: string[]
  /** Connecting to these is what the test itself does. @param places as `address:port`. */
  expect(...places: string[]): void
}

export async function canaries(t: Test): Promise<Canaries> {
  const servers: Server[] = []
  const listen = async (host: string, at: number, respond: Serve): Promise<number> => {
    const server = createServer(respond).listen(at, host)
    await once(server, 'listening')
    servers.push(server)
    return (server.address() as AddressInfo).port
  }
  const seen: IncomingMessage[] = []
  const sing: Serve = (_request, response) => {
    all.hits++
    response.end(SECRET)
  }
  const port = await listen(CLOSED[0], 0, sing)
  for (const host of CLOSED.slice(1)) await listen(host, port, sing)
  await listen(OPEN, port, (request, response) => {
    seen.push(request)
    response.on('error', () => {})
    all.serve(request, response)
  })
  const tries: string[] = []
  const expected = new Set([`${OPEN}:${port}`, `${OPEN}:80`, `${OPEN}:443`])
  const record = (message: unknown): void => {
    const { socket } = message as { socket: Socket }
    socket.on('connectionAttempt', (address: string, at: number) => void tries.push(`${address}:${at}`))
  }
  subscribe('net.client.socket', record)
  t.teardown(() => {
    unsubscribe('net.client.socket', record)
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
  })
  const all: Canaries = {
    port,
    hits: 0,
    serve: (_request, response) => void response.end(),
    seen,
    at: (path = '/') => `http://${OPEN}:${port}${path}`,
    strange: () => [...new Set(tries)].filter((place) => !expected.has(place)),
    tries,
    expect: (...places) => {
      for (const place of places) expected.add(place)
    },
  }
  return all
}

/** Addresses of a name; a function is asked anew at each look-up. */
export type Names = Record<string, readonly string[] | (() => readonly string[])>

/**
 * Has all look-ups of this process made at a name server that knows these names and no others.
 * @returns the names that were looked up, in order.
 */
export async function namesOnly(t: Test, names: Names): Promise<string[]> {
  const asked: string[] = []
  const known = new Map<string, readonly string[] | undefined>()
  // A look-up queries for both kinds of addresses, and both have one answer.
  const halves = new Map<string, number>()
  const server = await serveNames(0, (host, family) => {
    const half = halves.get(host) ?? 0
    halves.set(host, half === 0 ? family : 0)
    if (half === 0 || half === family) {
      asked.push(host)
      const given = names[host]
      known.set(host, typeof given === 'function' ? given() : given)
    }
    const addresses = known.get(host)
    return addresses ? ofFamily(addresses, family) : null
  })
  const { port } = server.address()
  const query = (host: string) => {
    const resolver = new Resolver({ timeout: 5_000, tries: 1 })
    resolver.setServers([`127.0.0.1:${port}`])
    return queryBy(resolver, host)
  }
  const before = { ...nameSources }
  nameSources.query = query
  nameSources.system = (host, receive) =>
    void query(host).then((addresses) => {
      const code = 'ENOTFOUND'
      receive(addresses.length === 0 ? Object.assign(new Error(`getaddrinfo ${code} ${host}`), { code }) : undefined, addresses)
    })
  t.teardown(() => {
    Object.assign(nameSources, before)
    server.close()
  })
  return asked
}
