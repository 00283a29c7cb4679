/** What Node's parser lets through and a gateway must not: checked on the request line and the raw headers. */
import type { IncomingMessage } from 'node:http'
import { Fault } from '../core/faults.ts'

/** Headers that may stand once: two of them mean that somebody between us and the caller reads another one than we do. */
const SINGLE = new Set(['host', 'authorization', 'content-type', 'content-length', 'transfer-encoding', 'x-session-id', 'x-api-key'])
/** One bit per length that such a name may have; all are below 31. */
const SINGLE_LENGTHS = [...SINGLE].reduce((bits, name) => bits | (1 << name.length), 0)

const LONGEST_TARGET = 8192

function bad(field: string, message: string): Fault {
  return new Fault('bad_request', { message: `${field}: ${message}`, metadata: { field } })
}

/**
 * RFC 9112 sections 3.2, 6.1 and 6.3, read strictly.
 * @returns the fault to answer with before the connection is closed, undefined for a request that is clean.
 */
export function edgeFault(request: IncomingMessage): Fault | undefined {
  const { method, url = '', httpVersion, rawHeaders } = request
  if (httpVersion !== '1.1' && !(httpVersion === '1.0' && (method === 'GET' || method === 'HEAD'))) {
    return bad('request line', 'HTTP/1.1 is expected')
  }
  if (method === 'TRACE' || method === 'CONNECT') return new Fault('method_not_allowed')
  if (url.length > LONGEST_TARGET) return new Fault('uri_too_long')
  if (!url.startsWith('/') || url.startsWith('//')) return bad('request target', 'a path is expected')
  return headerFault(rawHeaders, httpVersion === '1.1')
}

/** @param needsHost HTTP/1.1 demands the header (RFC 9112 section 3.2). */
function headerFault(rawHeaders: readonly string[], needsHost: boolean): Fault | undefined {
  let seen = 0
  const names: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    // Most names are told apart by their length alone.
    const { length } = rawHeaders[i]
    if (length > 30 || (SINGLE_LENGTHS & (1 << length)) === 0) continue
    const name = rawHeaders[i].toLowerCase()
    if (!SINGLE.has(name)) continue
    if (names.includes(name)) return bad(name, 'must be sent once')
    names[seen++] = name
    if (name === 'transfer-encoding' && rawHeaders[i + 1].toLowerCase() !== 'chunked') {
      return bad(name, 'only chunked is understood')
    }
  }
  return needsHost && !names.includes('host') ? bad('host', 'is required') : undefined
}
