/** Standing of endpoints: their recent record, and the rank that follows from it. */

import { type PriceMoment, ratesAt } from '../core/price.ts'
import type { Percentiles, ProviderPreferences } from '../dialects/canon/request-fields.ts'
import type { Endpoint } from './catalog/types.ts'

export type PercentileName = 'p50' | 'p75' | 'p90' | 'p99'

/** Uptime over 30 minutes, outages apart: 0 for 95 % and above, 1 from 80 %, 2 below (docs/contract.md#endpoint-choice, rule 6). */
export type Band = 0 | 1 | 2

/** Known facts of an endpoint's recent past; undefined where they are too few. */
export interface Health {
  /** A failure of the outage kind within the window, and no success since. */
  recentOutage(endpoint: Endpoint): boolean
  /** The provider requested a rest (Retry-After), and it is not over. */
  resting(endpoint: Endpoint): boolean
  /** Failed so often in a row that it is left alone for a while, but for one probe at a time. */
  ejected(endpoint: Endpoint): boolean
  /** Milliseconds until an ejected endpoint may be probed; 0 for any other. */
  dueIn(endpoint: Endpoint): number
  /** 0 as well where fewer than 100 requests are known. */
  band(endpoint: Endpoint): Band
  /** Seconds to the first token. */
  latency(endpoint: Endpoint, percentile: PercentileName): number | undefined
  /** Output tokens per second. */
  throughput(endpoint: Endpoint, percentile: PercentileName): number | undefined
  /** Least throughput of an endpoint whose replies were all too short to measure; undefined where the throughput is known. */
  leastThroughput?(endpoint: Endpoint): number | undefined
  /** Share of the replies with tool calls whose calls were fine, 0 to 1. */
  toolSuccess(endpoint: Endpoint): number | undefined
  /** Calls that run there, as this process sees them. */
  running(endpoint: Endpoint): number
  /** The same at this moment, valid until the next call of `atOnce`: a caller of many of these methods reads the clock once. */
  atOnce?(): Health
}

/** Median tokens per second, or what is known to be reached at least; undefined where nothing is known. */
export function endpointPace(health: Health, endpoint: Endpoint): number | undefined {
  return health.throughput(endpoint, 'p50') ?? health.leastThroughput?.(endpoint)
}

export interface Standing {
  readonly endpoint: Endpoint
  /** Sum of the flags below; a smaller one goes first. */
  readonly rank: number
  /** Attodollars per prompt and completion token together; Infinity where unknown. */
  readonly price: number
  /** Figure by which endpoints of one rank are sorted; smaller is better. */
  value: number
}

// Each flag outweighs all below it together.
/** Comes after everything else, the other models of the request included. */
export const EJECTED = 32
const UNSTABLE = 16
const LAST_RESORT = 8
const MISSES_GOAL = 4
const LOWER_PRIORITY = 1

/** The caller's speed goals, and what decides between the prices of an endpoint that has several. */
export interface Goals extends Pick<ProviderPreferences, 'preferred_max_latency' | 'preferred_min_throughput'> {
  readonly priceMoment?: PriceMoment | undefined
}

/**
 * Standing of every endpoint.
 * @param by default: all flags count. sort: an order that the caller requested is moved by ejection, a rest,
 * an uptime below 80 % and a missed goal, not by a single failure.
 */
export function endpointStandings(endpoints: readonly Endpoint[], goals: Goals, by: 'default' | 'sort', health: Health): Standing[] {
  const latency = cutoffs(goals.preferred_max_latency)
  const throughput = cutoffs(goals.preferred_min_throughput)
  const standings: Standing[] = []
  for (const endpoint of endpoints) {
    let rank = endpointRank(endpoint, by, health)
    if (misses(endpoint, latency, throughput, health)) rank += MISSES_GOAL
    standings.push({ endpoint, rank, price: endpointPrice(endpoint, goals.priceMoment), value: 0 })
  }
  return standings
}

function endpointRank(endpoint: Endpoint, by: 'default' | 'sort', health: Health): number {
  const band = health.band(endpoint)
  let rank = health.ejected(endpoint) ? EJECTED : 0
  if (band === 2) rank += LAST_RESORT
  if (health.resting(endpoint) || (by === 'default' && health.recentOutage(endpoint))) rank += UNSTABLE
  return by === 'default' && band === 1 ? rank + LOWER_PRIORITY : rank
}

/** Attodollars per prompt and completion token together. */
function endpointPrice({ price }: Endpoint, moment: PriceMoment | undefined): number {
  if (price === 'free') return 0
  if (price === 'unpriced') return Number.POSITIVE_INFINITY
  const { prompt, completion } = ratesAt(price, moment)
  return Number(prompt) + Number(completion)
}

/** Two equal infinities differ by nothing, where a plain difference would be NaN. */
export function byPrice(a: Standing, b: Standing): number {
  return a.price === b.price ? 0 : a.price - b.price
}

export function byRankThenPrice(a: Standing, b: Standing): number {
  return a.rank - b.rank || byPrice(a, b)
}

export function byRankThenValue(a: Standing, b: Standing): number {
  return a.rank - b.rank || (a.value === b.value ? byPrice(a, b) : a.value - b.value)
}

interface Cutoff {
  readonly name: PercentileName
  readonly limit: number
}

/** True for an endpoint that is known to miss one of the caller's speed goals; unknown speed misses none. */
function misses(endpoint: Endpoint, latency: readonly Cutoff[], throughput: readonly Cutoff[], health: Health): boolean {
  for (const { name, limit } of latency) if ((health.latency(endpoint, name) ?? 0) > limit) return true
  for (const { name, limit } of throughput) if ((health.throughput(endpoint, name) ?? Number.POSITIVE_INFINITY) < limit) return true
  return false
}

const PERCENTILES: readonly PercentileName[] = ['p50', 'p75', 'p90', 'p99']
const NO_GOAL: readonly Cutoff[] = []

/** A plain number is a goal for the median. */
function cutoffs(goal: number | Percentiles | null | undefined): readonly Cutoff[] {
  if (goal === null || goal === undefined) return NO_GOAL
  if (typeof goal === 'number') return [{ name: 'p50', limit: goal }]
  return PERCENTILES.flatMap((name) => {
    const limit = goal[name]
    return limit === undefined ? [] : [{ name, limit }]
  })
}
