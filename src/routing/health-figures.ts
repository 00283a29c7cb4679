/** Health of an endpoint, as the endpoint lists show it (docs/contract.md#lists-and-records). */
import type { EndpointRecord } from './endpoint-record.ts'
import type { PercentileName } from './standing.ts'

/**
 * 0: nothing against it. -1: 80 to 94 % served over 30 minutes, outages apart, so tried after others. -2: below 80 %, the
 * last resort. -3: failed within the last 30 s. -5: its provider requested a rest. -10: ejected after failures in a row.
 * The lowest that fits is shown.
 */
export type EndpointStatus = 0 | -1 | -2 | -3 | -5 | -10

export interface EndpointFigures {
  /** Percent of the counted requests that were served, to two decimals; null where none was counted. */
  readonly uptime5m: number | null
  readonly uptime30m: number | null
  readonly uptime1d: number | null
  /** Milliseconds to the first token over the last five minutes; null without a sample. */
  readonly latency: PercentileFigures | null
  /** Tokens per second over the last five minutes: what this share of replies reached at least. */
  readonly throughput: PercentileFigures | null
  readonly status: EndpointStatus
}

export type PercentileFigures = { readonly [name in PercentileName]: number }

export const NO_FIGURES: EndpointFigures = Object.freeze({
  uptime5m: null,
  uptime30m: null,
  uptime1d: null,
  latency: null,
  throughput: null,
  status: 0,
})

/** @param now monotonic milliseconds. */
export function recordFigures(record: EndpointRecord, now: number): EndpointFigures {
  return {
    uptime5m: percent(record.uptime(now, '5m')),
    uptime30m: percent(record.uptime(now, '30m')),
    uptime1d: percent(record.uptime(now, '1d')),
    latency: percentiles((name) => record.latency(now, name)),
    throughput: percentiles((name) => record.throughput(now, name) ?? record.leastThroughput(now)),
    status: endpointStatus(record, now),
  }
}

function endpointStatus(record: EndpointRecord, now: number): EndpointStatus {
  if (record.ejectionLeft(now) > 0) return -10
  if (record.restLeft(now) > 0) return -5
  if (record.inOutage(now)) return -3
  const band = record.band(now)
  return band === 2 ? -2 : band === 1 ? -1 : 0
}

function percent(share: number | undefined): number | null {
  return share === undefined ? null : Math.round(share * 10_000) / 100
}

function percentiles(value: (name: PercentileName) => number | undefined): PercentileFigures | null {
  const [p50, p75, p90, p99] = [value('p50'), value('p75'), value('p90'), value('p99')]
  return p50 === undefined || p75 === undefined || p90 === undefined || p99 === undefined ? null : { p50, p75, p90, p99 }
}
