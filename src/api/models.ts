/** The model lists: GET /v1/models, /v1/models/count, /v1/models/user, /v1/embeddings/models, and one model. */

import { unknownModel } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { Catalog, Found } from '../routing/catalog/catalog.ts'
import { aliasEntry, modelEntry } from '../routing/catalog/entry.ts'
import { nearestModels } from '../routing/catalog/nearest-models.ts'
import type { Model } from '../routing/catalog/types.ts'
import type { Health } from '../routing/order.ts'
import type { ListedCatalog } from './key-catalog.ts'
import { modelTest, outputTest, sortModels } from './model-filters.ts'
import type { ModelUse } from './model-use.ts'
import { integer } from './parameters.ts'
import { type ApiReply, ok } from './reply.ts'

const DEFAULT_LIMIT = 500
const offset = integer('offset', 'Entries to skip.', { example: 0 })
/** Entries of one page. */
const MAX_MODELS = 1000

const limit = integer('limit', 'Entries per page at most; without offset and limit all entries come at once.', {
  least: 1,
  most: MAX_MODELS,
  example: 100,
})
export const PAGING = [offset, limit]

export interface ModelSource {
  /** As the key sees it. */
  readonly catalog: ListedCatalog
  /** Milliseconds since the epoch. */
  readonly now: number
  /** For the orders by speed. */
  readonly health?: Health
  /** For the orders by use. */
  readonly use?: ModelUse
}

/** GET /v1/models. @throws Fault 400 naming the query parameter. */
export function listModels(query: URLSearchParams, source: ModelSource): ApiReply {
  return page('/v1/models', query, selected(source.catalog.models, query, source))
}

/** GET /v1/models/user: all that the key may use, of every kind. */
export function listKeyModels(query: URLSearchParams, source: Pick<ModelSource, 'catalog'>): ApiReply {
  return page('/v1/models/user', query, source.catalog.models)
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
  return ok({ data: slugEntry(slug, source) })
}

/** GET /v1/models/{author}/{slug}: the same as `models.retrieve` of OpenAI's SDKs expects it (openai 7.57.0, resources/models.ts). */
export function retrievedModel(slug: string, source: Pick<ModelSource, 'catalog'>): ApiReply {
  return ok(slugEntry(slug, source))
}

function slugEntry(slug: string, { catalog }: Pick<ModelSource, 'catalog'>): JsonObject {
  const { model, strategy } = namedModel(slug, catalog)
  const alias = strategy === 'latest' || catalog.aliases.has(slug)
  return alias ? aliasEntry(slug, model) : modelEntry(model)
}

/** @throws Fault 404 with `availability` where there is no such model. */
export function namedModel(slug: string, catalog: Pick<Catalog, 'find' | 'models'>): Found {
  const found = catalog.find(slug)
  if (found) return found
  throw unknownModel(slug, nearestModels(slug, catalog.models))
}

function selected(models: readonly Model[], query: URLSearchParams, source: ModelSource): readonly Model[] {
  const matches = modelTest(query, source.now / 1000)
  const gives = outputTest(query)
  return sortModels(
    models.filter((model) => gives(model) && matches(model)),
    query,
    source,
  )
}

/** Everything when neither `offset` nor `limit` is sent. */
function page(path: string, query: URLSearchParams, models: readonly Model[]): ApiReply {
  const skipped = offset.read(query)
  const most = limit.read(query)
  const whole = skipped === undefined && most === undefined
  const from = skipped ?? 0
  const until = whole ? models.length : from + (most ?? DEFAULT_LIMIT)
  const data: JsonObject[] = models.slice(from, until).map(modelEntry)
  let next: string | null = null
  if (until < models.length) {
    const following = new URLSearchParams(query)
    following.set('offset', String(until))
    following.set('limit', String(until - from))
    next = `${path}?${following}`
  }
  return ok({ object: 'list', data, total_count: models.length, links: { next } })
}
