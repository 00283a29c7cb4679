/**
 * Addresses that may be fetched: the public internet, and the exceptions that an operator wrote down; and what an address shows of that before
 * anything is looked up.
 */
import { BlockList, isIP } from 'node:net'
import { addRange, isNeighbour, isPublic, within } from './addresses.ts'
import { refused } from './refusals.ts'

export interface OutboundSettings {
  /**
   * Exceptions: a host (`wiki.corp`, `*.corp`), an address or a range (`10.1.0.0/16`, `fd12::/16`) on the usual ports,
   * each but a range also with a port, which is then the only one (`wiki.corp:8080`, `[::1]:9000`). A host may then have
   * private addresses, but never those of a cloud's metadata service; an address or a range covers exactly itself.
   */
  allowPrivate?: readonly string[]
  /** Ports that any host may have. */
  ports?: readonly number[]
}

interface Exception {
  /** Without brackets and final dot; `*.` in front for all names below. */
  host: string
  port: number | undefined
}

const USUAL_PORTS = [80, 443]
/** Names that mean this machine or its neighbours, whatever a resolver says. */
const LOCAL_NAMES = /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|private|corp|home|lan|home\.arpa|onion|invalid|test)$/

export class OutboundPolicy {
  private readonly hosts: Exception[] = []
  private readonly ranges = new BlockList()
  private readonly ports: ReadonlySet<number>

  /** @throws Error naming the entry that is neither a host, an address nor a range. */
  constructor({ allowPrivate = [], ports = USUAL_PORTS }: OutboundSettings = {}) {
    this.ports = new Set(ports)
    for (const entry of allowPrivate) this.allow(entry)
  }

  private allow(entry: string): void {
    if (entry.includes('/') || isIP(entry)) {
      addRange(this.ranges, entry)
      return
    }
    const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]+)\]|((?:\*\.)?[A-Za-z0-9_.-]+))(?::(\d{1,5}))?$/.exec(entry) ?? []
    const host = (bracketed ?? plain ?? '').toLowerCase().replace(/\.$/, '')
    if (host === '' || host === '*.' || Number(port) > 65535) throw new Error(`${entry} is neither a host, an address nor a range`)
    if (isIP(host) && port === undefined) addRange(this.ranges, host)
    this.hosts.push({ host: canonical(host), port: port === undefined ? undefined : Number(port) })
  }

  /** True if an exception names the host at this port. */
  names(host: string, port: number): boolean {
    return this.hosts.some((one) => {
      const same = one.host.startsWith('*.') ? host.endsWith(one.host.slice(1)) : one.host === host
      return same && (one.port === undefined ? this.ports.has(port) : one.port === port)
    })
  }

  /** @param host as `bareHost` gives it. */
  allowsPort(host: string, port: number): boolean {
    return this.ports.has(port) || this.names(host, port)
  }

  /** True if the name may be looked up at all; addresses are judged by `allowsAddress`. */
  allowsName(host: string, port: number): boolean {
    // A name without a dot is completed by the resolver's own search list.
    return this.names(host, port) || (host.includes('.') && !LOCAL_NAMES.test(host))
  }

  /** True if `address`, which `host` is or has, may be connected to at this port. */
  allowsAddress(host: string, address: string, port: number): boolean {
    if (isPublic(address) || within(this.ranges, address)) return true
    if (isIP(address) && this.names(canonical(address), port)) return true
    return isIP(host) === 0 && this.names(host, port) && isNeighbour(address)
  }
}

/** An IPv6 address as URLs write it; anything else as it is. */
export function canonical(host: string): string {
  return isIP(host) === 6 ? bareHost(URL.parse(`http://[${host}]`)?.hostname ?? host) : host
}

/** A URL's host name without brackets and final dots. */
export function bareHost(hostname: string): string {
  return hostname
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.+$/, '')
    .toLowerCase()
}

const LONGEST = 8192
/** Characters that browsers and servers read differently: white space, control characters, backslashes. */
const AMBIGUOUS = /[\p{Cc}\s\\]/u

/**
 * @param text absolute, or relative to `base` as redirects may be.
 * @throws Fault 400 saying what about the address is not allowed.
 */
export function checkAddress(text: string, policy: OutboundPolicy, base?: URL): URL {
  if (text.length > LONGEST) throw refused(`it is longer than ${LONGEST} characters`)
  if (AMBIGUOUS.test(text)) throw refused('it has white space, control characters or backslashes')
  const url = URL.parse(text, base?.href)
  if (!url) throw refused('it is no absolute URL')
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw refused('only http and https are fetched')
  if (url.username !== '' || url.password !== '' || /^[a-z]+:\/*[^/?#]*@/i.test(text)) throw refused('it carries credentials')
  const host = bareHost(url.hostname)
  if (host === '') throw refused('it has no host')
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  if (!policy.allowsPort(host, port)) throw refused(`port ${port} is not allowed`)
  const reachable = isIP(host) ? policy.allowsAddress(host, host, port) : policy.allowsName(host, port)
  if (!reachable) throw refused('the host is not a public one')
  url.hash = ''
  return url
}
