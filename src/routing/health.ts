/**
 * Bounded statistics per endpoint on the injected clock: outages, rests, ejection, uptime, speed and tool calls; and what the endpoint
 * lists show of them (contract section 4).
 */

import type { NewsWire } from '../cluster/shared/types.ts'
import type { Clock } from '../core/clock.ts'
import { type Fault, isRejection } from '../core/faults.ts'
import type { Json } from '../core/json.ts'
import type { Endpoint } from './catalog/types.ts'
import { EndpointRecord, type ServedSample } from './endpoint-record.ts'
import type { Band, Health, PercentileName } from './standing.ts'

export type { ServedSample } from './endpoint-record.ts'

/** A provider may not freeze itself out for longer, whatever its Retry-After says. */
const REST_CAP_MS = 60_000
/** Of a silent endpoint's silence at most so much counts as outage. */
const SILENCE_MS = 10_000
/** Records of endpoints that the catalogue does not name. Callers choose the names behind a wildcard, so these are bounded. */
const MOST_UNNAMED = 4096
/** A refusal for the place that the caller or the gateway is in, by the provider's own word for it. */
const PLACE = /country|region|territor|location|geo/i

/** The operator's own limits, and a credential that cannot be fetched: the endpoint serves as soon as there is one. */
const NO_OUTAGE: ReadonlySet<Fault['code']> = new Set(['upstream_overlong', 'upstream_oversized', 'credential_unavailable'])

/**
 * True where a fault says that the endpoint is failing. What the caller got wrong does not (400, 409, 413, 422, an unknown id), nor does
 * a rate limit, which has its own cool-down, nor a refusal for the place (contract section 5.2, rule 6), nor an answer that
 * passes the operator's limits while it arrives.
 */
export function isOutage(fault: Fault): boolean {
  if (NO_OUTAGE.has(fault.code)) return false
  if (fault.origin !== 'upstream' || isRejection(fault) || fault.status === 429) return false
  return fault.code !== 'upstream_auth' || !PLACE.test(String(fault.metadata?.provider_code ?? ''))
}

export class HealthBook implements Health {
  private readonly clock: Clock
  private readonly records = new Map<string, EndpointRecord>()
  private readonly moment = new Moment(this.records)
  /** Ids of the endpoints that the catalogue names. */
  private named: ReadonlySet<string> = new Set()
  /** Ids of all other records, in the order in which they were opened. */
  private readonly unnamed = new Set<string>()
  private news: NewsWire | undefined
  /** Called when an endpoint is ejected here, each time anew. */
  onEject: ((endpoint: Endpoint) => void) | undefined
  /** Called when an endpoint that was ejected serves again. */
  onReturn: ((endpoint: Endpoint) => void) | undefined

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** @param ids of the endpoints that the catalogue names: their records are not dropped for those of names behind a wildcard. */
  protect(ids: Iterable<string>): void {
    this.named = new Set(ids)
    this.unnamed.clear()
    for (const id of this.records.keys()) if (!this.named.has(id)) this.unnamed.add(id)
    this.dropBeyond(MOST_UNNAMED)
  }

  /** A request is about to be sent there: claims the one probe of an ejected endpoint that is due. */
  dispatched(endpoint: Endpoint): void {
    const record = this.records.get(endpoint.id)
    if (record?.ejection?.standing) record.ejection.dispatched(this.clock.monotonic())
  }

  /** The endpoint has served: its outage and its ejection are over. A rest stands, since its provider requested it. */
  success(endpoint: Endpoint, sample: ServedSample): void {
    const record = this.records.get(endpoint.id) ?? this.open(endpoint.id)
    const over = record.ejection?.standing === true
    record.served(this.clock.monotonic(), sample)
    if (endpoint.wildcardId !== undefined) this.records.get(endpoint.wildcardId)?.attemptServed()
    if (!over) return
    this.news?.publish('outage', [endpoint.id, 0, 0])
    this.onReturn?.(endpoint)
  }

  /**
   * The attempt failed; faults that are not the endpoint's leave no trace. Retry-After is heard on all of them.
   * @param since when the endpoint began to say nothing, monotonic milliseconds: outage and ejection count from then, as
   * far as it is not long ago, so that a silent endpoint is not left alone for its silence and then for as long again.
   */
  failure(endpoint: Endpoint, fault: Fault, since = Number.POSITIVE_INFINITY): void {
    const outage = isOutage(fault)
    const rest = fault.origin === 'upstream' ? restMs(fault.retryAfter) : 0
    const failed = outage || (fault.origin === 'upstream' && !isRejection(fault))
    if (!failed && rest === 0) {
      this.abandoned(endpoint)
      return
    }
    const record = this.records.get(endpoint.id) ?? this.open(endpoint.id)
    const now = this.clock.monotonic()
    if (failed) {
      record.attemptFailed(now)
      const { wildcardId: shared } = endpoint
      if (shared !== undefined) (this.records.get(shared) ?? this.open(shared)).attemptFailed(now)
    }
    if (!outage) record.abandoned()
    else if (record.broke({ now, since: Math.min(now, Math.max(since, now - SILENCE_MS)) }, () => this.clock.random())) {
      const { ms, rounds } = record.mayEject().news(now)
      this.onEject?.(endpoint)
      if (ms > 0) this.news?.publish('outage', [endpoint.id, Math.ceil(ms), rounds])
    }
    if (rest > 0) record.rest(now + rest)
  }

  /** From now on ejections and their ends are published to the other processes, and theirs hold here. */
  share(news: NewsWire): void {
    if (news.isSilent) return
    this.news = news
    news.subscribe('outage', (message) => {
      const outage = readOutageNews(message)
      if (!outage) return
      const now = this.clock.monotonic()
      if (outage.ms === 0) this.records.get(outage.endpoint)?.ejection?.endedElsewhere(now)
      else (this.records.get(outage.endpoint) ?? this.open(outage.endpoint)).mayEject().takeOver(now, outage)
    })
  }

  /** The outcome says nothing of the endpoint, as when the caller left: another request may probe. */
  abandoned(endpoint: Endpoint): void {
    this.records.get(endpoint.id)?.abandoned()
  }

  recentOutage(endpoint: Endpoint): boolean {
    return this.atOnce().recentOutage(endpoint)
  }

  resting(endpoint: Endpoint): boolean {
    return this.atOnce().resting(endpoint)
  }

  /** Milliseconds until the endpoint may be called again; our own Retry-After is computed from it. */
  restLeft(endpoint: Endpoint): number {
    return this.records.get(endpoint.id)?.restLeft(this.clock.monotonic()) ?? 0
  }

  ejected(endpoint: Endpoint): boolean {
    return this.atOnce().ejected(endpoint)
  }

  /**
   * True where the last five attempts were within 30 s and all of them failed: those of the endpoint, or of all names
   * behind its wildcard, since a caller could choose a new name for each request.
   */
  failing({ id, wildcardId }: Endpoint): boolean {
    const now = this.clock.monotonic()
    if (this.records.get(id)?.failing(now)) return true
    return wildcardId !== undefined && this.records.get(wildcardId)?.failing(now) === true
  }

  dueIn(endpoint: Endpoint): number {
    return this.atOnce().dueIn(endpoint)
  }

  band(endpoint: Endpoint): Band {
    return this.atOnce().band(endpoint)
  }

  latency(endpoint: Endpoint, percentile: PercentileName): number | undefined {
    return this.atOnce().latency(endpoint, percentile)
  }

  throughput(endpoint: Endpoint, percentile: PercentileName): number | undefined {
    return this.atOnce().throughput(endpoint, percentile)
  }

  /** Over the last half hour; undefined with fewer than ten replies that called tools. */
  toolSuccess(endpoint: Endpoint): number | undefined {
    return this.atOnce().toolSuccess(endpoint)
  }

  atOnce(): Health {
    return this.moment.at(this.clock.monotonic())
  }

  /** For the lists; an endpoint that nothing is known of has nothing against it. */
  figures(endpoint: Endpoint): EndpointFigures {
    const record = this.records.get(endpoint.id)
    return record === undefined ? NO_FIGURES : figuresOf(record, this.clock.monotonic())
  }

  private open(id: string): EndpointRecord {
    if (!this.named.has(id)) {
      this.dropBeyond(MOST_UNNAMED - 1)
      this.unnamed.add(id)
    }
    const record = new EndpointRecord()
    this.records.set(id, record)
    return record
  }

  /** Drops the oldest records of endpoints that the catalogue does not name. @param most how many of them stay. */
  private dropBeyond(most: number): void {
    for (const id of this.unnamed) {
      if (this.unnamed.size <= most) return
      this.unnamed.delete(id)
      this.records.delete(id)
    }
  }
}

/** What the records say at one moment. */
class Moment implements Health {
  private readonly records: ReadonlyMap<string, EndpointRecord>
  private now = 0
  /** The endpoint looked up last: the order reads several values of one endpoint in a row. */
  private lookedUp: Endpoint | undefined
  private found: EndpointRecord | undefined

  constructor(records: ReadonlyMap<string, EndpointRecord>) {
    this.records = records
  }

  at(now: number): this {
    this.now = now
    this.lookedUp = undefined
    return this
  }

  recentOutage(endpoint: Endpoint): boolean {
    return this.find(endpoint)?.inOutage(this.now) === true
  }

  resting(endpoint: Endpoint): boolean {
    const record = this.find(endpoint)
    return record !== undefined && record.restLeft(this.now) > 0
  }

  ejected(endpoint: Endpoint): boolean {
    return this.dueIn(endpoint) > 0
  }

  dueIn(endpoint: Endpoint): number {
    return this.find(endpoint)?.ejectionLeft(this.now) ?? 0
  }

  band(endpoint: Endpoint): Band {
    return this.find(endpoint)?.band(this.now) ?? 0
  }

  latency(endpoint: Endpoint, percentile: PercentileName): number | undefined {
    const ms = this.find(endpoint)?.latency(this.now, percentile)
    return ms === undefined ? undefined : ms / 1000
  }

  throughput(endpoint: Endpoint, percentile: PercentileName): number | undefined {
    return this.find(endpoint)?.throughput(this.now, percentile)
  }

  toolSuccess(endpoint: Endpoint): number | undefined {
    return this.find(endpoint)?.toolSuccess(this.now)
  }

  private find(endpoint: Endpoint): EndpointRecord | undefined {
    if (endpoint !== this.lookedUp) {
      this.lookedUp = endpoint
      this.found = this.records.get(endpoint.id)
    }
    return this.found
  }
}

function restMs(retryAfterSeconds: number | undefined): number {
  if (retryAfterSeconds === undefined || !(retryAfterSeconds > 0)) return 0
  return Math.min(retryAfterSeconds * 1000, REST_CAP_MS)
}

interface OutageNews {
  readonly endpoint: string
  readonly ms: number
  readonly rounds: number
}

/** Characters of an endpoint's id. */
const LONGEST = 1_024

/**
 * Message by which processes share ejections: endpoint, milliseconds that are left (0: it is over), how many in a row.
 * @returns undefined for what is no such news.
 */
function readOutageNews(message: Json): OutageNews | undefined {
  if (!Array.isArray(message) || message.length !== 3) return undefined
  const [endpoint, ms, rounds] = message
  if (typeof endpoint !== 'string' || endpoint === '' || endpoint.length > LONGEST) return undefined
  return isCount(ms) && isCount(rounds) ? { endpoint, ms, rounds } : undefined
}

function isCount(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

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

const NO_FIGURES: EndpointFigures = Object.freeze({
  uptime5m: null,
  uptime30m: null,
  uptime1d: null,
  latency: null,
  throughput: null,
  status: 0,
})

/** @param now monotonic milliseconds. */
function figuresOf(record: EndpointRecord, now: number): EndpointFigures {
  return {
    uptime5m: percent(record.uptime(now, '5m')),
    uptime30m: percent(record.uptime(now, '30m')),
    uptime1d: percent(record.uptime(now, '1d')),
    latency: percentiles((name) => record.latency(now, name)),
    throughput: percentiles((name) => record.throughput(now, name)),
    status: statusOf(record, now),
  }
}

function statusOf(record: EndpointRecord, now: number): EndpointStatus {
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
