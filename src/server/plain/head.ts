/**
 * The head of a request in the one form that nearly all callers of an API send: POST, a path without a query, a body whose length is
 * stated. Whatever may be read in two ways is not of this form (RFC 9112, sections 2.2, 5 and 6), and goes to Node's server.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { isHost } from '../edge-guard.ts'

export interface PlainHead {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Bytes of the body. */
  readonly length: number
}

/** Lines of printable ASCII, each with CR and LF, and an empty one at the end. */
const LINES = /^(?:[ -~]+\r\n)+\r\n$/
const METHOD = 'POST '
const VERSION = ' HTTP/1.1'
/** Of the paths of the API. */
const PATH = /^(?:\/[\w.-]+)+$/
const NAME = /^[A-Za-z][A-Za-z0-9-]*$/
const LENGTH = /^(?:0|[1-9]\d{0,7})$/

/** Headers that change how the message is framed, what comes after it, or how the gateway answers it. */
const NOT_PLAIN: ReadonlySet<string> = new Set([
  ...['transfer-encoding', 'expect', 'upgrade', 'trailer', 'te', 'keep-alive', 'proxy-connection', 'origin', 'set-cookie'],
])

/** As Node's server (`maxHeadersCount` of listener.ts). */
const MOST_HEADERS = 100

/** Names as clients write them, so that most are made lower case by a look-up. */
const LOWER = new Map<string, string>()
const COMMON = [
  ...['Host', 'Connection', 'Content-Type', 'Content-Length', 'Authorization', 'Accept', 'Accept-Encoding', 'Accept-Language'],
  ...['User-Agent', 'X-Api-Key', 'Anthropic-Version', 'Anthropic-Beta', 'Sec-Fetch-Mode', 'Traceparent', 'X-Session-Id'],
]
for (const name of COMMON) {
  LOWER.set(name, name.toLowerCase())
  LOWER.set(name.toLowerCase(), name.toLowerCase())
}

const lower = (name: string): string | undefined => LOWER.get(name) ?? (NAME.test(name) ? name.toLowerCase() : undefined)

/**
 * @param text the head with the empty line that ends it, one character per byte.
 * @returns undefined for any other form, right or wrong.
 */
export function plainHead(text: string): PlainHead | undefined {
  if (!text.startsWith(METHOD) || !LINES.test(text)) return undefined
  const first = text.indexOf('\r\n')
  const path = text.slice(METHOD.length, first - VERSION.length)
  if (!text.startsWith(VERSION, first - VERSION.length) || !PATH.test(path)) return undefined
  const headers = headersIn(text, first + 2)
  const length = headers?.['content-length']
  if (headers === undefined || length === undefined || !LENGTH.test(length)) return undefined
  return { path, headers, length: Number(length) }
}

/** @param bytes the first ones of a connection or request. @returns false where they cannot become a plain request. */
export function mayBePlain(bytes: Buffer): boolean {
  const shown = Math.min(bytes.length, METHOD.length)
  return bytes.toString('latin1', 0, shown) === METHOD.slice(0, shown)
}

/** @returns undefined where a header is repeated, missing, or not plain. */
function headersIn(text: string, start: number): IncomingHttpHeaders | undefined {
  const headers: IncomingHttpHeaders = {}
  let count = 0
  for (let at = start; at < text.length - 2; ) {
    const end = text.indexOf('\r\n', at)
    const colon = text.indexOf(':', at)
    if (colon === -1 || colon > end || ++count > MOST_HEADERS) return undefined
    const name = lower(text.slice(at, colon))
    if (name === undefined || headers[name] !== undefined || NOT_PLAIN.has(name)) return undefined
    headers[name] = text.slice(colon + 1, end).trim()
    at = end + 2
  }
  const { host, connection } = headers
  const keeps = connection === undefined || connection === 'keep-alive' || connection.toLowerCase() === 'keep-alive'
  return keeps && host !== undefined && isHost(host) ? headers : undefined
}
