/** What a provider says that it serves, in the form that the catalogue reads. */
import { lookup } from 'node:dns/promises'
import type { JsonObject } from '../core/json.ts'
import { upstreamDialects } from '../dialects/registry.ts'
import { credentialHeaders, providerAddress } from '../pipeline/route/provider-address.ts'
import type { Listing } from '../routing/catalog/discover.ts'
import { describedList } from '../routing/catalog/server-facts.ts'
import type { Provider } from '../routing/catalog/types.ts'
import { isNeighbour } from '../services/outbound/addresses.ts'
import { askServer, fetchListing, type HeadersFor } from '../services/upstream/listing.ts'

/**
 * What a provider with `discover` serves, and whether it is a server of the operator's own.
 * @throws where it does not answer with a list, or its host cannot be looked up: the last list then stands, and its prices.
 */
export async function discoveredListing(provider: Provider): Promise<Listing> {
  const [list, local] = await Promise.all([providerListing(provider), isNearby(provider)])
  return { list, local }
}

/** True where every address of the provider's host is loopback or private. @throws where the look-up fails. */
async function isNearby({ baseUrl = '' }: Provider): Promise<boolean> {
  const host = (URL.parse(baseUrl)?.hostname ?? '').replace(/^\[(.*)\]$/, '$1')
  const found = await lookup(host, { all: true })
  return found.length > 0 && found.every(({ address }) => isNeighbour(address.replace(/^::ffff:(?=\d)/, '')))
}

/**
 * `{ data: [{ id, created?, context_length?, … }] }`. A self-hosted server, which `discover` marks, is called for facts of its models.
 * @throws where it does not answer with a list.
 */
export async function providerListing(provider: Provider): Promise<JsonObject> {
  const dialect = upstreamDialects.get(provider.dialect)
  if (!dialect) throw new Error(`the dialect ${provider.dialect} has no list of models`)
  const { headers } = providerAddress(provider, dialect)
  const { credential } = provider
  if (credential && !credential.ready(Date.now())) await credential.refresh()
  const headersFor: HeadersFor = credential
    ? (call) => [...headers, ...credentialHeaders(credential, { provider, dialect }, { ...call, headers })]
    : () => headers
  if (dialect.listing) return dialect.listing.read(await fetchListing(provider, dialect.listing.path, headersFor))
  const list = await fetchListing(provider, '/models', headersFor)
  return provider.discover ? describedList(list, (path, body) => askServer(provider, { path, body }, headersFor)) : list
}
