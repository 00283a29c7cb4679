/** Record of endpoints, in bounded statistics per endpoint on the injected clock: outages, rests, ejection, uptime, speed and tool calls. */

import type { PubSub } from '../cluster/shared/types.ts'
import type { Clock } from '../core/clock.ts'
import { FAULTS, type Fault, isRejection } from '../core/faults.ts'
import type { Endpoint } from './catalog/types.ts'
import { parseEjectionMessage } from './ejection.ts'
import { type Ejected, EndpointRecord, type LastFault, type ServedSample } from './endpoint-record.ts'
import { type EndpointFigures, NO_FIGURES, recordFigures } from './health-figures.ts'
import { HealthMoment } from './health-moment.ts'
import { RunningCalls } from './running-calls.ts'
import type { Band, Health, PercentileName } from './standing.ts'

export type { ServedSample } from './endpoint-record.ts'

/** A provider may not freeze itself out for longer, whatever its Retry-After says. */
const REST_CAP_MS = 60_000
/** Of a silent endpoint's silence at most so much counts as outage. */
const SILENCE_MS = 10_000
/** Records of endpoints that the catalogue does not name. Callers choose the names behind a wildcard, so these are bounded. */
const MAX_UNNAMED = 4096
/**
 * True where a fault says that the endpoint is failing. What the caller got wrong does not (400, 409, 413, 422, an unknown id), nor does
 * a rate limit, which has its own cool-down, nor a refusal for the place (docs/contract.md#endpoint-choice, rule 6), nor an answer that
 * passes the operator's limits while it arrives: `counts` of the fault table.
 */
export function isOutage({ code }: Fault): boolean {
  return FAULTS[code].counts !== 'no'
}

/** Statuses of what stands before a server that cannot be reached, or that is not up (RFC 9110, 15.6.3 and 15.6.4). */
const NOT_REACHED: ReadonlySet<number | null> = new Set([502, 503])

/** True where the connection itself failed, whatever the request was: that says the same to every key. */
function isConnectionFailure({ code }: Fault, status: number | null): boolean {
  return FAULTS[code].counts === 'all' || NOT_REACHED.has(status)
}

export interface FailureFacts {
  /** Identity of the caller's key; undefined for a probe of the gateway's own, which counts for all keys. */
  readonly key?: string
  /** Owner of the key; the key itself where that is not known. */
  readonly owner?: string | undefined
  /** The provider's own status; null where it sent none. */
  readonly status?: number | null
  /**
   * When the endpoint began to say nothing, monotonic milliseconds: outage and ejection count from then, as far as it is not long ago, so
   * that a silent endpoint is not left alone for its silence and then for as long again.
   */
  readonly since?: number | undefined
}

export class HealthBook implements Health {
  private readonly clock: Clock
  private readonly records = new Map<string, EndpointRecord>()
  /** Calls that run at this moment. */
  readonly calls = new RunningCalls()
  private readonly moment = new HealthMoment(this.records, this.calls)
  /** Ids of the endpoints that the catalogue names. */
  private named: ReadonlySet<string> = new Set()
  /** Ids of all other records, in the order in which they were opened. */
  private readonly unnamed = new Set<string>()
  private pubSub: PubSub | undefined
  /** Called when an endpoint is ejected here, each time anew. */
  onEject: ((endpoint: Endpoint) => void) | undefined
  /** Called when a request of a key has failed, and nothing says that those of other keys would fail too. */
  onDoubt: ((endpoint: Endpoint, fault: Fault, key: string) => void) | undefined
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
    this.dropBeyond(MAX_UNNAMED)
  }

  /** A request is about to be sent there: claims the one probe of an ejected endpoint that is due. */
  dispatched(endpoint: Endpoint, key?: string, now = this.clock.monotonic()): void {
    const record = this.records.get(endpoint.id)
    if (record?.ejection || record?.keys) record.dispatched(now, key)
  }

  /**
   * The endpoint has served: the outage and the ejection of the key are over, and so are those of all keys. A rest stands, since its
   * provider requested it.
   * @param key identity of the caller's key; undefined for a probe of the gateway's own, which speaks for all. @param owner whose key it is.
   */
  success(endpoint: Endpoint, sample: ServedSample, key?: string, owner?: string): void {
    const record = this.records.get(endpoint.id) ?? this.open(endpoint.id)
    const now = this.clock.monotonic()
    const isOver = record.ejection?.standing === true
    const isOverForKey = record.keys !== undefined && record.activeEjection(key) !== undefined
    record.served(now, sample, key, owner)
    if (endpoint.wildcardId !== undefined) this.records.get(endpoint.wildcardId)?.nameServed(key)
    if (isOver) this.pubSub?.publish('outage', [endpoint.id, 0, 0])
    if (isOverForKey && key !== undefined) this.pubSub?.publish('outage', [endpoint.id, 0, 0, key])
    if (!record.isReported) return
    record.isReported = false
    this.onReturn?.(endpoint)
  }

  /** Records a failed attempt. Faults that are not the endpoint's change nothing, except that Retry-After is always kept. */
  failure(endpoint: Endpoint, fault: Fault, { key, owner, status = null, since = Number.POSITIVE_INFINITY }: FailureFacts = {}): void {
    const outage = isOutage(fault)
    const rest = fault.origin === 'upstream' ? restMs(fault.retryAfter) : 0
    const failed = outage || (fault.origin === 'upstream' && !isRejection(fault))
    if (!failed && rest === 0) {
      this.abandoned(endpoint, key)
      return
    }
    const record = this.records.get(endpoint.id) ?? this.open(endpoint.id)
    const now = this.clock.monotonic()
    const isConnection = isConnectionFailure(fault, status)
    if (failed) record.lastFault = { code: fault.code, reason: fault.reason }
    const sample = { now, since: Math.min(now, Math.max(since, now - SILENCE_MS)), key, owner, isConnection }
    if (outage) this.report(endpoint, record, { key, owner, ejected: record.broke(sample, () => this.clock.random()) })
    else {
      record.abandoned(key)
      if (failed) record.attemptLimited(now)
    }
    if (outage && key !== undefined && !record.isOutForAll(now)) this.onDoubt?.(endpoint, fault, key)
    const { wildcardId: shared } = endpoint
    if (failed && shared !== undefined) {
      const names = this.records.get(shared) ?? this.open(shared)
      if (outage) names.nameFailed(sample)
      else names.attemptLimited(now)
    }
    // What a provider says of its own load or of the gateway's account is for all keys.
    if (rest > 0) record.rest(now + rest, isConnection || fault.status === 429 || fault.status === 529 ? undefined : key)
  }

  /** From now on ejections and their ends are published to the other processes, and theirs hold here. */
  share(pubSub: PubSub): void {
    if (pubSub.isSilent) return
    this.pubSub = pubSub
    pubSub.subscribe('outage', (message) => {
      const outage = parseEjectionMessage(message)
      if (!outage) return
      const now = this.clock.monotonic()
      const { endpoint, key } = outage
      if (outage.ms === 0) this.records.get(endpoint)?.endedElsewhere(key, now)
      else {
        const record = this.records.get(endpoint) ?? this.open(endpoint)
        if (key === undefined) record.mayEject().takeOver(now, outage)
        else record.takeOver(key, now, outage)
      }
    })
  }

  /** The outcome says nothing of the endpoint, as when the caller left: another request may probe. */
  abandoned(endpoint: Endpoint, key?: string): void {
    this.records.get(endpoint.id)?.abandoned(key)
  }

  /** A failure whose words may be the caller's own: it is held against nothing, and a check may find out more. */
  unclear(endpoint: Endpoint, fault: Fault, key: string): void {
    this.abandoned(endpoint, key)
    if (isOutage(fault)) this.onDoubt?.(endpoint, fault, key)
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

  failing(endpoint: Endpoint): boolean {
    return this.atOnce().failing(endpoint)
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

  leastThroughput(endpoint: Endpoint): number | undefined {
    return this.moment.at(this.clock.monotonic()).leastThroughput(endpoint)
  }

  running(endpoint: Endpoint): number {
    return this.calls.at(endpoint)
  }

  /** Over the last half hour; undefined with fewer than ten replies that called tools. */
  toolSuccess(endpoint: Endpoint): number | undefined {
    return this.atOnce().toolSuccess(endpoint)
  }

  /** For no key in particular: where one key uses an endpoint alone, for that one. */
  atOnce(): HealthMoment {
    return this.moment.at(this.clock.monotonic())
  }

  /**
   * State by which a key's requests are ordered at this moment, valid until the next call of this or of `atOnce`.
   * @param key identity of the key. @param owner whose key it is; the key itself where that is not known.
   */
  forKey(key: string, owner?: string): HealthMoment {
    return this.moment.at(this.clock.monotonic(), key, owner)
  }

  /** For the lists; an endpoint that nothing is known of has nothing against it. */
  figures(endpoint: Endpoint): EndpointFigures {
    const record = this.records.get(endpoint.id)
    return record === undefined ? NO_FIGURES : recordFigures(record, this.clock.monotonic())
  }

  /** The fault of the last attempt there; undefined where it has served since. */
  lastFault(endpoint: Endpoint): LastFault | undefined {
    return this.records.get(endpoint.id)?.lastFault
  }

  /** False where no attempt there has ended yet. */
  isKnown(endpoint: Endpoint): boolean {
    return this.records.has(endpoint.id)
  }

  /**
   * Reports an ejection to the operator where it holds for all keys that use the endpoint, and to the other processes. Of one for the key
   * that uses it alone these hear as of one for that key: they may serve others there.
   */
  private report(
    endpoint: Endpoint,
    record: EndpointRecord,
    { key, owner, ejected }: Pick<FailureFacts, 'owner'> & { key: string | undefined; ejected: Ejected },
  ): void {
    if (ejected === undefined) return
    const now = this.clock.monotonic()
    if (ejected !== 'key' || (key !== undefined && record.isUsedAlone(key, now))) {
      record.isReported = true
      this.onEject?.(endpoint)
    }
    const isAll = ejected === 'all' || key === undefined
    const { ms, rounds } = (isAll ? record.mayEject() : (record.activeEjection(key) ?? record.mayEject())).remaining(now)
    if (ms > 0)
      this.pubSub?.publish('outage', [
        endpoint.id,
        Math.ceil(ms),
        rounds,
        ...(isAll ? [] : owner === undefined || owner === key ? [key] : [key, owner]),
      ])
  }

  private open(id: string): EndpointRecord {
    if (!this.named.has(id)) {
      this.dropBeyond(MAX_UNNAMED - 1)
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

function restMs(retryAfterSeconds: number | undefined): number {
  if (retryAfterSeconds === undefined || !(retryAfterSeconds > 0)) return 0
  return Math.min(retryAfterSeconds * 1000, REST_CAP_MS)
}
