/** The hard filters: which endpoints may serve a request at all, each exclusion with its reason; and the error where none is left. */

import { entryAt } from '../core/entry-at.ts'
import { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { Endpoint } from './catalog/types.ts'
import { type AnyCriterion, CRITERIA, endpointTag, type FilterName, type Refusal, type RequestNeeds } from './criteria/index.ts'
import { type MergedPreferences, NO_PREFERENCES } from './merge.ts'

export interface Removed {
  readonly endpoint: Endpoint
  readonly filter: FilterName
  /** Reason for people why the endpoint did not fit. */
  readonly detail: string
  /** Owner of the lists, where the filter is a list: `request`, or `request and account`. */
  readonly from?: string
}

/** Needs of a request, which an endpoint must meet. */
export interface RouteNeeds extends RequestNeeds {
  readonly provider: MergedPreferences
}

export interface Filtered {
  /** The very list where none is removed. */
  readonly kept: readonly Endpoint[]
  readonly removed: Removed[]
}

const ALL: readonly AnyCriterion[] = CRITERIA
/** Criteria that a request without preferences may have a demand for. */
const WITHOUT_FIELDS = ALL.filter(({ fields }) => Object.keys(fields).length === 0)

/**
 * Applies every criterion (docs/contract.md#provider-preferences, docs/contract.md#endpoint-choice); `kept` stays in catalogue order.
 * @throws Fault 400 naming the member of `max_price` that is no price.
 */
export function filterEndpoints(endpoints: readonly Endpoint[], needs: RouteNeeds): Filtered {
  const { provider } = needs
  const wanted: AnyCriterion[] = []
  const demands: unknown[] = []
  for (const criterion of provider === NO_PREFERENCES ? WITHOUT_FIELDS : ALL) {
    if (criterion.need !== undefined && needs[criterion.need] === undefined) continue
    const demand = criterion.demand(provider, needs)
    if (demand === undefined) continue
    wanted.push(criterion)
    demands.push(demand)
  }
  const removed: Removed[] = []
  let kept: Endpoint[] = []
  for (const endpoint of endpoints) {
    let at = 0
    for (const criterion of wanted) {
      if (criterion.test?.(endpoint, demands[at]) === false) break
      at++
    }
    const unmet = wanted[at]
    if (unmet === undefined) kept.push(endpoint)
    else removed.push(removal(endpoint, unmet, demands[at]))
  }
  for (const [at, criterion] of wanted.entries()) {
    const worse = criterion.inferior?.(kept, demands[at])
    if (!worse?.size) continue
    for (const [endpoint, detail] of worse) removed.push({ endpoint, filter: criterion.name, detail })
    kept = kept.filter((endpoint) => !worse.has(endpoint))
  }
  return { kept: removed.length === 0 ? endpoints : kept, removed }
}

function removal(endpoint: Endpoint, { name, explain }: AnyCriterion, demand: unknown): Removed {
  const why = explain?.(endpoint, demand) ?? ''
  return typeof why === 'string' ? { endpoint, filter: name, detail: why } : { endpoint, filter: name, ...why }
}

const PLACES: ReadonlyMap<FilterName, number> = new Map(CRITERIA.map(({ name }, place) => [name, place]))

const filterPlace = ({ filter }: Removed): number => PLACES.get(filter) ?? -1
const removedCriterion = (removed: Removed): AnyCriterion => entryAt<AnyCriterion>(CRITERIA, filterPlace(removed))

/** Endpoints that the message names, and that the metadata lists. */
const SHOWN = 8
const MAX_LISTED = 256

/**
 * The fault for an empty candidate list: 404, 400 where nothing but the context was too short or where the last that would
 * serve cannot do what the caller demands of its parameters, or 403 where only a guardrail or a policy stands against it.
 * The code is that of the filter which came nearest to letting an endpoint through: the last one in `CRITERIA`.
 * `metadata.excluded` lists each endpoint with the filter that removed it.
 * @param requested the requested slugs, the primary model first.
 */
export function noEndpointFault(requested: readonly string[], removed: readonly Removed[]): Fault {
  const isTooLong = removed.length > 0 && removed.every((entry) => entry.filter === 'context')
  // Agents that compact on an overflow look for these words (pi 0.73, opencode 1.18, Claude Code 2.1.330).
  const cause = isTooLong ? ', since the request exceeds the context window' : ''
  const message = `No endpoint can serve ${requested.join(', ')}${cause}${reasons(removed)}`
  const metadata = removed.length > 0 ? { excluded: removed.slice(0, MAX_LISTED).map(exclusion) } : undefined
  if (isTooLong) return new Fault('context_length', { message, metadata })
  const nearest = removed.reduce<Removed | undefined>(
    (best, entry) => (best && filterPlace(best) >= filterPlace(entry) ? best : entry),
    undefined,
  )
  if (nearest?.filter === 'guardrail')
    return new Fault('guardrail_blocked', {
      message: `${message}. The guardrail ${nearest.from} allows none of them`,
      metadata: { ...metadata, guardrail: nearest.from },
    })
  if (nearest?.filter === 'policy')
    return new Fault('forbidden', {
      message: `${message}. The policy ${nearest.from} allows none of them`,
      metadata: { ...metadata, policy: nearest.from },
    })
  const { code, field, badRequest } = nearest ? removedRefusal(nearest) : NO_ENDPOINTS
  const availability: JsonObject = {
    code,
    retryable: false,
    requested_models: [...requested],
  }
  const excludedBy = unique(removed.map((entry) => removedCriterion(entry).refusal.excludedBy))
  if (excludedBy.length > 0) availability.excluded_by = excludedBy
  const affected = unique(removed.map((entry) => entry.endpoint.provider.slug))
  if (affected.length > 0) availability.affected_providers = affected
  if (nearest && code === 'constraint_filtered' && field) availability.constraint = { field, detail: nearest.detail }
  if (badRequest) return new Fault('bad_request', { message, metadata: { ...metadata, field }, availability })
  return new Fault('no_endpoints', { message, metadata, availability })
}

/** One removed endpoint as error metadata has it. */
export function exclusion({ endpoint, filter, detail, from }: Removed): JsonObject {
  const entry: JsonObject = {
    model: endpoint.model.slug,
    provider: endpoint.provider.name,
    endpoint: endpointTag(endpoint),
    filter,
    detail,
  }
  if (from) entry.from = from
  return entry
}

function reasons(removed: readonly Removed[]): string {
  if (removed.length === 0) return ': it has none'
  const shown = removed.slice(0, SHOWN).map(({ endpoint, filter, detail }) => {
    return `${endpoint.model.slug} at ${endpointTag(endpoint)} removed by ${filter} (${detail})`
  })
  const rest = removed.length - shown.length
  return `: ${shown.join('; ')}${rest > 0 ? `; and ${rest} more` : ''}`
}

const NO_ENDPOINTS: Pick<Refusal, 'code' | 'field' | 'badRequest'> = { code: 'no_endpoints' }

function removedRefusal(removed: Removed): Pick<Refusal, 'code' | 'field' | 'badRequest'> {
  const { refusal, fields } = removedCriterion(removed)
  const [first] = Object.keys(fields)
  return { ...refusal, field: refusal.field ?? (first === undefined ? undefined : `provider.${first}`) }
}

function unique(names: readonly (string | undefined)[]): string[] {
  return [...new Set(names.filter((name) => name !== undefined))]
}
