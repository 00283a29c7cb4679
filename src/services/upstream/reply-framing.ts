/** Framing of a provider's reply that our HTTP client reads but must not trust. */
import type { IncomingHttpHeaders } from 'node:http'

const FRAMING = /(?:^|[\s,])(?:content-length|transfer-encoding)(?:[\s,]|$)/i

/**
 * Finds ambiguous framing (RFC 9112 section 6.3). undici refuses several lengths, and a length beside a transfer coding;
 * it accepts repeated and unknown transfer codings (client-h1.js of 8.12.4), although we never send `TE` and so
 * may receive `chunked` only.
 * @returns the reason to refuse the reply, undefined where the framing is plain.
 */
export function framingProblem(headers: IncomingHttpHeaders): string | undefined {
  const coding: string | string[] | undefined = headers['transfer-encoding']
  if (coding !== undefined && coding !== 'chunked' && !(typeof coding === 'string' && coding.toLowerCase() === 'chunked'))
    return 'a transfer coding other than chunked'
  const { connection } = headers
  // Nearly all providers send exactly this.
  if (connection === 'keep-alive' || connection === 'close') return undefined
  return connection !== undefined && FRAMING.test(`${connection}`) ? 'a Connection option that names the framing' : undefined
}
