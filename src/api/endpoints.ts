/** The endpoint lists: GET /v1/models/{author}/{slug}/endpoints and GET /v1/endpoints/zdr. */
import { modelEntry } from '../routing/catalog/entry.ts'
import type { Endpoint } from '../routing/catalog/types.ts'
import type { EndpointFigures } from '../routing/index.ts'
import { endpointEntry } from './endpoint-entry.ts'
import { type ModelSource, namedModel } from './models.ts'
import { type ApiReply, ok } from './reply.ts'

export interface EndpointSource {
  readonly catalog: Pick<ModelSource['catalog'], 'models' | 'find'>
  readonly health: { figures(endpoint: Endpoint): EndpointFigures }
}

/**
 * Where a model is served, and how each endpoint has fared of late. Aliases and variants are found as well.
 * @param slug `author/name`.
 * @throws Fault 404 with `availability` where there is no such model.
 */
export function listEndpoints(slug: string, { catalog, health }: EndpointSource): ApiReply {
  const { model } = namedModel(slug, catalog)
  return ok({
    data: {
      id: model.slug,
      name: model.name,
      description: model.description,
      created: model.created,
      architecture: modelEntry(model).architecture,
      endpoints: model.endpoints.map((endpoint) => endpointEntry(endpoint, health.figures(endpoint))),
    },
  })
}

/** The endpoints that a request with `zdr: true` may use. */
export function listZdrEndpoints({ catalog, health }: EndpointSource): ApiReply {
  const endpoints = catalog.models.flatMap((model) => model.endpoints.filter(({ provider }) => provider.zdr))
  return ok({ data: endpoints.map((endpoint) => endpointEntry(endpoint, health.figures(endpoint))) })
}
