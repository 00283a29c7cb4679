/** Which proxy stands in front of a provider or another service: its own setting, else the variables of the environment. */
import { BlockList, isIP } from 'node:net'
import { isLocalHost } from '../../core/transport.ts'
import { ConnectionFailure } from './connection-failure.ts'

export type ProxyEnvironment = Readonly<Record<string, string | undefined>>

/** In place of a proxy's address: none, whatever the environment says. */
export const DIRECT = 'direct'

/**
 * @param own the provider's setting: an address, or `direct`.
 * @returns undefined where the provider is called directly: addresses of this machine and the metadata services of clouds always are.
 * @throws ConnectionFailure for an address of the environment that is no HTTP proxy's.
 */
export function proxyFor(target: URL, own: string | undefined, env: ProxyEnvironment): URL | undefined {
  if (own === DIRECT || isLocalHost(target.hostname) || isMetadataHost(target.hostname)) return undefined
  if (own !== undefined) return proxyUrl(own)
  const secure = target.protocol === 'https:'
  // In lower case first, as curl (https://curl.se/docs/manpage.html, "Environment") and Node's own `NODE_USE_ENV_PROXY` read them.
  const named = secure ? env.https_proxy || env.HTTPS_PROXY : env.http_proxy || env.HTTP_PROXY
  if (!named || isExcepted(target, env.no_proxy || env.NO_PROXY || '')) return undefined
  return proxyUrl(named)
}

/**
 * Addresses from which the machine learns its identity: link-local addresses, which no router forwards (RFC 3927 section 7, RFC 4291 section 2.5.6), those
 * of AWS over IPv6, of Azure and of Alibaba, and the names of Google's. Through a proxy the gateway would get the identity of the proxy's
 * machine, and the proxy the tokens of this one.
 */
const METADATA = new BlockList()
METADATA.addSubnet('169.254.0.0', 16, 'ipv4')
METADATA.addSubnet('fe80::', 10, 'ipv6')
METADATA.addSubnet('fd00:ec2::', 32, 'ipv6')
METADATA.addAddress('168.63.129.16', 'ipv4')
METADATA.addAddress('100.100.100.200', 'ipv4')
const METADATA_NAMES: ReadonlySet<string> = new Set(['metadata', 'metadata.google.internal', 'metadata.goog'])

function isMetadataHost(hostname: string): boolean {
  const host = hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase()
  const family = isIP(host)
  return family === 0 ? METADATA_NAMES.has(host) : METADATA.check(host, family === 4 ? 'ipv4' : 'ipv6')
}

/** @throws ConnectionFailure */
export function proxyUrl(text: string): URL {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`)
  if (!url || url.hostname === '' || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new ConnectionFailure('proxy', 'PROXY_UNSUPPORTED')
  return url
}

/** The value of `Proxy-Authorization` (RFC 7617); undefined for a proxy without userinfo. */
export function proxyCredentials({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined
  return `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * By the list of `NO_PROXY`: `*`; a name, which stands for those below it too, with or without a dot or `*.` in front; an address or a
 * range of them; each perhaps with a port.
 */
function isExcepted(target: URL, list: string): boolean {
  const host = target.hostname.replace(/^\[|\]$/g, '').toLowerCase()
  const port = target.port || (target.protocol === 'https:' ? '443' : '80')
  return list.split(/[\s,]+/).some((entry) => entry !== '' && covers(entry.toLowerCase(), host, port))
}

function covers(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true
  const [, bracketed, plain = '', only] = /^(?:\[([^\]]*)\]|([^:]*|[^:]*:[^:]*:.*?))(?::(\d+))?$/.exec(entry) ?? []
  if (only !== undefined && only !== port) return false
  const name = bracketed ?? plain
  const family = isIP(host)
  if (family !== 0) return inRange(name, host, family)
  const suffix = name.replace(/^\*?\./, '')
  return suffix !== '' && (host === suffix || host.endsWith(`.${suffix}`))
}

function inRange(entry: string, host: string, family: number): boolean {
  if (entry === host) return true
  const [network = '', prefix] = entry.split('/')
  if (isIP(network) !== family) return false
  const type = family === 4 ? 'ipv4' : 'ipv6'
  const range = new BlockList()
  try {
    if (prefix === undefined) range.addAddress(network, type)
    else range.addSubnet(network, Number(prefix), type)
  } catch {
    return false
  }
  return range.check(host, type)
}
