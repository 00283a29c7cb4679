/** The model lists: GET /v1/models, /v1/models/count, /v1/models/user, /v1/embeddings/models and /v1/model/{author}/{slug}. */
import type { Catalog } from '../catalog/catalog.ts'
import { aliasEntry, modelEntry } from '../catalog/entry.ts'
import type { Model } from '../catalog/types.ts'
import { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { allowsModel } from '../routing/model-pattern.ts'
import type { Health } from '../routing/order.ts'
import { modelTest, outputTest, sortModels } from './model-filters.ts'
import { integerOf } from './query.ts'
import { type ApiReply, ok } from './reply.ts'

const DEFAULT_LIMIT = 500
const MOST = 1000

export interface ModelSource {
  readonly catalog: Pick<Catalog, 'models' | 'aliases' | 'find'>
  /** Milliseconds since the epoch. */
  readonly now: number
  /** For the orders by speed. */
  readonly health?: Health
}

/** GET /v1/models. @throws Fault 400 naming the query parameter. */
export function listModels(query: URLSearchParams, source: ModelSource): ApiReply {
  return page('/v1/models', query, selected(source.catalog.models, query, source))
}

/** GET /v1/models/user: the models that the key's own list allows. */
export function listKeyModels(
  query: URLSearchParams,
  key: { readonly allowedModels: readonly string[] | undefined },
  source: ModelSource,
): ApiReply {
  const { models } = source.catalog
  const allowed = models.filter((model) => allowsModel(key.allowedModels, model.slug))
  return page('/v1/models/user', query, allowed)
}

/** GET /v1/embeddings/models. */
export function listEmbeddingModels(query: URLSearchParams, source: Pick<ModelSource, 'catalog'>): ApiReply {
  return page(
    '/v1/embeddings/models',
    query,
    source.catalog.models.filter((model) => model.kind === 'embedding'),
  )
}

/** GET /v1/models/count. */
export function countModels(query: URLSearchParams, source: Pick<ModelSource, 'catalog'>): ApiReply {
  return ok({ data: { count: source.catalog.models.filter(outputTest(query)).length } })
}

/** GET /v1/model/{author}/{slug}; aliases and variants are found as well. @param slug `author/name`. @throws Fault 404. */
export function oneModel(slug: string, source: Pick<ModelSource, 'catalog'>): ApiReply {
  const model = namedModel(slug, source.catalog)
  return ok({ data: source.catalog.aliases.has(slug) ? aliasEntry(slug, model) : modelEntry(model) })
}

/** @throws Fault 404 with `availability` where there is no such model. */
export function namedModel(slug: string, catalog: Pick<Catalog, 'find'>): Model {
  const found = catalog.find(slug)
  if (found) return found.model
  throw new Fault('model_not_found', {
    message: `No such model: ${slug}`,
    availability: { code: 'model_not_found', retryable: false, requested_models: [slug], docs_url: '/docs' },
  })
}

function selected(models: readonly Model[], query: URLSearchParams, source: ModelSource): readonly Model[] {
  const matches = modelTest(query, source.now / 1000)
  const gives = outputTest(query)
  return sortModels(
    models.filter((model) => gives(model) && matches(model)),
    query,
    source.health,
  )
}

/** Everything when neither `offset` nor `limit` is sent. */
function page(path: string, query: URLSearchParams, models: readonly Model[]): ApiReply {
  const offset = integerOf(query, 'offset', 0, Number.MAX_SAFE_INTEGER)
  const limit = integerOf(query, 'limit', 1, MOST)
  const whole = offset === undefined && limit === undefined
  const from = offset ?? 0
  const until = whole ? models.length : from + (limit ?? DEFAULT_LIMIT)
  const data: JsonObject[] = models.slice(from, until).map(modelEntry)
  let next: string | null = null
  if (until < models.length) {
    const following = new URLSearchParams(query)
    following.set('offset', String(until))
    following.set('limit', String(until - from))
    next = `${path}?${following}`
  }
  return ok({ data, total_count: models.length, links: { next } })
}
