/** Queries (RFC 7644, 3.4.2): filter, order and page of a list of resources. */
import type { Json, JsonObject } from '../../core/json.ts'
import { type Filter, parseFilter } from './filter.ts'
import { filterTest } from './filter-match.ts'
import { findTarget, folded, valuesAt } from './paths.ts'
import { type Projection, projector, readProjection } from './projection.ts'
import { type ResourceKind, subAttributes } from './schemas.ts'
import { ScimError } from './scim-error.ts'
import { checkSchemas } from './written.ts'

export const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'
const SEARCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest'

/** Resources of one page. */
export const MAX_COUNT = 1_000
const DEFAULT_COUNT = 100

export interface Query extends Projection {
  readonly filter: Filter | undefined
  readonly sortBy: string | undefined
  readonly descending: boolean
  /** From 1. */
  readonly startIndex: number
  readonly count: number
}

/** @throws ScimError 400. */
export function readQuery(parameters: URLSearchParams): Query {
  return read((name) => parameters.get(name) ?? undefined)
}

/** The body of `POST …/.search`. @throws ScimError 400. */
export function readSearch(body: JsonObject): Query {
  checkSchemas(body, SEARCH_SCHEMA)
  return read((name) => body[name] ?? undefined)
}

function read(value: (name: string) => Json | undefined): Query {
  const filter = value('filter')
  const sortBy = value('sortBy')
  if (filter !== undefined && typeof filter !== 'string') throw new ScimError(400, 'filter: expected a text', 'invalidFilter')
  if (sortBy !== undefined && typeof sortBy !== 'string')
    throw new ScimError(400, 'sortBy: expected the name of an attribute', 'invalidValue')
  const order = String(value('sortOrder') ?? 'ascending').toLowerCase()
  if (order !== 'ascending' && order !== 'descending')
    throw new ScimError(400, 'sortOrder: expected ascending or descending', 'invalidValue')
  return {
    filter: filter === undefined || filter.trim() === '' ? undefined : parseFilter(filter),
    sortBy,
    descending: order === 'descending',
    // Less than 1 is 1, and less than 0 is 0 (RFC 7644, 3.4.2.4).
    startIndex: Math.max(1, whole('startIndex', value('startIndex'), 1)),
    count: Math.min(MAX_COUNT, Math.max(0, whole('count', value('count'), DEFAULT_COUNT))),
    ...readProjection(value('attributes'), value('excludedAttributes')),
  }
}

function whole(name: string, value: Json | undefined, usual: number): number {
  if (value === undefined || value === '') return usual
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isSafeInteger(number))
    throw new ScimError(400, `${name}: expected a whole number`, 'invalidValue')
  return number
}

/** The text of `userName eq "x"`, `id eq "x"` and the like: one that an index finds. */
export function equalText(filter: Filter | undefined, kind: ResourceKind, attribute: string): string | undefined {
  if (filter?.op !== 'eq' || typeof filter.value !== 'string') return undefined
  const target = findTarget(kind, filter.path)
  return target?.attribute?.name === attribute && target.sub === undefined && target.extension === undefined ? filter.value : undefined
}

/** @param resources in their usual order. @param shown completes the ones of the page. @throws ScimError 400. */
export function listReply<R extends JsonObject>(
  kind: ResourceKind,
  resources: readonly R[],
  query: Query,
  shown: (resource: R) => JsonObject = (resource) => resource,
): JsonObject {
  const { filter, startIndex, count } = query
  const found = filter ? resources.filter(filterTest(kind, filter)) : resources
  const page = sorted(kind, found, query).slice(startIndex - 1, startIndex - 1 + count)
  const project = projector(kind, query)
  return listBody(
    page.map((resource) => project(shown(resource))),
    { total: found.length, startIndex },
  )
}

export function listBody(resources: readonly JsonObject[], { total, startIndex }: { total: number; startIndex: number }): JsonObject {
  return {
    schemas: [LIST_SCHEMA],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
    Resources: [...resources],
  }
}

/** Resources without the attribute come last (RFC 7644, 3.4.2.3). */
function sorted<R extends JsonObject>(kind: ResourceKind, resources: readonly R[], { sortBy, descending }: Query): readonly R[] {
  if (sortBy === undefined) return resources
  const target = findTarget(kind, sortBy)
  if (!target?.attribute) throw new ScimError(400, `sortBy: no attribute ${sortBy.slice(0, 200)}`, 'invalidValue')
  const sub = target.sub ?? subAttributes(target.attribute).get('value')
  const form = (sub ?? target.attribute).caseExact ? (text: string) => text : folded
  const keyed = resources.map((resource) => {
    const [first] = valuesAt(resource, { ...target, sub })
    return { resource, key: first === undefined || typeof first === 'object' ? undefined : form(String(first)) }
  })
  const direction = descending ? -1 : 1
  keyed.sort((a, b) => {
    if (a.key === undefined || b.key === undefined) return a.key === b.key ? 0 : a.key === undefined ? 1 : -1
    return a.key === b.key ? 0 : a.key < b.key ? -direction : direction
  })
  return keyed.map(({ resource }) => resource)
}
