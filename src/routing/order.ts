/** In which order the endpoints that may serve are tried (docs/contract.md#provider-preferences, docs/contract.md#endpoint-choice, docs/contract.md#service-tiers). */

import type { PriceMoment } from '../core/price.ts'
import { isQuickTier, type ServiceTier } from '../core/service-tiers.ts'
import type { SortKey } from '../core/sort-keys.ts'
import type { ProviderPreferences } from '../dialects/canon/request-fields.ts'
import type { Endpoint } from './catalog/types.ts'
import { fullNames, isDrained, ofOperator, orderFor, type StatedOrder, type Tier } from './criteria/index.ts'
import { byRankThenPrice, byRankThenValue, EJECTED, endpointPace, endpointStandings, type Health, type Standing } from './standing.ts'

export type { Band, Health, PercentileName } from './standing.ts'

export interface OrderPreferences
  extends Pick<ProviderPreferences, 'order' | 'allow_fallbacks' | 'sort' | 'preferred_max_latency' | 'preferred_min_throughput'>,
    Pick<StatedOrder, 'order_from'> {
  /** Old name of the partition: `fallback` means model, `sort` means none. */
  readonly route?: 'fallback' | 'sort' | null | undefined
  /** Endpoint id that this conversation sticks to. */
  readonly sticky?: string | undefined
  readonly serviceTier?: Tier | undefined
  /** True where the request offers tools: quality decides, unless the caller sorts otherwise. */
  readonly tools?: boolean | undefined
  /** Decides between the prices of an endpoint that has several; its own where absent. */
  readonly priceMoment?: PriceMoment | undefined
}

/**
 * Orders candidates; the first is tried first. Nothing is removed but by `allow_fallbacks: false`,
 * which leaves the top endpoint of each model, or those that `order` names.
 * Ejected endpoints come after everything else, the one that is due soonest first.
 * @param endpoints after the filters, the primary model's first.
 * @param chance uniform in [0, 1); called at most once per model.
 */
export function orderEndpoints(endpoints: readonly Endpoint[], prefs: OrderPreferences, chance: () => number, health: Health): Endpoint[] {
  if (endpoints.length < 2 && !prefs.order?.length) return [...endpoints]
  const known = health.atOnce?.() ?? health
  const ordered: Standing[] = []
  for (const group of endpointGroups(endpoints, prefs)) {
    for (const standing of orderGroup(group, prefs, chance, known)) ordered.push(standing)
  }
  return ejectedLast(ordered, known)
}

/** By model, in the order in which the models come; all in one where the partition is none. */
function endpointGroups(endpoints: readonly Endpoint[], prefs: OrderPreferences): Iterable<readonly Endpoint[]> {
  const first = endpoints[0]?.model
  if (sortPartition(prefs) === 'none' || endpoints.every((endpoint) => endpoint.model === first)) return [endpoints]
  const groups = new Map<string, Endpoint[]>()
  for (const endpoint of endpoints) {
    const group = groups.get(endpoint.model.slug)
    if (group) group.push(endpoint)
    else groups.set(endpoint.model.slug, [endpoint])
  }
  return groups.values()
}

/** `none`: the endpoints of all models are one group. */
export function sortPartition(prefs: OrderPreferences): 'model' | 'none' {
  const stated = typeof prefs.sort === 'object' ? prefs.sort?.partition : undefined
  return stated ?? (prefs.route === 'sort' ? 'none' : 'model')
}

/** Undefined where the default order holds. */
export function wantedSortKey(prefs: OrderPreferences): SortKey | undefined {
  const key = typeof prefs.sort === 'object' ? prefs.sort?.by : prefs.sort
  return key ?? (prefs.serviceTier === 'flex' ? 'price' : undefined)
}

function orderGroup(endpoints: readonly Endpoint[], prefs: OrderPreferences, chance: () => number, health: Health): Standing[] {
  if (orderFor(endpoints, prefs)) return byList(endpoints, prefs, chance, health)
  const key = wantedSortKey(prefs)
  let ordered =
    key === 'least_busy'
      ? leastBusy(endpoints, prefs, chance, health)
      : key
        ? sorted(endpoints, key, prefs, health)
        : balanced(endpoints, prefs, chance, health)
  if (isQuickTier(prefs.serviceTier)) ordered = tierFirst(ordered, prefs.serviceTier, prefs, health)
  if (prefs.sticky !== undefined) stickyFirst(ordered, prefs.sticky, health)
  return prefs.allow_fallbacks === false ? ordered.slice(0, 1) : ordered
}

/**
 * The list in turn, without entries that name no candidate; then the rest in default order, not drawn (docs/contract.md#provider-preferences).
 * Where a list of the operator's names several endpoints at once, their weights still share the requests.
 */
function byList(endpoints: readonly Endpoint[], prefs: OrderPreferences, chance: () => number, health: Health): Standing[] {
  const standings = endpointStandings(endpoints, prefs, 'default', health).sort(byRankThenPrice)
  const places = new Map<string, number>()
  for (const [place, entry] of (prefs.order ?? []).entries()) if (!places.has(entry)) places.set(entry, place)
  const placed: { standing: Standing; place: number }[] = []
  const rest: Standing[] = []
  for (const standing of standings) {
    const place = endpointPlace(standing.endpoint, places)
    if (place === undefined) rest.push(standing)
    else placed.push({ standing, place })
  }
  placed.sort((one, other) => one.place - other.place)
  const ordered = placed.map(({ standing }) => standing)
  if (ofOperator(prefs.order_from) && areWeighted(endpoints)) {
    const [first] = placed
    const others = placed.findIndex(({ place, standing }) => place !== first?.place || standing.rank !== first.standing.rank)
    drawFirst(ordered, others < 0 ? ordered.length : others, chance, standingWeight)
  }
  return prefs.allow_fallbacks === false ? ordered : [...ordered, ...rest]
}

/**
 * Place of the first entry that names the endpoint.
 * A tier endpoint that passed the filters was requested; a base slug names it unless the list has it by its tag.
 */
function endpointPlace(endpoint: Endpoint, places: ReadonlyMap<string, number>): number | undefined {
  const named = fullNames(endpoint).flatMap((name) => places.get(name) ?? [])
  const base = endpoint.tier !== undefined && named.length > 0 ? undefined : places.get(endpoint.provider.slug)
  if (named.length === 0) return base
  return Math.min(...named, base ?? Number.POSITIVE_INFINITY)
}

/** By the key alone, without a draw; ties by price. */
function sorted(endpoints: readonly Endpoint[], key: Exclude<SortKey, 'least_busy'>, prefs: OrderPreferences, health: Health): Standing[] {
  // A failing endpoint has no quality at all; the other keys leave it to the caller.
  const standings = endpointStandings(endpoints, prefs, key === 'exacto' ? 'default' : 'sort', health)
  if (key === 'price') return standings.sort(byRankThenPrice)
  if (key === 'exacto') rateQuality(standings, health)
  else rateSpeed(standings, key, health)
  return standings.sort(byRankThenValue)
}

/**
 * By the calls that run at each, as a share of its weight; drawn by weight where several have the fewest, as nginx's `least_conn` does.
 * A single failure counts as in the default order: an endpoint that refuses at once never has much to do.
 */
function leastBusy(endpoints: readonly Endpoint[], prefs: OrderPreferences, chance: () => number, health: Health): Standing[] {
  const order = endpointStandings(endpoints, prefs, 'default', health)
  for (const standing of order) {
    const weight = standingWeight(standing)
    standing.value = weight > 0 ? health.running(standing.endpoint) / weight : Number.POSITIVE_INFINITY
  }
  order.sort(byRankThenValue)
  const [best] = order
  const others = order.findIndex(({ rank, value }) => rank !== best?.rank || value !== best.value)
  drawFirst(order, others < 0 ? order.length : others, chance, standingWeight)
  return order
}

/** Unknown speed is the worst there is. */
function rateSpeed(standings: readonly Standing[], key: 'latency' | 'throughput', health: Health): void {
  for (const standing of standings) {
    const known = key === 'latency' ? health.latency(standing.endpoint, 'p50') : endpointPace(health, standing.endpoint)
    standing.value = known === undefined ? Number.POSITIVE_INFINITY : key === 'latency' ? known : -known
  }
}

/**
 * Stable endpoints first, the very first of them drawn with weight 1/price²; the others follow by price.
 * For tools quality comes before price, and only endpoints of about the best quality are drawn between.
 * Weights that the operator states take the place of both.
 */
function balanced(endpoints: readonly Endpoint[], prefs: OrderPreferences, chance: () => number, health: Health): Standing[] {
  const order = endpointStandings(endpoints, prefs, 'default', health)
  const isWeighted = areWeighted(endpoints)
  if (prefs.tools && !isWeighted) rateQuality(order, health)
  order.sort(byRankThenValue)
  const [best] = order
  if (best === undefined) return order
  let peers = 1
  for (let next = order[1]; next !== undefined && next.rank === best.rank && onAPar(best, next); next = order[peers]) peers++
  drawFirst(order, peers, chance, isWeighted ? standingWeight : byPriceSquared)
  return order
}

/** The endpoints of the requested tier by throughput, then the rest as they were (docs/contract.md#service-tiers). */
function tierFirst(ordered: readonly Standing[], tier: ServiceTier, prefs: OrderPreferences, health: Health): Standing[] {
  const fast: Endpoint[] = []
  const rest: Standing[] = []
  for (const standing of ordered) {
    if (standing.endpoint.tier === tier) fast.push(standing.endpoint)
    else rest.push(standing)
  }
  return fast.length === 0 ? rest : [...sorted(fast, 'throughput', prefs, health), ...rest]
}

function stickyFirst(ordered: Standing[], id: string, health: Health): void {
  const at = ordered.findIndex(({ endpoint }) => endpoint.id === id)
  const pinned = ordered[at]
  if (at === 0 || pinned === undefined) return
  if (pinned.rank >= EJECTED || health.resting(pinned.endpoint)) return
  toFront(ordered, at)
}

function ejectedLast(ordered: readonly Standing[], health: Health): Endpoint[] {
  const endpoints: Endpoint[] = []
  let ejected: Endpoint[] | undefined
  for (const { endpoint, rank } of ordered) {
    if (rank < EJECTED) endpoints.push(endpoint)
    else if (ejected) ejected.push(endpoint)
    else ejected = [endpoint]
  }
  if (ejected === undefined) return endpoints
  const due = new Map(ejected.map((endpoint) => [endpoint, health.dueIn(endpoint)]))
  ejected.sort((a, b) => (due.get(a) ?? 0) - (due.get(b) ?? 0))
  return endpoints.concat(ejected)
}

/** Part of the range of chance that an endpoint gets, beside others of which the cheapest costs so much. */
type ShareRule = (standing: Standing, cheapest: number) => number

/**
 * The weighted draw that spreads requests over endpoints (docs/contract.md#endpoint-choice, rule 3).
 * Moves one of the first `peers` to the front; the others keep their order.
 * By price free ones draw among themselves, and so do those without a known price if there are no others.
 * @param chance uniform in [0, 1); called once, and not at all for a single peer.
 */
function drawFirst(order: Standing[], peers: number, chance: () => number, shareRule: ShareRule): void {
  if (peers < 2) return
  const drawn = order.slice(0, peers)
  let cheapest = Number.POSITIVE_INFINITY
  for (const { endpoint, price } of drawn) if (!isDrained(endpoint)) cheapest = Math.min(cheapest, price)
  let total = 0
  for (const standing of drawn) total += shareRule(standing, cheapest)
  let point = chance() * total
  let winner = 0
  for (const [i, standing] of drawn.entries()) {
    const share = shareRule(standing, cheapest)
    if (share === 0) continue
    winner = i
    point -= share
    if (point < 0) break
  }
  toFront(order, winner)
}

function toFront(order: Standing[], at: number): void {
  const first = order[at]
  if (first === undefined) return
  order.copyWithin(1, 0, at)
  order[0] = first
}

/**
 * True where the operator states weights, so that they share the requests of these endpoints, which are those of one group. They are
 * stated within a model: where the endpoints of several are one group, prices decide.
 */
export function areWeighted(endpoints: readonly Endpoint[]): boolean {
  const model = endpoints[0]?.model
  let weighted = false
  for (const endpoint of endpoints) {
    if (endpoint.model !== model) return false
    if (endpoint.weight !== undefined && !isDrained(endpoint)) weighted = true
  }
  return weighted
}

/** As nginx, HAProxy and Kubernetes' Gateway API have it: 1 where none is stated. */
const standingWeight = ({ endpoint: { weight = 1 } }: Standing): number => weight

/** 1 for the cheapest, so that no price is too small or too large for the sum. */
function byPriceSquared({ endpoint, price }: Standing, cheapest: number): number {
  if (isDrained(endpoint)) return 0
  if (price === cheapest) return 1
  const share = cheapest / price
  return cheapest === 0 ? 0 : share * share
}

/** Candidates this close to the best one, as a share of its quality, are as good as it. */
const ON_A_PAR = 0.9

/**
 * Quality of endpoints for tool calls: what `sort: exacto` and requests with tools go by (docs/contract.md#endpoint-choice, rule 4).
 *
 *   quality = success³ × (1 + speed + score) ÷ 3
 *
 * success: share of the replies with tool calls whose calls were fine. speed: median tokens per second, as a share of
 * the fastest candidate's. score: `scores.tools` of the catalogue. Success counts most, since a broken call ends an
 * agent's run where a slow one only delays it. What has not been measured of an endpoint counts as the best that is
 * known of another, so that it gets requests and becomes known; a score that is not declared counts as the lowest
 * declared. Where no figure differs all candidates have one quality, and the price alone decides.
 *
 * Sets `value` to the negated quality, so that the best comes first.
 */
export function rateQuality(standings: readonly Standing[], health: Health): void {
  const speeds: (number | undefined)[] = []
  const successes: (number | undefined)[] = []
  let fastest = 0
  let surest = 0
  let lowest = Number.POSITIVE_INFINITY
  for (const { endpoint } of standings) {
    const speed = health.throughput(endpoint, 'p50')
    const success = health.toolSuccess(endpoint)
    speeds.push(speed)
    successes.push(success)
    if (speed !== undefined && speed > fastest) fastest = speed
    if (success !== undefined && success > surest) surest = success
    lowest = Math.min(lowest, endpoint.scores.tools ?? lowest)
  }
  const unscored = lowest === Number.POSITIVE_INFINITY ? 0 : lowest
  // With no figures known, any success and speed will do, as long as it is the same for all.
  const untried = surest > 0 ? surest : 1
  for (const [i, standing] of standings.entries()) {
    const success = successes[i] ?? untried
    const speed = fastest > 0 ? (speeds[i] ?? fastest) / fastest : 1
    const score = standing.endpoint.scores.tools ?? unscored
    standing.value = (-success * success * success * (1 + speed + score)) / 3
  }
}

/** True where the two may be drawn between. @param best the one of the two with the higher quality. */
function onAPar(best: Standing, other: Standing): boolean {
  return other.value <= best.value * ON_A_PAR
}
