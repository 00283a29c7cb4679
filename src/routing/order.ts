/** In which order the endpoints that may serve are tried (contract sections 5.1 and 5.2). */
import type { Percentiles, ProviderPreferences, SortKey } from '../canon/gateway-fields.ts'
import type { Endpoint } from '../catalog/types.ts'
import type { Tier } from './slugs.ts'
import { namesEndpoint, namesTag } from './slugs.ts'

export type PercentileName = 'p50' | 'p75' | 'p90' | 'p99'

/** What is known of an endpoint's recent past; undefined where too little is. */
export interface Health {
  /** A failure of the outage kind within the window, and no success since. */
  recentOutage(endpoint: Endpoint): boolean
  /** The provider asked for rest (Retry-After), and it is not over. */
  resting(endpoint: Endpoint): boolean
  /** Seconds to the first token. */
  latency(endpoint: Endpoint, percentile: PercentileName): number | undefined
  /** Output tokens per second. */
  throughput(endpoint: Endpoint, percentile: PercentileName): number | undefined
}

export interface OrderPreferences
  extends Pick<ProviderPreferences, 'order' | 'allow_fallbacks' | 'sort' | 'preferred_max_latency' | 'preferred_min_throughput'> {
  /** Old name of the partition: `fallback` means model, `sort` means none. */
  readonly route?: 'fallback' | 'sort' | null
  /** Endpoint id that this conversation sticks to. */
  readonly sticky?: string
  readonly serviceTier?: Tier
}

/**
 * Orders candidates; the first is tried first. Nothing is removed but by `allow_fallbacks: false`,
 * which leaves the top endpoint of each model, or those that `order` names.
 * @param endpoints after the filters, the primary model's first.
 * @param chance uniform in [0, 1); asked at most once per model.
 */
export function orderEndpoints(endpoints: readonly Endpoint[], prefs: OrderPreferences, chance: () => number, health: Health): Endpoint[] {
  if (endpoints.length < 2 && !prefs.order?.length) return [...endpoints]
  if (partitionOf(prefs) === 'none') return orderGroup(endpoints, prefs, chance, health)
  const first = endpoints[0]?.model
  if (endpoints.every((endpoint) => endpoint.model === first)) return orderGroup(endpoints, prefs, chance, health)
  const groups = new Map<string, Endpoint[]>()
  for (const endpoint of endpoints) {
    const group = groups.get(endpoint.model.slug)
    if (group) group.push(endpoint)
    else groups.set(endpoint.model.slug, [endpoint])
  }
  return [...groups.values()].flatMap((group) => orderGroup(group, prefs, chance, health))
}

/** Stickiness is off where the caller dictates the order (contract section 5.3). */
export function stickinessApplies(prefs: Pick<OrderPreferences, 'order'>): boolean {
  return !prefs.order?.length
}

interface Standing {
  readonly endpoint: Endpoint
  /** 0 fit, 1 misses a threshold, 2 unstable. */
  readonly rank: number
  /** Attodollars per prompt and completion token together; Infinity where unknown. */
  readonly price: number
}

type Compare = (a: Standing, b: Standing) => number

const ALL_TIERS: ReadonlySet<Tier> = new Set(['flex', 'priority'])

const byRankThenPrice: Compare = (a, b) => a.rank - b.rank || byPrice(a, b)
/** Two unknown prices differ by nothing, where a plain difference would be NaN. */
const byPrice: Compare = (a, b) => (a.price === b.price ? 0 : a.price - b.price)

function partitionOf(prefs: OrderPreferences): 'model' | 'none' {
  const stated = typeof prefs.sort === 'object' ? prefs.sort?.partition : undefined
  return stated ?? (prefs.route === 'sort' ? 'none' : 'model')
}

function sortKeyOf(prefs: OrderPreferences): SortKey | undefined {
  const key = typeof prefs.sort === 'object' ? prefs.sort?.by : prefs.sort
  return key ?? (prefs.serviceTier === 'flex' ? 'price' : undefined)
}

function orderGroup(endpoints: readonly Endpoint[], prefs: OrderPreferences, chance: () => number, health: Health): Endpoint[] {
  if (prefs.order?.length) return byList(endpoints, prefs, health)
  const key = sortKeyOf(prefs)
  let ordered = key ? sorted(endpoints, key, prefs, health) : drawn(endpoints, prefs, chance, health)
  if (prefs.serviceTier === 'priority') ordered = priorityFirst(ordered, health)
  if (prefs.sticky !== undefined) ordered = stickyFirst(ordered, prefs.sticky, health)
  return prefs.allow_fallbacks === false ? ordered.slice(0, 1) : ordered
}

/** The caller's list in turn, skipping who does not serve; then the rest by price. No draw (contract section 5.1). */
function byList(endpoints: readonly Endpoint[], prefs: OrderPreferences, health: Health): Endpoint[] {
  const rest = standings(endpoints, prefs, health).sort(byRankThenPrice)
  const ordered: Endpoint[] = []
  const entries = new Set(prefs.order ?? [])
  // A tier endpoint that passed the filters was asked for; a base slug names it unless the list has it by its tag.
  const admitted = (endpoint: Endpoint) => ([...entries].some((entry) => namesTag(entry, endpoint)) ? undefined : ALL_TIERS)
  for (const entry of entries) {
    for (let i = 0; i < rest.length; ) {
      if (namesEndpoint(entry, rest[i].endpoint, admitted(rest[i].endpoint))) ordered.push(rest.splice(i, 1)[0].endpoint)
      else i++
    }
  }
  if (prefs.allow_fallbacks === false) return ordered
  for (const standing of rest) ordered.push(standing.endpoint)
  return ordered
}

/** By the key alone: an outage does not move anyone, a missed threshold or a rest does. */
function sorted(endpoints: readonly Endpoint[], key: SortKey, prefs: OrderPreferences, health: Health): Endpoint[] {
  const missesGoal = goalCheck(prefs, health)
  const last = new Map(endpoints.map((endpoint) => [endpoint, missesGoal(endpoint) || health.resting(endpoint) ? 1 : 0]))
  const value = sortValue(key, health)
  const keyed = endpoints.map((endpoint) => ({ endpoint, rank: last.get(endpoint) ?? 0, price: priceOf(endpoint), value: value(endpoint) }))
  keyed.sort((a, b) => a.rank - b.rank || (a.value === b.value ? byPrice(a, b) : a.value - b.value))
  return keyed.map((entry) => entry.endpoint)
}

/** A number that is smaller for better endpoints; Infinity, so last, where nothing is known. */
function sortValue(key: SortKey, health: Health): (endpoint: Endpoint) => number {
  if (key === 'price') return priceOf
  if (key === 'latency') return (endpoint) => health.latency(endpoint, 'p50') ?? Number.POSITIVE_INFINITY
  const fastest = (endpoint: Endpoint) => -(health.throughput(endpoint, 'p50') ?? Number.NEGATIVE_INFINITY)
  if (key === 'throughput') return fastest
  // exacto: quality first. Of its three measures speed is known; an endpoint in trouble is no quality at all.
  return (endpoint) => (health.recentOutage(endpoint) ? Number.POSITIVE_INFINITY : fastest(endpoint))
}

/** Stable endpoints first, the very first of them drawn with weight 1/price²; the others follow by price. */
function drawn(endpoints: readonly Endpoint[], prefs: OrderPreferences, chance: () => number, health: Health): Endpoint[] {
  const order = standings(endpoints, prefs, health).sort(byRankThenPrice)
  let peers = 1
  while (peers < order.length && order[peers].rank === order[0].rank) peers++
  if (peers > 1) {
    const chosen = order.splice(draw(order, peers, chance), 1)
    order.unshift(...chosen)
  }
  return order.map((standing) => standing.endpoint)
}

/** Index of the winner among the first `peers`, which are sorted by price. Free ones draw among themselves. */
function draw(order: readonly Standing[], peers: number, chance: () => number): number {
  const cheapest = order[0].price
  let equal = 0
  while (equal < peers && order[equal].price === cheapest) equal++
  if (cheapest === 0 || cheapest === Number.POSITIVE_INFINITY) return Math.floor(chance() * equal)
  const weights: number[] = []
  let total = 0
  for (let i = 0; i < peers; i++) {
    const weight = (cheapest / order[i].price) ** 2
    weights.push(weight)
    total += weight
  }
  let point = chance() * total
  for (let i = 0; i < peers; i++) {
    point -= weights[i]
    if (point < 0) return i
  }
  return 0
}

function priorityFirst(ordered: Endpoint[], health: Health): Endpoint[] {
  const fast = ordered.filter((endpoint) => endpoint.tier === 'priority')
  const value = sortValue('throughput', health)
  fast.sort((a, b) => (value(a) === value(b) ? 0 : value(a) - value(b)))
  return [...fast, ...ordered.filter((endpoint) => endpoint.tier !== 'priority')]
}

function stickyFirst(ordered: Endpoint[], id: string, health: Health): Endpoint[] {
  const at = ordered.findIndex((endpoint) => endpoint.id === id)
  if (at <= 0 || health.resting(ordered[at])) return ordered
  return [ordered[at], ...ordered.slice(0, at), ...ordered.slice(at + 1)]
}

function standings(endpoints: readonly Endpoint[], prefs: OrderPreferences, health: Health): Standing[] {
  const missesGoal = goalCheck(prefs, health)
  return endpoints.map((endpoint) => {
    const unstable = health.recentOutage(endpoint) || health.resting(endpoint)
    return { endpoint, rank: unstable ? 2 : missesGoal(endpoint) ? 1 : 0, price: priceOf(endpoint) }
  })
}

function priceOf(endpoint: Endpoint): number {
  const { price } = endpoint
  if (price === 'free') return 0
  return price === 'unpriced' ? Number.POSITIVE_INFINITY : Number(price.prompt + price.completion)
}

const PERCENTILES: readonly PercentileName[] = ['p50', 'p75', 'p90', 'p99']
const noGoal = () => false

/** True for an endpoint that is known to miss one of the caller's speed goals; unknown speed misses none. */
function goalCheck(prefs: OrderPreferences, health: Health): (endpoint: Endpoint) => boolean {
  const latency = cutoffs(prefs.preferred_max_latency)
  const throughput = cutoffs(prefs.preferred_min_throughput)
  if (!latency && !throughput) return noGoal
  return (endpoint) =>
    PERCENTILES.some((name) => {
      const slowest = latency?.[name]
      const least = throughput?.[name]
      return (
        (slowest !== undefined && (health.latency(endpoint, name) ?? 0) > slowest) ||
        (least !== undefined && (health.throughput(endpoint, name) ?? Number.POSITIVE_INFINITY) < least)
      )
    })
}

function cutoffs(goal: number | Percentiles | null | undefined): Percentiles | undefined {
  return typeof goal === 'number' ? { p50: goal } : (goal ?? undefined)
}
