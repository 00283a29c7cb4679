/** The address of a caller, also behind balancers: what failed authentications count by. */
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, type Socket } from 'node:net'
import type { Log } from '../core/log.ts'
import { VISITOR_HEADER, visitorHeader } from '../core/visitor-header.ts'

/** Entries of X-Forwarded-For that are read, from the right. */
const MAX_HOPS = 64
/** Networks that no caller of the internet comes from: IPv4 private and loopback, IPv6 loopback, unique local and link-local. */
const INNER = parseNetworks([
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '::1',
  'fc00::/7',
  'fe80::/10',
])

/** Requests that are looked at for a proxy that is not listed: after so many from listed ones there is none to be expected. */
const MAX_LOOKS = 100

/** Stands for all callers on Unix sockets: the system names none of them. */
export const UNIX_PEER = 'unix'

/** Addresses by connection: those that a PROXY header named, and `UNIX_PEER`. */
const announced = new WeakMap<Socket, string>()

/** Notes the address of a connection before its first request. */
export function announceAddress(socket: Socket, address: string): void {
  announced.set(socket, address)
}

export function announcedAddress(socket: Socket): string | undefined {
  return announced.get(socket)
}

/** @returns writes a line of an inner address that sends X-Forwarded-For and is not trusted. */
export function proxyWarning(log: Pick<Log, 'warn'>): (proxy: string) => void {
  return (proxy) =>
    log.warn({ proxy }, 'X-Forwarded-For from an address that server.trusted_proxies does not name: its callers count as one')
}

export class ClientAddresses {
  private readonly trusted: BlockList
  private readonly onUnknownProxy: (address: string) => void
  private readonly roomHash: string | undefined
  private hasWarned = false
  private looks = MAX_LOOKS

  /**
   * @param trustedProxies addresses and networks in CIDR form.
   * @param onUnknownProxy called once, for the first inner address that sends X-Forwarded-For and is not trusted.
   * @param roomHash of the control room's own key.
   */
  constructor(trustedProxies: readonly string[], onUnknownProxy: (address: string) => void = () => {}, roomHash?: string) {
    this.trusted = parseNetworks(trustedProxies)
    this.onUnknownProxy = onUnknownProxy
    this.roomHash = roomHash
  }

  /**
   * The caller's IPv4 address, or the /64 network of its IPv6 address, since one caller usually has all of it (RFC 6177).
   * Of X-Forwarded-For the right-most entry that no trusted proxy has: everything left of it may be invented.
   */
  of({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string {
    const visitor = this.requestVisitor(headers)
    if (visitor !== undefined) return visitor
    const nearest = announced.get(socket) ?? plain(socket.remoteAddress ?? '')
    const forwarded = headers['x-forwarded-for']
    if (forwarded === undefined) return bucketName(nearest)
    if (!this.isTrusted(nearest)) {
      if (!this.hasWarned && contains(INNER, nearest)) {
        this.hasWarned = true
        this.onUnknownProxy(nearest)
      }
      return bucketName(nearest)
    }
    return bucketName(this.behind(nearest, String(forwarded)))
  }

  /** The address that the control room states, which no other caller can. */
  private requestVisitor({ [VISITOR_HEADER]: stated }: IncomingMessage['headers']): string | undefined {
    if (typeof stated !== 'string' || this.roomHash === undefined) return undefined
    const [address = ''] = stated.split(' ')
    return visitorHeader(address, this.roomHash)[VISITOR_HEADER] === stated ? address : undefined
  }

  /** Warns of a proxy that is not listed from its first requests on, since the address of a caller is seldom looked up. */
  look(request: Pick<IncomingMessage, 'socket' | 'headers'>): void {
    if (this.looks === 0) return
    this.looks--
    this.of(request)
  }

  isTrusted(address: string): boolean {
    return contains(this.trusted, plain(address))
  }

  private behind(nearest: string, forwarded: string): string {
    let caller = nearest
    for (const entry of forwarded.split(',').slice(-MAX_HOPS).reverse()) {
      const address = addressIn(entry.trim())
      // An entry that is no address comes from the sender in front of the last trusted proxy.
      if (address === undefined) return caller
      caller = address
      if (!this.isTrusted(address)) return caller
    }
    return caller
  }
}

/** An entry as proxies write it: an address, or one with a port, IPv6 then in brackets. */
function addressIn(entry: string): string | undefined {
  const [, bracketed] = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(entry) ?? []
  const [, withPort] = /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/.exec(entry) ?? []
  const address = plain(bracketed ?? withPort ?? entry)
  return isIP(address) === 0 ? undefined : address
}

/** Without the zone of a link-local address; an IPv4 address that IPv6 carries as itself. */
function plain(address: string): string {
  const bare = address.replace(/%.*$/s, '')
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(bare) ? bare.slice(7) : bare
}

function bucketName(address: string): string {
  return isIP(address) === 6 ? `${addressNetwork(address)}::/64` : address
}

/** The first four groups of an IPv6 address, without leading zeros. */
function addressNetwork(address: string): string {
  const [head = '', tail] = address.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  // An embedded IPv4 address stands for two groups.
  const count = before.length + after.length + (address.includes('.') ? 1 : 0)
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - count) }, () => '0')
  const groups = [...before, ...zeros, ...after].slice(0, 4)
  return groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')
}

function contains(list: BlockList, address: string): boolean {
  const version = isIP(address)
  return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

function parseNetworks(entries: readonly string[]): BlockList {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return list
}
