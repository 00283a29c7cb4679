/** The configured providers, with what the operator states of them. */
import { Type } from 'typebox'
import { type Operation, operation } from '../operation.ts'
import { ok } from '../reply.ts'
import { data, maybe, text, texts } from '../schemas.ts'

const provider = Type.Object({
  name: text(),
  slug: text(),
  privacy_policy_url: maybe(Type.String()),
  terms_of_service_url: maybe(Type.String()),
  status_page_url: maybe(Type.String()),
  headquarters: maybe(Type.String()),
  datacenters: maybe(texts()),
})

export const providerOperations: readonly Operation[] = [
  operation('GET /providers', {
    tag: 'Models',
    roles: 'any',
    reach: 'own',
    id: 'listProviders',
    summary: 'List providers',
    reply: { description: 'Providers.', schema: data(Type.Array(provider)) },
    // In order of the configuration; what is not stated is null. Addresses and keys are never shown.
    handle: (_call, { providers }) =>
      ok({
        data: [...providers.values()].map(({ slug, name, about }) => ({
          name,
          slug,
          privacy_policy_url: about.privacyUrl ?? null,
          terms_of_service_url: about.termsUrl ?? null,
          status_page_url: about.statusUrl ?? null,
          headquarters: about.headquarters ?? null,
          datacenters: about.datacenters ? [...about.datacenters] : null,
        })),
      }),
  }),
]
