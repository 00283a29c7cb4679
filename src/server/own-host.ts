/** Names under which a listener is reached: what a request in absolute form may name, and what a `Host` may say where it is checked. */
import type { IncomingMessage } from 'node:http'
import { isIP, type Socket } from 'node:net'

/** A host with its port. */
export interface Authority {
  /** Lower case; an IPv6 address without its brackets. */
  readonly name: string
  readonly port: number
}

const HTTP_PORT = 80
const HTTPS_PORT = 443

/** @param text `uri-host [ ":" port ]` (RFC 9110 section 7.2), checked by the edge guard. @returns undefined for anything else. */
export function parseAuthority(text: string, scheme: 'http' | 'https' = 'http'): Authority | undefined {
  const url = URL.parse(`${scheme}://${text}`)
  if (url?.username !== '' || url.password !== '' || url.pathname !== '/' || url.search !== '' || url.hash !== '') return undefined
  const name = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  return { name, port: url.port === '' ? (scheme === 'http' ? HTTP_PORT : HTTPS_PORT) : Number(url.port) }
}

/** Names and addresses of the machine itself (RFC 6761 section 6.3, RFC 1122 section 3.2.1.3, RFC 4291 section 2.5.3). */
export function isLoopback(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
}

/** True if the name is that of the address and port on which a connection came in. */
function isReachedAt({ name, port }: Authority, { localAddress = '', localPort }: Pick<Socket, 'localAddress' | 'localPort'>): boolean {
  const address = localAddress.replace(/^::ffff:(?=\d+\.)/, '')
  return port === localPort && (name === address || (isLoopback(name) && isLoopback(address)))
}

/**
 * True if a `Host` may be that of this listener, so that a browser which sends it was not led here by the name server of another site
 * (DNS rebinding): names with a dot have to be known. Of an address or a single label no other site is the owner.
 * @param names lower case.
 */
export function isOwnName(host: string, names: ReadonlySet<string>): boolean {
  const name = parseAuthority(host)?.name
  return name !== undefined && (isIP(name) !== 0 || !name.includes('.') || isLoopback(name) || names.has(name))
}

const ABSOLUTE = /^(https?):\/\/([^/?#]*)(.*)$/i

/**
 * A request target in absolute form, which clients send that take the gateway for a proxy; a server must accept it (RFC 9112
 * section 3.2.2). Its host stands in for the `Host` field, and the request goes on with the path alone.
 * @param publicUrl the address that the operator has configured.
 * @returns false where the target names another host: this gateway is no proxy.
 */
export function takeAbsoluteForm(request: IncomingMessage, publicUrl: string | undefined): boolean {
  const [, scheme = '', authority = '', rest = ''] = ABSOLUTE.exec(request.url ?? '') ?? []
  if (scheme === '') return true
  const target = parseAuthority(authority, scheme.toLowerCase() === 'https' ? 'https' : 'http')
  if (!target || !(isReachedAt(target, request.socket) || isAddress(target, publicUrl))) return false
  request.url = rest.startsWith('/') ? rest : `/${rest}`
  request.headers.host = authority
  return true
}

function isAddress({ name, port }: Authority, url: string | undefined): boolean {
  const known = url === undefined ? null : URL.parse(url)
  if (!known) return false
  const own = parseAuthority(known.host, known.protocol === 'https:' ? 'https' : 'http')
  return own?.name === name && own.port === port
}
