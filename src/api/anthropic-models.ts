/**
 * The model lists in the form of Anthropic's API, for requests with the header `anthropic-version`, which its SDKs send
 * (@anthropic-ai/sdk 1.12.0: resources/models.ts, core/pagination.ts).
 */
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { Model } from '../routing/catalog/types.ts'
import { type ModelSource, namedModel } from './models.ts'
import { queryInteger } from './query.ts'
import { type ApiReply, ok } from './reply.ts'

/** Models of one page without `limit`, and at most (API reference: List Models). */
const DEFAULT_LIMIT = 20
const MOST = 1000

type Source = Pick<ModelSource, 'catalog'>

/** GET /v1/models. @throws Fault 400 naming the query parameter. */
export function listAnthropicModels(query: URLSearchParams, { catalog }: Source): ApiReply {
  const models = catalog.models.filter(({ kind }) => kind === 'generate')
  const limit = queryInteger(query, 'limit', 1, MOST) ?? DEFAULT_LIMIT
  const after = findPlace(query, 'after_id', models)
  const before = findPlace(query, 'before_id', models)
  const from = before === undefined ? (after ?? -1) + 1 : Math.max(0, before - limit)
  const until = before ?? from + limit
  const data = models.slice(from, until).map(anthropicEntry)
  const hasMore = before === undefined ? until < models.length : from > 0
  return ok({ data, has_more: hasMore, first_id: data.at(0)?.id ?? null, last_id: data.at(-1)?.id ?? null })
}

/** GET /v1/models/{id}. @throws Fault 404. */
export function oneAnthropicModel(slug: string, { catalog }: Source): ApiReply {
  return ok({ ...anthropicEntry(namedModel(slug, catalog).model), id: slug })
}

function findPlace(query: URLSearchParams, name: string, models: readonly Model[]): number | undefined {
  const id = query.get(name)
  if (id === null) return undefined
  const place = models.findIndex(({ slug }) => slug === id)
  if (place < 0) throw badField(name, 'expected the id of a model in the list')
  return place
}

/** A release date that is not known is the epoch, as in Anthropic's reference. */
function anthropicEntry({ slug, name, created, context, maxOutput }: Model): JsonObject {
  return {
    type: 'model',
    id: slug,
    display_name: name,
    created_at: `${new Date(created * 1000).toISOString().slice(0, 19)}Z`,
    capabilities: null,
    deprecated_at: null,
    lifecycle: 'active',
    line: null,
    max_input_tokens: context ?? null,
    max_tokens: maxOutput ?? null,
    retires_at: null,
  }
}
