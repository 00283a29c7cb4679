/// <reference path="./undici-parts.d.ts" />
/**
 * Opens connections only to addresses that the policy allows. One look-up per connection: all its addresses
 * are checked and only they are connected to, so a name cannot resolve to others in between. The connected socket is checked too.
 */
import { lookup, Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { buildConnector } from 'undici'
import connector from 'undici/lib/core/connect.js'
import { bareHost, canonical, type OutboundPolicy } from './policy.ts'
import { unreachable } from './refusals.ts'

export interface Resolved {
  address: string
  family: number
}

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<readonly Resolved[]>

/** Queries name servers only: no hosts file, no search list, and no thread of the pool that a slow name server could keep. */
const resolveByServers: Resolve = async (host) => {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  return answers.flatMap((answer, i) =>
    answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: i === 0 ? 4 : 6 })) : [],
  )
}

/** Names that the operator wrote down are looked up as the machine does it, hosts file included. */
const resolveBySystem: Resolve = (host) => lookup(host, { all: true, verbatim: true })

export interface ConnectOptions {
  policy: OutboundPolicy
  resolve?: Resolve | undefined
  /** Milliseconds for one connection. */
  timeout?: number
  /** Makes the connector that dials the given addresses, whatever the host name. */
  dial?: (addresses: readonly Resolved[], timeout: number) => buildConnector.connector
}

const CONNECT_TIMEOUT = 5_000

/** For undici's `connect` option: also for clients that keep their own connections. */
export function guardedConnect(options: ConnectOptions): buildConnector.connector {
  const { timeout = CONNECT_TIMEOUT, dial = pinned } = options
  return (target, callback) => {
    const host = bareHost(target.hostname)
    const fail = (cause: unknown): void => callback(cause instanceof Error ? cause : unreachable(cause), null)
    addressesOf(host, portOf(target), options).then((addresses) => {
      dial(addresses, timeout)(target, (error, socket) => {
        if (error || !socket) return fail(error)
        const { remoteAddress } = socket
        if (remoteAddress !== undefined && addresses.some(({ address }) => same(address, remoteAddress))) return callback(null, socket)
        socket.destroy()
        fail(unreachable(new Error('connected to another address')))
      })
    }, fail)
  }
}

function portOf({ port, protocol }: { port?: string; protocol: string }): number {
  return port ? Number(port) : protocol === 'https:' ? 443 : 80
}

/** @throws Fault where one of them is not allowed: a name with allowed and forbidden addresses is refused. */
async function addressesOf(host: string, port: number, { policy, resolve: given }: ConnectOptions): Promise<readonly Resolved[]> {
  const family = isIP(host)
  if (family === 0 && !policy.allowsName(host, port)) throw unreachable(new Error('the name is not allowed'))
  const resolve = given ?? (policy.names(host, port) ? resolveBySystem : resolveByServers)
  const addresses = family === 0 ? await resolve(host) : [{ address: host, family }]
  if (addresses.length === 0) throw unreachable(new Error('the name has no address'))
  if (!addresses.every(({ address }) => policy.allowsAddress(host, address, port)))
    throw unreachable(new Error('the address is not allowed'))
  return addresses
}

function pinned(addresses: readonly Resolved[], timeout: number): buildConnector.connector {
  return connector({
    timeout,
    allowH2: false,
    maxCachedSessions: 0,
    lookup: (_host, { all }, callback) => {
      const [first] = addresses
      if (all) callback(null, [...addresses])
      else if (first) callback(null, first.address, first.family)
      else callback(new Error('the name has no address'), '')
    },
  })
}

/** A socket may write an IPv6 address in another of its forms. */
function same(wanted: string, connected: string): boolean {
  return wanted === connected || canonical(wanted) === canonical(connected)
}
