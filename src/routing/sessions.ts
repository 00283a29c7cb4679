/** Sticky sessions: a conversation stays on the endpoint that served it, where its prompt is cached. */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../core/clock.ts'

/** Contract section 5.3. */
const IDLE_MS = 600_000
const CAPACITY = 50_000

export class StickySessions {
  private readonly pins: LRUCache<string, string>

  /** @param capacity conversations remembered; the one idle longest goes first. */
  constructor(clock: Clock, capacity: number = CAPACITY) {
    // ttlResolution 0: the cache would otherwise remember the time and ask a real timer to forget it.
    // The clock is moved by one because the cache takes an entry of time 0 for one without a lifetime.
    this.pins = new LRUCache({ max: capacity, ttl: IDLE_MS, ttlResolution: 0, perf: { now: () => clock.monotonic() + 1 } })
  }

  /** Endpoint id that served this conversation last, unless it has been idle for ten minutes. */
  get(key: string, model: string, session: string): string | undefined {
    return this.pins.get(pinName(key, model, session))
  }

  /** Call after a success: it pins the endpoint and renews the ten minutes. A failure leaves the pin as it is. */
  set(pin: { key: string; model: string; session: string; endpoint: string }): void {
    this.pins.set(pinName(pin.key, pin.model, pin.session), pin.endpoint)
  }

  get size(): number {
    return this.pins.size
  }
}

/** Lengths keep two different triples from ever making one name. */
function pinName(key: string, model: string, session: string): string {
  return `${key.length}:${model.length}:${key}${model}${session}`
}
