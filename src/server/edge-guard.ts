/** Refuses requests that Node's parser accepts and a gateway must not: checks the request line and the raw headers. */
import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'
import { Fault } from '../core/faults.ts'
import { asksUpgrade, HANDSHAKE, isHandshake, isIgnoredOffer } from '../core/websocket-handshake.ts'
import { takeAbsoluteForm } from './own-host.ts'

/** Headers that may occur once: with two of them, a proxy between us and the caller may read another one than we do. */
const SINGLE = [
  'host',
  'authorization',
  'content-type',
  'content-length',
  'transfer-encoding',
  'x-session-id',
  'x-api-key',
  'x-goog-api-key',
]
/** A bit for each of them, 0 for the other names whose values are checked. */
const CHECKED = new Map([...SINGLE.map((name, place): [string, number] => [name, 1 << place]), ['connection', 0]])
const HOST_BIT = 1
/** One bit per length that such a name may have; all are below 31. */
const CHECKED_LENGTHS = [...CHECKED.keys()].reduce((bits, name) => bits | (1 << name.length), 0)

const MAX_TARGET_LENGTH = 8192

function bad(field: string, message: string): Fault {
  return new Fault('bad_request', { message: `${field}: ${message}`, metadata: { field } })
}

/**
 * RFC 9112 sections 3.2, 6.1 and 6.3 and RFC 9110 section 7.6.1, read strictly. A target in absolute form becomes one in origin form.
 * @param publicUrl the address of the gateway, where it is configured.
 * @returns the fault to answer with before the connection is closed, undefined for a request that is clean.
 */
export function edgeFault(request: IncomingMessage, publicUrl: string | undefined): Fault | undefined {
  return headFault(request, publicUrl) ?? upgradeFault(request)
}

/** The same for a listener that takes no upgrades: it ignores the header (RFC 9110 section 7.8). */
export function headFault(request: IncomingMessage, publicUrl?: string): Fault | undefined {
  const { method, url = '', httpVersion, rawHeaders } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return bad('request line', 'HTTP/1.1 is expected')
  if (method === 'TRACE' || method === 'CONNECT') return new Fault('method_not_allowed')
  if (url.length > MAX_TARGET_LENGTH) return new Fault('uri_too_long')
  if (!takeAbsoluteForm(request, publicUrl)) return bad('request target', 'names another host; server.public_url sets the name of this one')
  const target = request.url ?? ''
  if (!target.startsWith('/') || target.startsWith('//')) return bad('request target', 'a path is expected')
  return headersFault(rawHeaders, httpVersion === '1.1') ?? (httpVersion === '1.0' ? oldFramingFault(request) : undefined)
}

/**
 * HTTP/1.0 has no chunks: a message that states them is framed in two ways (RFC 9112 section 6.1). A body is announced by its length,
 * which a POST needs (RFC 1945 section 8.3), as nginx sends it with its former default `proxy_http_version 1.0`.
 */
function oldFramingFault({ method, headers }: IncomingMessage): Fault | undefined {
  if (headers['transfer-encoding'] !== undefined) return bad('transfer-encoding', 'HTTP/1.0 has none')
  if (method === 'POST' && headers['content-length'] === undefined) return bad('content-length', 'is required of a POST of HTTP/1.0')
  return undefined
}

/**
 * A request for a WebSocket that was not handed over: it is no handshake (RFC 6455 section 4.2.1), or it was sent behind a request that
 * is still answered. Offers of other protocols are ignored.
 */
function upgradeFault(request: IncomingMessage & { upgrade?: boolean | null }): Fault | undefined {
  // Node's own mark of a connection that it hands over (lib/_http_server.js, parserOnIncoming).
  if (request.upgrade || request.headers.upgrade === undefined || !asksUpgrade(request) || isIgnoredOffer(request)) return undefined
  return bad('upgrade', isHandshake(request) ? 'must not be sent before the replies to earlier requests have come' : HANDSHAKE)
}

/** @param needsHost HTTP/1.1 demands the header (RFC 9112 section 3.2). */
function headersFault(rawHeaders: readonly string[], needsHost: boolean): Fault | undefined {
  let seen = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    // The length alone excludes most names.
    const header = rawHeaders[i]
    if (header === undefined || header.length > 30 || (CHECKED_LENGTHS & (1 << header.length)) === 0) continue
    const name = header.toLowerCase()
    const bit = CHECKED.get(name)
    if (bit === undefined) continue
    if ((seen & bit) !== 0) return bad(name, 'must be sent once')
    seen |= bit
    const value = rawHeaders[i + 1]
    if (value === undefined) return bad(name, 'must have a value')
    const fault = valueFault(name, value)
    if (fault) return fault
  }
  return needsHost && (seen & HOST_BIT) === 0 ? bad('host', 'is required') : undefined
}

function valueFault(name: string, value: string): Fault | undefined {
  if (name === 'host')
    return value === lastHost || isHost(value) ? undefined : bad(name, 'a host name or address is expected, with an optional port')
  if (name === 'connection') return connectionFault(value)
  if (name === 'transfer-encoding' && value.toLowerCase() !== 'chunked') return bad(name, 'only chunked is understood')
  return undefined
}

/** `uri-host [ ":" port ]` (RFC 9110 section 7.2); unlike RFC 3986 it takes no empty name. */
const HOST = /^(?:\[([^\]]+)\]|(?:[\w\-.~!$&'()*+,;=]|%[\dA-Fa-f]{2})+)(?::\d{0,5})?$/

/** The last good one: nearly all requests name the same. */
export let lastHost = ''

export function isHost(value: string): boolean {
  const match = HOST.exec(value)
  if (match === null || (match[1] !== undefined && !isIPv6(match[1]))) return false
  lastHost = value
  return true
}

const TOKEN = /^[\w!#$%&'*+\-.^`|~]+$/

/** Names of end-to-end fields, beside those of the patterns: registered ones of HTTP, and those that a gateway reads. */
const END_TO_END: ReadonlySet<string> = new Set([
  ...['host', 'transfer-encoding', 'authorization', 'authentication-info', 'www-authenticate', 'cookie', 'set-cookie'],
  ...['age', 'allow', 'alt-svc', 'cache-control', 'date', 'etag', 'expect', 'expires', 'forwarded', 'from', 'last-modified'],
  ...['link', 'location', 'max-forwards', 'origin', 'pragma', 'priority', 'range', 'referer', 'retry-after', 'server', 'vary'],
  ...['user-agent', 'via', 'warning', 'idempotency-key', 'prefer', 'traceparent', 'tracestate', 'baggage'],
  ...['x-api-key', 'x-goog-api-key', 'x-session-id', 'x-request-id', 'x-real-ip'],
])
const END_TO_END_FAMILY = /^(?:accept|access-control|content|if|sec|x-forwarded)-|^accept$/

/**
 * Options of `Connection` name fields of this hop, which every intermediary removes. An option that names the framing or
 * an end-to-end field makes a message that others read differently (RFC 9110 section 7.6.1 forbids to send one).
 */
function connectionFault(value: string): Fault | undefined {
  // Nearly all of them.
  if (value === 'keep-alive' || value === 'close') return undefined
  for (const part of value.split(',')) {
    const option = part.trim().toLowerCase()
    // Recipients ignore empty elements of a list (RFC 9110 section 5.6.1).
    if (option === '') continue
    if (!TOKEN.test(option)) return bad('connection', 'a list of options is expected')
    if (END_TO_END.has(option) || END_TO_END_FAMILY.test(option))
      return bad('connection', `the option ${option.slice(0, 64)} names a field that is not of this connection`)
  }
  return undefined
}
