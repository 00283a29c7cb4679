/** GET /v1/providers: the configured providers, with what the operator states of them. */
import type { Provider } from '../routing/catalog/types.ts'
import { type ApiReply, ok } from './reply.ts'

/** In order of the configuration; what is not stated is null. Addresses and keys are never shown. */
export function listProviders(providers: Iterable<Provider>): ApiReply {
  return ok({
    data: [...providers].map(({ slug, name, about }) => ({
      name,
      slug,
      privacy_policy_url: about.privacyUrl ?? null,
      terms_of_service_url: about.termsUrl ?? null,
      status_page_url: about.statusUrl ?? null,
      headquarters: about.headquarters ?? null,
      datacenters: about.datacenters ? [...about.datacenters] : null,
    })),
  })
}
