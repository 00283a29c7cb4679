/**
 * Reasons of a plan: what excluded each endpoint of the requested models that is no candidate, and why each candidate has its place. They
 * are computed by the ordering itself, so that the two cannot differ.
 */

import { entryAt } from '../../core/entry-at.ts'
import { ALL_TIERS, isQuickTier } from '../../core/service-tiers.ts'
import type { SortKey } from '../../core/sort-keys.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import {
  areWeighted,
  endpointTag,
  type FilterName,
  type Health,
  listNames,
  type OrderPreferences,
  orderEndpoints,
  orderFor,
  sortPartition,
  wantedSortKey,
} from '../../routing/index.ts'
import { rateQuality } from '../../routing/order.ts'
import { endpointPace, endpointStandings } from '../../routing/standing.ts'
import type { ChainDependencies } from '../dependencies.ts'
import type { Aimed, Exchange, Guarded, Planned } from '../exchange.ts'
import { isLimited } from '../money/hold.ts'
import { unpriced } from '../money/tool-fees.ts'
import { contextNeed, smallestContext } from '../request/client-request.ts'
import { keyOwner } from '../request/key-owner.ts'
import { orderPreferences, withContext } from '../route/plan.ts'

/** The hard filters, and what is decided after them: an unknown price, and fallbacks that were not allowed. */
type Exclusion = FilterName | 'unpriced' | 'allow_fallbacks'

/** As `error.metadata.excluded` has it where no endpoint is left. */
export type ExcludedEndpoint = {
  model: string
  /** Display name. */
  provider: string
  /** Tag: `provider`, `provider/variant` or `provider/tier`. */
  endpoint: string
  filter: Exclusion
  /** Reason for people why the endpoint did not fit. */
  detail: string
  /** Owner of the list, where the filter is a list: request, key or account. */
  from?: string | undefined
}

type Why = Pick<ExcludedEndpoint, 'filter' | 'detail' | 'from'>

/** In the order of the filters: those of the resolution first. */
export function exclusions(exchange: Exchange): ExcludedEndpoint[] {
  const found = exchange.history.removed.map(({ endpoint, filter, detail, from }) => entry(endpoint, { filter, detail, from }))
  const { plan, route, demand } = exchange
  const candidates = plan?.candidates ?? []
  const listed = new Set([...candidates, ...exchange.history.removed.map(({ endpoint }) => endpoint)])
  // A choice among models leaves out what the input does not fit before anything is ordered.
  const rest = (route?.models ?? demand?.models ?? []).flatMap((model) => model.endpoints.filter((endpoint) => !listed.has(endpoint)))
  if (rest.length === 0) return found
  const { request, auth } = exchange
  if (!demand || !request || !auth) return found
  const late = lateReasons({ ...exchange, demand, request, auth }, rest)
  for (const endpoint of rest) {
    const why = late.get(endpoint)
    if (why) found.push(entry(endpoint, why))
    // Without candidates the request ended before this endpoint's turn came.
    else if (candidates.length > 0) found.push(entry(endpoint, { filter: 'allow_fallbacks', detail: 'no fallback is allowed' }))
  }
  return found
}

/** Endpoints that the order is made of: those of the resolution that fit, and whose price the key may pay. */
function orderedAmong(exchange: Guarded): Endpoint[] {
  const late = lateReasons(exchange, exchange.route.endpoints)
  return exchange.route.endpoints.filter((endpoint) => !late.has(endpoint))
}

function lateReasons(exchange: Aimed, endpoints: readonly Endpoint[]): Map<Endpoint, Why> {
  const limited = isLimited(exchange.auth.key, exchange.demand.budgets)
  const need = contextNeed(exchange, smallestContext(endpoints))
  const late = new Map<Endpoint, Why>()
  for (const { endpoint, filter, detail } of withContext(exchange, endpoints, need).removed) late.set(endpoint, { filter, detail })
  for (const endpoint of endpoints) {
    if (late.has(endpoint)) continue
    if (limited) {
      const what = unpriced(exchange, endpoint)
      const ofTool = what === 'endpoint' ? '' : ` for the tool ${what}`
      if (what !== undefined) late.set(endpoint, { filter: 'unpriced', detail: `it has no price${ofTool}, and the key has a limit` })
    }
  }
  return late
}

function entry(endpoint: Endpoint, { filter, detail, from }: Why): ExcludedEndpoint {
  const place = { model: endpoint.model.slug, provider: endpoint.provider.name, endpoint: endpointTag(endpoint) }
  return from === undefined ? { ...place, filter, detail } : { ...place, filter, detail, from }
}

export type PlaceReason = {
  /**
   * only_one: its model has no other. order: a list names it. session: the conversation was served there last.
   * tier: the priority tier was requested.
   * draw, weight: the lot may put it first, by its price or by the operator's weights.
   * quality: tools are offered, so that quality comes before price.
   * price, throughput, latency, exacto, least_busy: sorted by that; price also of what the draw or the list leaves.
   */
  by: 'only_one' | 'order' | 'session' | 'tier' | 'weight' | 'draw' | 'quality' | SortKey
  /** Chance of being tried first of its model, 0 to 1; only where there is a draw. */
  share?: number
  /**
   * Value that it was sorted by: USD per million prompt and completion tokens together, tokens per second, seconds to the first token,
   * quality from 0 to 1, or calls that run there. Null where it is not known.
   */
  value?: number | null
  /** ok, or what puts it behind the others of late. */
  health: 'ok' | 'recent_outage' | 'resting' | 'ejected'
  /** Uptime of the last 30 minutes: 0 from 95 %, 1 from 80 %, 2 below. */
  band: 0 | 1 | 2
  /** The caller's `preferred_max_latency` or `preferred_min_throughput` is missed. */
  misses_goal?: true
}

/** One for each candidate, in their order. */
export function placeReasons(exchange: Planned, dependencies: Pick<ChainDependencies, 'health'>): PlaceReason[] {
  const health = dependencies.health.forKey(exchange.auth.key.identity, keyOwner(exchange.auth.key))
  const preferences = orderPreferences(exchange, exchange.plan.conversation)
  const endpoints = orderedAmong(exchange)
  const shares = drawShares(endpoints, preferences, health)
  const values = sortValues(endpoints, preferences, health)
  const missed = missedGoals(endpoints, preferences, health)
  const groups = endpointGroups(endpoints, preferences)
  const led = new Set<string>()
  return exchange.plan.candidates.map((endpoint) => {
    const share = shares?.get(endpoint)
    const name = endpointGroup(endpoint, preferences)
    const place: Place = { preferences, first: !led.has(name), group: groups.get(name) ?? NONE, share }
    led.add(name)
    const reason: PlaceReason = {
      by: placedBy(endpoint, place),
      health: endpointState(endpoint, health),
      band: health.band(endpoint),
    }
    if (share !== undefined) reason.share = share
    if (values.has(endpoint)) reason.value = values.get(endpoint) ?? null
    if (missed.has(endpoint)) reason.misses_goal = true
    return reason
  })
}

interface Place {
  preferences: OrderPreferences
  /** First of its group. */
  first: boolean
  group: readonly Endpoint[]
  share: number | undefined
}

function placedBy(endpoint: Endpoint, { preferences, first, group, share }: Place): PlaceReason['by'] {
  const { sticky, serviceTier } = preferences
  const order = orderFor(group, preferences)
  if (order) return listNames(order, endpoint, ALL_TIERS) ? 'order' : 'price'
  if (group.length === 1) return 'only_one'
  if (first && endpoint.id === sticky) return 'session'
  if (isQuickTier(serviceTier) && endpoint.tier === serviceTier) return 'tier'
  const key = wantedSortKey(preferences)
  if (key !== undefined) return key
  const isWeighted = areWeighted(group)
  if (share !== undefined && share > 0) return isWeighted ? 'weight' : 'draw'
  return preferences.tools && !isWeighted ? 'quality' : 'price'
}

function endpointState(endpoint: Endpoint, health: Health): PlaceReason['health'] {
  if (health.ejected(endpoint)) return 'ejected'
  if (health.resting(endpoint)) return 'resting'
  return health.recentOutage(endpoint) ? 'recent_outage' : 'ok'
}

/** Models are ordered apart unless the partition says otherwise. */
function endpointGroup(endpoint: Endpoint, preferences: OrderPreferences): string {
  return sortPartition(preferences) === 'none' ? '' : endpoint.model.slug
}

function endpointGroups(endpoints: readonly Endpoint[], preferences: OrderPreferences): ReadonlyMap<string, readonly Endpoint[]> {
  const groups = new Map<string, Endpoint[]>()
  for (const endpoint of endpoints) {
    const name = endpointGroup(endpoint, preferences)
    const group = groups.get(name)
    if (group) group.push(endpoint)
    else groups.set(name, [endpoint])
  }
  return groups
}

const NONE: readonly Endpoint[] = []

/** Halvings of the range of chance: shares are right to a thousandth. */
const DEEPEST = 10

/**
 * Share of the range of chance that puts each endpoint first of its group; undefined where chance decides nothing. Along that range each
 * endpoint wins one stretch, so a stretch with equal winners at both ends needs no further look.
 */
function drawShares(endpoints: readonly Endpoint[], preferences: OrderPreferences, health: Health): Map<Endpoint, number> | undefined {
  let drawn = false
  const winners = (point: number): Endpoint[] => {
    const chance = (): number => {
      drawn = true
      return point
    }
    const groups = new Map<string, Endpoint>()
    for (const endpoint of orderEndpoints(endpoints, preferences, chance, health)) {
      const group = endpointGroup(endpoint, preferences)
      if (!groups.has(group)) groups.set(group, endpoint)
    }
    return [...groups.values()]
  }
  const lowest = winners(0)
  if (!drawn) return undefined
  const shares = new Map<Endpoint, number>(endpoints.map((endpoint) => [endpoint, 0]))
  const give = (to: readonly Endpoint[], stretch: number): void => {
    for (const endpoint of to) shares.set(endpoint, (shares.get(endpoint) ?? 0) + stretch)
  }
  const split = (low: Cut, high: Cut, depth: number): void => {
    const stretch = high.at - low.at
    if (low.winners.every((endpoint) => high.winners.includes(endpoint))) give(low.winners, stretch)
    else if (depth === DEEPEST) for (const side of [low, high]) give(side.winners, stretch / 2)
    else {
      const at = (low.at + high.at) / 2
      const middle: Cut = { at, winners: winners(at) }
      split(low, middle, depth + 1)
      split(middle, high, depth + 1)
    }
  }
  split({ at: 0, winners: lowest }, { at: 1, winners: winners(1 - Number.EPSILON) }, 0)
  for (const [endpoint, share] of shares) shares.set(endpoint, Math.round(share * 1000) / 1000)
  return shares
}

interface Cut {
  at: number
  winners: readonly Endpoint[]
}

/** Key that the endpoints of a group are sorted by; undefined where a list, a price or a weight decides without it. */
function groupSortKey(group: readonly Endpoint[], preferences: OrderPreferences): SortKey | undefined {
  if (orderFor(group, preferences)) return undefined
  return wantedSortKey(preferences) ?? (preferences.tools && !areWeighted(group) ? 'exacto' : undefined)
}

/** Of the endpoints that are sorted by a value, that value; undefined where it is not known. */
function sortValues(endpoints: readonly Endpoint[], preferences: OrderPreferences, health: Health): Map<Endpoint, number | undefined> {
  const values = new Map<Endpoint, number | undefined>()
  for (const group of endpointGroups(endpoints, preferences).values()) {
    const measure = groupSortKey(group, preferences)
    if (measure === undefined) continue
    for (const [endpoint, value] of endpointValues(group, { measure, preferences }, health)) values.set(endpoint, value)
  }
  return values
}

function endpointValues(
  endpoints: readonly Endpoint[],
  { measure, preferences }: { measure: SortKey; preferences: OrderPreferences },
  health: Health,
): Map<Endpoint, number | undefined> {
  if (measure === 'least_busy') return new Map(endpoints.map((endpoint) => [endpoint, health.running(endpoint)]))
  if (measure === 'latency') return new Map(endpoints.map((endpoint) => [endpoint, health.latency(endpoint, 'p50')]))
  if (measure === 'throughput') return new Map(endpoints.map((endpoint) => [endpoint, endpointPace(health, endpoint)]))
  const { priceMoment } = preferences
  const standings = endpointStandings(endpoints, { priceMoment }, 'default', health)
  if (measure === 'price')
    return new Map(standings.map(({ endpoint, price }) => [endpoint, Number.isFinite(price) ? price / 1e12 : undefined]))
  rateQuality(standings, health)
  return new Map(standings.map(({ endpoint, value }) => [endpoint, Math.round(-value * 1000) / 1000]))
}

/** Endpoints that stand lower with the caller's goals than without. */
function missedGoals(endpoints: readonly Endpoint[], preferences: OrderPreferences, health: Health): Set<Endpoint> {
  const without = endpointStandings(endpoints, {}, 'default', health)
  const standings = endpointStandings(endpoints, preferences, 'default', health)
  return new Set(standings.filter(({ rank }, i) => rank > entryAt(without, i).rank).map(({ endpoint }) => endpoint))
}
