/** Address of a provider, and the headers of the calls to it: its own, made once, those of a credential, and those of a trace. */

import { Fault } from '../../core/faults.ts'
import { randomHex } from '../../core/ids.ts'
import type { ProviderWire, UpstreamDialect } from '../../dialects/types.ts'
import type { Provider } from '../../routing/catalog/types.ts'
import type { Credential } from '../../services/credentials/types.ts'
import { type TraceScope, traceHeaders } from '../../services/telemetry/trace-context.ts'
import type { Planned } from '../exchange.ts'

interface ProviderAddress {
  origin: string
  /** Path of the base URL, without a slash at its end. */
  path: string
  /** `?` and the query of every call, or ''. */
  query: string
  connectTimeout: number
  connection: Provider['connection']
  /** Flat lists of names and values. */
  headers: string[]
  streamHeaders: string[]
  /** A whole answer has no first byte before its last token: unless the file says otherwise it may take the total. */
  timeouts: Provider['timeouts']
}

/** Parts of a dialect that are in every call. */
type Addressed = Pick<ProviderWire, 'auth' | 'headers' | 'versionHeader'> & Pick<Partial<UpstreamDialect>, 'framing'>

const known = new WeakMap<Provider, ProviderAddress>()

export function providerAddress(provider: Provider, dialect: Addressed): ProviderAddress {
  let address = known.get(provider)
  if (!address) {
    address = make(provider, dialect)
    known.set(provider, address)
  }
  return address
}

export function keyHeader({ auth }: Provider, key: string, dialect: Addressed): [name: string, value: string] {
  if (!auth) return dialect.auth(key)
  return [auth.header, auth.scheme === '' ? key : `${auth.scheme} ${key}`]
}

/** One call, as far as a credential signs it. */
interface CallFacts {
  /** Set where it is not the provider's own. */
  origin?: string
  /** With its query. */
  path: string
  body: string | Buffer
  /** Name, value, name, value: those of the credential are added to them. */
  headers: string[]
  method?: string
}

/** Adds the headers of a credential to those of one call: one that is there already has the credential's value from then on. */
export function addCredential(
  credential: Credential,
  { provider, dialect }: { provider: Provider; dialect: Addressed },
  { origin = providerAddress(provider, dialect).origin, method = 'POST', path, body, headers }: CallFacts,
): void {
  const added = credential.headers({ method, origin, path, body, headers, keyHeader: (key) => keyHeader(provider, key, dialect) })
  const before = headers.length
  for (let at = 0; at + 1 < added.length; at += 2) {
    const name = `${added[at]}`.toLowerCase()
    let there = 0
    while (there < before && headers[there]?.toLowerCase() !== name) there += 2
    if (there < before) headers[there + 1] = `${added[at + 1]}`
    else headers.push(`${added[at]}`, `${added[at + 1]}`)
  }
}

/**
 * The headers of all calls, with another version of the API. One that the configuration states for the provider stays.
 * @param headers of the provider's address.
 */
export function inVersion(
  headers: string[],
  version: string | undefined,
  { provider, dialect }: { provider: Provider; dialect: Addressed },
): string[] {
  const name = dialect.versionHeader
  if (version === undefined || name === undefined) return headers
  if (Object.keys(provider.headers).some((own) => own.toLowerCase() === name)) return headers
  const at = headers.indexOf(name)
  return at === -1 ? headers : headers.with(at + 1, version)
}

/**
 * Path and query of one call.
 * @param operation path of the dialect's operation, perhaps with a query of its own.
 */
export function callPath(address: ProviderAddress, { path }: Pick<Provider, 'path'>, operation: { path: string; model: string }): string {
  const own = path === undefined ? operation.path : path.replaceAll('{model}', () => encodeURIComponent(operation.model))
  if (address.query === '') return address.path + own
  return `${address.path}${own}${own.includes('?') ? `&${address.query.slice(1)}` : address.query}`
}

function make(provider: Provider, dialect: Addressed): ProviderAddress {
  if (!provider.baseUrl) throw new Fault('internal', { cause: new Error(`provider ${provider.slug} has no address`) })
  const url = new URL(provider.baseUrl)
  const own = new Map<string, string>([
    ['content-type', 'application/json'],
    ['user-agent', 'headgate'],
  ])
  for (const [name, value] of Object.entries(dialect.headers?.(provider.quirks) ?? {})) own.set(name, value)
  if (provider.key !== undefined) own.set(...keyHeader(provider, provider.key, dialect))
  for (const [name, value] of Object.entries(provider.headers)) own.set(name.toLowerCase(), value)
  return {
    origin: url.origin,
    path: url.pathname.replace(/\/+$/, ''),
    query: provider.query === undefined ? '' : `?${provider.query}`,
    connectTimeout: provider.timeouts.connect,
    connection: provider.connection,
    headers: [...own].flat(),
    streamHeaders: [...own, ['accept', dialect.framing?.type ?? 'text/event-stream']].flat(),
    timeouts: { ...provider.timeouts, firstByte: provider.timeouts.firstByteWhole },
  }
}

/** Of the running attempt: its span is the parent of the provider's. */
export function forwardedTrace({ head, history }: Planned, scope: TraceScope): string[] {
  const { trace, attempts } = history
  const attempt = attempts.at(-1)
  if (trace && attempt) attempt.span ??= randomHex(16)
  return traceHeaders(scope, { trace, span: attempt?.span, headers: head.headers })
}
