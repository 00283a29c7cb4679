/** Servers that nobody may reach, a site that may be reached, and a record of every connection that this process tries to open. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import dns, { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import type { AddressInfo, Socket } from 'node:net'
import type { Test } from 'tap'

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

/** Name servers and hosts file that know these names and no others. @returns the names that were looked up, in order. */
export function namesOnly(t: Test, names: Names): string[] {
  const asked: string[] = []
  const answer = (host: string): readonly string[] => {
    const known = names[host]
    const addresses = typeof known === 'function' ? known() : known
    if (!addresses) throw Object.assign(new Error(`queryA ENOTFOUND ${host}`), { code: 'ENOTFOUND' })
    return addresses
  }
  const byHost = new Map<string, readonly string[]>()
  const { resolve4, resolve6 } = Resolver.prototype
  // One look-up asks for both kinds, this one first.
  const four = async (host: string): Promise<string[]> => {
    asked.push(host)
    byHost.delete(host)
    const addresses = answer(host)
    byHost.set(host, addresses)
    return addresses.filter((address) => !address.includes(':'))
  }
  const six = async (host: string): Promise<string[]> => (byHost.get(host) ?? []).filter((address) => address.includes(':'))
  const { lookup } = dns
  const both = async (host: string): Promise<{ address: string; family: number }[]> => {
    asked.push(host)
    return answer(host).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
  Object.assign(Resolver.prototype, { resolve4: four, resolve6: six })
  Object.assign(dns, { lookup: both })
  syncBuiltinESMExports()
  t.teardown(() => {
    Object.assign(Resolver.prototype, { resolve4, resolve6 })
    Object.assign(dns, { lookup })
    syncBuiltinESMExports()
  })
  return asked
}
