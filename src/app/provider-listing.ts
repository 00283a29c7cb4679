/** List of models of a provider, in the form that the catalogue reads. */
import { isIP } from 'node:net'
import type { Clock } from '../core/clock.ts'
import { asObjects, type JsonObject } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import { type Address, names } from '../core/name-lookups.ts'
import { upstreamDialects } from '../dialects/registry.ts'
import type { UpstreamDialect } from '../dialects/types.ts'
import { addCredential, providerAddress } from '../pipeline/route/provider-address.ts'
import type { DiscoveryReports, Listing } from '../routing/catalog/discovery.ts'
import { describedList } from '../routing/catalog/server-facts.ts'
import type { Provider } from '../routing/catalog/types.ts'
import type { Credential } from '../services/credentials/types.ts'
import { isNeighbour } from '../services/outbound/addresses.ts'
import { askServer, fetchListing, type HeadersFor, ListingError, type ListingWay } from '../services/upstream/listing.ts'
import type { Pools } from '../services/upstream/pools.ts'

/**
 * Models that a provider with `discover` serves, and true if it is a server of the operator's own.
 * @throws where it does not answer with a list, or its host cannot be looked up: the last list then stands, and its prices.
 */
export async function discoveredListing(provider: Provider, clock: Clock, pools: Pools): Promise<Listing> {
  const [list, local] = await Promise.all([providerListing(provider, clock, pools), isNearby(provider, pools)])
  return { list, local }
}

/** True where every address of the provider's host is loopback or private, and no proxy is between. @throws where the look-up fails. */
async function isNearby({ baseUrl = '', connection }: Provider, pools: Pools): Promise<boolean> {
  const url = new URL(baseUrl)
  if (pools.isProxied(url, connection)) return false
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const found = isIP(host) === 0 ? await hostAddresses(host) : [{ address: host }]
  return found.length > 0 && found.every(({ address }) => isNeighbour(address.replace(/^::ffff:(?=\d)/, '')))
}

function hostAddresses(host: string): Promise<readonly Address[]> {
  return new Promise((resolve, reject) => names.addresses(host, (error, found) => (error ? reject(error) : resolve(found))))
}

/** Log lines about lists that cannot be used, in whole or in part. A provider that is not there is not logged. */
export function listingReports(log: Log): DiscoveryReports {
  return {
    failed: ({ slug }, error, isFirst) => {
      const status = error instanceof ListingError ? error.status : undefined
      if (isFirst && status !== undefined) log.warn({ provider: slug, status }, 'no list of models: its answer cannot be used')
      else log.debug({ provider: slug, problem: String(error) }, 'no list of models: the provider does not answer')
    },
    passedOver: ({ slug }, models, others) =>
      log.warn({ provider: slug, models, ...(others > 0 && { others }) }, 'models of the list are left out: no names of models'),
  }
}

/** Replies to a credential that has been revoked; AWS has 403 for it. */
const REFUSES_CREDENTIAL: ReadonlySet<number> = new Set([401, 403])

/**
 * `{ data: [{ id, created?, context_length?, … }] }`. A self-hosted server, which `discover` marks, is called for facts of its models.
 * A refused credential is replaced once. A key of a pool stays there: it may do without the right to list models.
 * @throws where it does not answer with a list.
 */
export async function providerListing(provider: Provider, clock: Clock, pools: Pools): Promise<JsonObject> {
  const source = provider.credential
  if (!source) return await listingWith(provider, undefined, pools)
  const credential = source.forCall()
  if (!credential.ready(clock.now())) await credential.refresh()
  const used = credential.grant
  try {
    return await listingWith(provider, credential, pools)
  } catch (error) {
    if (!(error instanceof ListingError) || !REFUSES_CREDENTIAL.has(error.status)) throw error
    const next = source.another ? source.another([credential]) : (await credential.renew(used)) ? credential : undefined
    if (!next) throw error
    return await listingWith(provider, next, pools)
  }
}

async function listingWith(provider: Provider, credential: Credential | undefined, pools: Pools): Promise<JsonObject> {
  const dialect = upstreamDialects.get(provider.dialect)
  if (!dialect) throw new Error(`the dialect ${provider.dialect} has no list of models`)
  const { headers } = providerAddress(provider, dialect)
  const headersFor: HeadersFor = credential
    ? (call) => {
        const all = [...headers]
        addCredential(credential, { provider, dialect }, { ...call, headers: all })
        return all
      }
    : () => headers
  const way: ListingWay = {
    headers: headersFor,
    agent: (origin) => pools.agent({ origin, connectTimeout: provider.timeouts.connect, connection: provider.connection }),
  }
  const list = await plainListing(provider, dialect, way)
  const isOfServers = dialect.listing === undefined || dialect.listing.ofServers === true
  return provider.discover && isOfServers ? describedList(list, (path, body) => askServer(provider, { path, body }, way)) : list
}

async function plainListing(provider: Provider, { listing }: UpstreamDialect, way: ListingWay): Promise<JsonObject> {
  if (!listing) return await fetchListing(provider, '/models', way)
  const { paths, base, read } = listing
  const bodies = await Promise.all(paths.map((path) => fetchListing(provider, path, way, base?.(provider.baseUrl ?? ''))))
  return { data: bodies.flatMap((body) => asObjects(read(body).data)) }
}
