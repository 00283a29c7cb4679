/** Which headers cross the passage: end-to-end ones, without the credentials and the origin's state of either side. */
import type { IncomingHttpHeaders } from 'node:http'

/** Meant for the next hop only (RFC 9110 section 7.6.1); every `proxy-…` header is as well. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'http2-settings']

/**
 * The caller's credentials with us, cookies of our origin, and who stands before us.
 * `expect` has been answered by our own server.
 */
const CALLERS_OWN = [
  'authorization',
  'x-api-key',
  'cookie',
  'expect',
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-real-ip',
]

/** Speaks of the provider's origin, not of ours. */
const PROVIDERS_OWN = ['set-cookie', 'alt-svc', 'strict-transport-security', 'www-authenticate', 'authentication-info']

const NOT_UPSTREAM: ReadonlySet<string> = new Set([...HOP_BY_HOP, ...CALLERS_OWN])
const NOT_TO_CLIENT: ReadonlySet<string> = new Set([...HOP_BY_HOP, ...PROVIDERS_OWN])

export interface UpstreamExtras {
  /** The provider's configured headers; they replace the caller's. */
  readonly headers: Readonly<Record<string, string>>
  /** Header that carries the provider's key; it replaces whatever the caller sent under that name. */
  readonly auth: readonly [name: string, value: string] | undefined
  readonly upgrade: boolean
}

/** What the provider gets. Names are lower case. */
export function upstreamHeaders(headers: IncomingHttpHeaders, extras: UpstreamExtras): IncomingHttpHeaders {
  const kept = endToEnd(headers, NOT_UPSTREAM)
  // The framing of a body without a length is said anew: without it node writes some methods' bodies unframed.
  if (headers['transfer-encoding'] !== undefined) kept['transfer-encoding'] = 'chunked'
  if (extras.upgrade) Object.assign(kept, UPGRADE)
  for (const [name, value] of Object.entries(extras.headers)) kept[name.toLowerCase()] = value
  if (extras.auth) kept[extras.auth[0].toLowerCase()] = extras.auth[1]
  return kept
}

/** What the caller gets. */
export function clientHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return endToEnd(headers, NOT_TO_CLIENT)
}

/** What the caller gets with a 101: the upgrade is a matter of this hop, so it is said anew. */
export function upgradedHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return { ...clientHeaders(headers), ...UPGRADE }
}

const UPGRADE = { connection: 'Upgrade', upgrade: 'websocket' }

function endToEnd(headers: IncomingHttpHeaders, dropped: ReadonlySet<string>): IncomingHttpHeaders {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()))
  const kept: IncomingHttpHeaders = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || dropped.has(name) || named.has(name) || name.startsWith('proxy-')) continue
    kept[name] = value
  }
  return kept
}
