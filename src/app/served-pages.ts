/** Replies of the API listener that are no operations: the reference, the consent of a person, the metadata of issuers, and SCIM. */
import type { ManagementSource } from '../api/index.ts'
import type { Config } from '../config/config.ts'
import type { Attempts } from '../pipeline/request/attempt-buckets.ts'
import type { Catalog } from '../routing/catalog/catalog.ts'
import { consentPages } from '../server/consent.ts'
import { referencePages } from '../server/docs-routes.ts'
import type { Pages } from '../server/gateway.ts'
import { resourceMetadata } from '../server/resource-metadata.ts'
import { scimPages } from '../server/scim.ts'

interface PagesSource {
  readonly config: Config
  readonly catalog: Pick<Catalog, 'models'>
  readonly management: ManagementSource
  /** Wrong keys and tokens by address. */
  readonly failures: Attempts
}

export function servedPages({ config, catalog, management, failures }: PagesSource): Pages {
  // Few requests need it, so the start does not wait for it.
  const reference = referencePages(async () =>
    (await import('./reference.ts')).referenceDocument({ brand: config.brand.word, models: catalog.models }),
  )
  const consent = consentPages(management)
  const metadata = resourceMetadata(config)
  const scim = scimPages({ config, management, failures })
  return (request) => reference(request) ?? consent(request) ?? metadata(request) ?? scim(request)
}
