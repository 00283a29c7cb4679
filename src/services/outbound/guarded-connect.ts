/// <reference path="./undici-parts.d.ts" />
/**
 * Opens connections only to addresses that the policy allows. Of the addresses that a look-up has found, now or a moment ago, all are
 * checked for each connection, and only they are connected to, so a name cannot resolve to others in between. The connected socket is
 * checked too.
 */
import { isIP } from 'node:net'
import type { buildConnector } from 'undici'
import connector from 'undici/lib/core/connect.js'
import { names } from '../../core/name-lookups.ts'
import type { Address } from '../../core/name-sources.ts'
import { guardedNames, type Resolve } from './guarded-names.ts'
import { bareHost, canonical, type OutboundPolicy } from './policy.ts'
import { unreachable } from './refusals.ts'

export type { Resolve }
export type Resolved = Address

/** Names that the operator wrote down are looked up as the machine does it, hosts file included, together with those of providers. */
const resolveBySystem: Resolve = (host) =>
  new Promise((resolve, reject) => names.addresses(host, (error, addresses) => (error ? reject(error) : resolve(addresses))))

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
    permittedAddresses(host, urlPort(target), options).then((addresses) => {
      dial(addresses, timeout)(target, (error, socket) => {
        if (error || !socket) {
          names.doubt(host)
          guardedNames.doubt(host)
          return fail(error)
        }
        const { remoteAddress } = socket
        if (remoteAddress !== undefined && addresses.some(({ address }) => same(address, remoteAddress))) return callback(null, socket)
        socket.destroy()
        fail(unreachable(new Error('connected to another address')))
      })
    }, fail)
  }
}

function urlPort({ port, protocol }: { port?: string; protocol: string }): number {
  return port ? Number(port) : protocol === 'https:' ? 443 : 80
}

/** @throws Fault where one of them is not allowed: a name with allowed and forbidden addresses is refused. */
async function permittedAddresses(host: string, port: number, { policy, resolve: given }: ConnectOptions): Promise<readonly Resolved[]> {
  const family = isIP(host)
  if (family === 0 && !policy.allowsName(host, port)) throw unreachable(new Error('the name is not allowed'))
  const resolve = given ?? (policy.names(host, port) ? resolveBySystem : guardedNames.resolve)
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
