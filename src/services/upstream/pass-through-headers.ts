/** Which headers the pass-through relays: end-to-end ones, without credentials, framing, and state of either origin. */
import type { IncomingHttpHeaders } from 'node:http'
import { Fault } from '../../core/faults.ts'
import { VISITOR_HEADER } from '../../core/visitor-header.ts'

/** Hop-by-hop fields (RFC 9110 section 7.6.1); every `proxy-…` field is one as well. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'http2-settings']

/**
 * Fields that end here: the caller's credentials, cookies of our origin, proxies in front of us, and what our own HTTP
 * client declares for the new hop (`host`, `content-length`). `expect` has been answered by our server.
 */
const CALLERS_OWN = [
  'host',
  'content-length',
  'authorization',
  'x-api-key',
  'x-goog-api-key',
  'cookie',
  'expect',
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-real-ip',
  VISITOR_HEADER,
  // What of a trace a provider may see is the operator's decision (`trace_context` of the provider).
  'traceparent',
  'tracestate',
  'baggage',
]

/** Fields about the provider's origin, which is not ours. */
const PROVIDERS_OWN = ['set-cookie', 'alt-svc', 'strict-transport-security', 'www-authenticate', 'authentication-info']

const NOT_UPSTREAM: ReadonlySet<string> = new Set([...HOP_BY_HOP, ...CALLERS_OWN])
const NOT_TO_CLIENT: ReadonlySet<string> = new Set([...HOP_BY_HOP, ...PROVIDERS_OWN])

export interface UpstreamExtras {
  /** The provider's configured headers; they replace the caller's. */
  readonly headers: Readonly<Record<string, string>>
  /** Header that carries the provider's key; it replaces the caller's field of that name. */
  readonly auth: readonly [name: string, value: string] | undefined
  /** Those of a credential, by the others: name, value, name, value. */
  readonly credential?: ((headers: readonly string[]) => readonly string[]) | undefined
  /** Those of the trace: name, value, name, value. */
  readonly trace?: readonly string[] | undefined
}

type OwnHeaders = Readonly<Record<string, string>>

/** Framing of the body of a request towards the provider (RFC 9112 section 6). */
export type Framing = { kind: 'none' } | { kind: 'length'; bytes: number } | { kind: 'chunked' }

/**
 * The framing that the caller's server connection was parsed with. `Connection` options have no say in it: a field that
 * they name is removed from the relayed headers, but the body that it announced has been read.
 * @throws Fault 413 for a length that is no exact integer.
 */
export function bodyFraming(headers: IncomingHttpHeaders): Framing {
  if (headers['transfer-encoding'] !== undefined) return { kind: 'chunked' }
  const bytes = Number(headers['content-length'] ?? 0)
  if (!Number.isSafeInteger(bytes)) throw new Fault('too_large')
  return bytes > 0 ? { kind: 'length', bytes } : { kind: 'none' }
}

/** Headers of the provider's request, without framing. Names are lower case. */
export function upstreamHeaders(headers: IncomingHttpHeaders, extras: UpstreamExtras): IncomingHttpHeaders {
  const kept = endToEnd(headers, NOT_UPSTREAM)
  for (const [name, value] of Object.entries(extras.headers)) kept[name.toLowerCase()] = value
  if (extras.auth) kept[extras.auth[0].toLowerCase()] = extras.auth[1]
  for (const pairs of [extras.credential?.(flatHeaders(kept)) ?? [], extras.trace ?? []])
    for (let at = 0; at + 1 < pairs.length; at += 2) kept[`${pairs[at]}`.toLowerCase()] = pairs[at + 1]
  return kept
}

const flatHeaders = (headers: IncomingHttpHeaders): string[] => Object.entries(headers).flatMap(([name, value]) => [name, `${value}`])

/** Headers of the provider's request for a WebSocket. */
export function upgradeRequestHeaders(headers: IncomingHttpHeaders, extras: UpstreamExtras): IncomingHttpHeaders {
  return { ...upstreamHeaders(headers, extras), ...UPGRADE }
}

/** Has the address that takes the bytes of an upload, at Google. */
const UPLOAD_ADDRESS = 'x-goog-upload-url'

/**
 * The caller sends the bytes of a file to an address that the provider names, with the key that it has: that is one of the gateway's, which
 * puts the provider's key in its place and learns whose the file is.
 * @param address where the caller reaches the base URL.
 */
export function withOwnUploads(headers: IncomingHttpHeaders, baseUrl: string | undefined, address: string): IncomingHttpHeaders {
  const named = URL.parse(String(headers[UPLOAD_ADDRESS] ?? ''))
  const base = URL.parse(baseUrl ?? '')
  if (!named || named.origin !== base?.origin) return headers
  const root = base.pathname.replace(/\/+$/, '')
  if (!named.pathname.startsWith(`${root}/`)) return headers
  return { ...headers, [UPLOAD_ADDRESS]: address + named.pathname.slice(root.length) + named.search }
}

/** Headers of the caller's reply. A 204 has no length (RFC 9110 section 8.6). @param ours take the place of the provider's. */
export function clientHeaders(status: number, headers: IncomingHttpHeaders, ours: OwnHeaders = {}): IncomingHttpHeaders {
  const kept = endToEnd(headers, NOT_TO_CLIENT)
  for (const [name, value] of Object.entries(ours)) kept[name.toLowerCase()] = value
  if (status === 204) delete kept['content-length']
  return kept
}

/** Headers of the caller's 101: the upgrade concerns one hop, so it is declared again. */
export function upgradedHeaders(headers: IncomingHttpHeaders, ours: OwnHeaders | undefined): IncomingHttpHeaders {
  return { ...clientHeaders(101, headers, ours), ...UPGRADE }
}

const UPGRADE = { connection: 'Upgrade', upgrade: 'websocket' }

function endToEnd(headers: IncomingHttpHeaders, dropped: ReadonlySet<string>): IncomingHttpHeaders {
  const named = new Set(`${headers.connection ?? ''}`.split(',').map((name) => name.trim().toLowerCase()))
  const kept: IncomingHttpHeaders = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || dropped.has(name) || named.has(name) || name.startsWith('proxy-')) continue
    // Which pages may call is for the gateway to say.
    if (dropped === NOT_TO_CLIENT && name.startsWith('access-control-')) continue
    kept[name] = value
  }
  return kept
}
