/** What a provider says that it serves, in the form that the catalogue reads. */
import { describedList } from './catalog/server-facts.ts'
import type { Provider } from './catalog/types.ts'
import type { JsonObject } from './core/json.ts'
import { upstreamDialects } from './dialects/registry.ts'
import { providerAddress } from './pipeline/provider-address.ts'
import { askServer, fetchListing } from './upstream/listing.ts'

/**
 * `{ data: [{ id, created?, context_length?, … }] }`. A server of one's own, which `discover` marks, is asked about its models as well.
 * @throws where it does not answer with a list.
 */
export async function providerListing(provider: Provider): Promise<JsonObject> {
  const dialect = upstreamDialects.get(provider.dialect)
  if (!dialect) throw new Error(`the dialect ${provider.dialect} has no list of models`)
  const { headers } = providerAddress(provider, dialect)
  if (dialect.listing) return dialect.listing.read(await fetchListing(provider, dialect.listing.path, headers))
  const list = await fetchListing(provider, '/models', headers)
  return provider.discover ? describedList(list, (path, body) => askServer(provider, { path, body }, headers)) : list
}
