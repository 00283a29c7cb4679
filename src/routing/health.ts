/** Bounded statistics per endpoint on the injected clock: outages, rests, and how fast it has been of late. */
import type { Endpoint } from '../catalog/types.ts'
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/faults.ts'
import type { Health, PercentileName } from './order.ts'
import { SpeedWindow } from './speed-window.ts'

/** An endpoint that failed is tried last for this long (contract section 5.2, rule 3). */
const OUTAGE_MS = 30_000
/** A provider may not freeze itself out for longer, whatever its Retry-After says. */
const REST_CAP_MS = 60_000
/** Past this many endpoints the one heard of first is forgotten. */
const CAPACITY = 4096

interface EndpointRecord {
  outageUntil: number
  restUntil: number
  speed: SpeedWindow | undefined
}

/**
 * True where a fault says that the endpoint is in trouble. What the caller got wrong does not (400, 413),
 * nor does a rate limit, which has its own cool-down (contract section 5.2, rule 6).
 */
export function isOutage(fault: Fault): boolean {
  return fault.origin === 'upstream' && fault.status !== 400 && fault.status !== 413 && fault.status !== 429
}

export class HealthBook implements Health {
  private readonly clock: Clock
  private readonly records = new Map<string, EndpointRecord>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  /**
   * The endpoint has served: whatever was held against it is forgotten.
   * @param firstTokenMs from dispatch to the first content event.
   * @param tokensPerSecond of output after it; 0 where too short to tell.
   */
  success(endpoint: Endpoint, firstTokenMs: number, tokensPerSecond: number): void {
    const record = this.records.get(endpoint.id) ?? this.open(endpoint.id)
    record.outageUntil = Number.NEGATIVE_INFINITY
    record.restUntil = Number.NEGATIVE_INFINITY
    if (record.speed === undefined) record.speed = new SpeedWindow()
    record.speed.add(this.clock.monotonic(), firstTokenMs / 1000, tokensPerSecond)
  }

  /** The attempt failed; faults that are not the endpoint's leave no trace. Retry-After is heard on all of them. */
  failure(endpoint: Endpoint, fault: Fault): void {
    const outage = isOutage(fault)
    const rest = fault.origin === 'upstream' ? restMs(fault.retryAfter) : 0
    if (!outage && rest === 0) return
    const record = this.records.get(endpoint.id) ?? this.open(endpoint.id)
    const now = this.clock.monotonic()
    if (outage) record.outageUntil = now + OUTAGE_MS
    if (rest > 0) record.restUntil = Math.max(record.restUntil, now + rest)
  }

  recentOutage(endpoint: Endpoint): boolean {
    const record = this.records.get(endpoint.id)
    return record !== undefined && this.clock.monotonic() < record.outageUntil
  }

  resting(endpoint: Endpoint): boolean {
    return this.restLeft(endpoint) > 0
  }

  /** Milliseconds until the endpoint may be asked again: what an honest Retry-After of ours is made from. */
  restLeft(endpoint: Endpoint): number {
    const record = this.records.get(endpoint.id)
    return record === undefined ? 0 : Math.max(0, record.restUntil - this.clock.monotonic())
  }

  latency(endpoint: Endpoint, percentile: PercentileName): number | undefined {
    return this.records.get(endpoint.id)?.speed?.latency(this.clock.monotonic(), percentile)
  }

  throughput(endpoint: Endpoint, percentile: PercentileName): number | undefined {
    return this.records.get(endpoint.id)?.speed?.throughput(this.clock.monotonic(), percentile)
  }

  private open(id: string): EndpointRecord {
    if (this.records.size >= CAPACITY) {
      const oldest = this.records.keys().next()
      if (!oldest.done) this.records.delete(oldest.value)
    }
    const record: EndpointRecord = { outageUntil: Number.NEGATIVE_INFINITY, restUntil: Number.NEGATIVE_INFINITY, speed: undefined }
    this.records.set(id, record)
    return record
  }
}

function restMs(retryAfterSeconds: number | undefined): number {
  if (retryAfterSeconds === undefined || !(retryAfterSeconds > 0)) return 0
  return Math.min(retryAfterSeconds * 1000, REST_CAP_MS)
}
