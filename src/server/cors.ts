/** Cross-origin requests of browsers (Fetch standard, "CORS protocol"): which pages may call, and what they may read. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { RATE_HEADERS } from '../pipeline/rate-headers.ts'

/** Headers of replies that a page may read beside those that it always may: ids of the request, and what to wait for. */
const READABLE = [
  'X-Request-Id',
  'Request-Id',
  'X-Generation-Id',
  'X-Trace-Id',
  'Retry-After',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  ...RATE_HEADERS,
].join(', ')
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
/** Seconds; browsers keep it for two hours at most. */
const KEPT = '7200'
/** A list of header names (RFC 9110 §5.6.1): nothing else of a request is sent back. */
const NAMES = /^[\w!#$%&'*+.^`|~, -]{1,2048}$/

export interface Cors {
  /** Adds what a reply says of the caller's page. @returns true where the request was a preflight, which is answered with that. */
  answer(request: IncomingMessage, response: ServerResponse): boolean
}

/**
 * @param origins as browsers send them; `*` for any. Credentials of the browser (cookies) are never allowed.
 * @param more name of a further header that pages may read.
 */
export function corsFor(origins: readonly string[], more?: string): Cors {
  const readable = more === undefined ? READABLE : `${READABLE}, ${more}`
  const any = origins.includes('*')
  const listed = new Set(origins)
  return {
    answer(request, response) {
      const { origin } = request.headers
      // Caches must not give one page the reply of another.
      if (!any) response.setHeader('Vary', 'Origin')
      if (origin === undefined || !(any || listed.has(origin))) return false
      response.setHeader('Access-Control-Allow-Origin', any ? '*' : origin)
      if (request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined) {
        preflight(request, response)
        return true
      }
      response.setHeader('Access-Control-Expose-Headers', readable)
      return false
    },
  }
}

function preflight(request: IncomingMessage, response: ServerResponse): void {
  const wanted = request.headers['access-control-request-headers']
  response.setHeader('Access-Control-Allow-Methods', METHODS)
  if (wanted !== undefined && NAMES.test(wanted)) response.setHeader('Access-Control-Allow-Headers', wanted)
  response.setHeader('Access-Control-Max-Age', KEPT)
  response.writeHead(204).end()
}
