/** Sticky sessions: a conversation stays on the endpoint that served it, where its prompt is cached. */
import { LRUCache } from 'lru-cache'
import type { PubSub } from '../cluster/shared/types.ts'
import type { Clock } from '../core/clock.ts'
import type { Json } from '../core/json.ts'

/** A conversation ends after ten idle minutes (docs/contract.md#sticky-sessions). */
const IDLE_MS = 600_000
const CAPACITY = 50_000
/** An unchanged pin is published to the other processes at this interval: well before theirs would expire. */
const REPUBLISH_MS = 60_000
/** Characters of each part of a pin that another process publishes. */
const LONGEST = 1_024

export interface Pin {
  readonly key: string
  readonly model: string
  readonly session: string
  readonly endpoint: string
}

/** A pin as the other processes know it. */
interface Published {
  readonly endpoint: string
  /** Grows with every change: of two pins the later holds, and of two made at the same time the same one everywhere. */
  readonly version: number
  readonly at: number
}

export class StickySessions {
  /** Shared by all processes of the gateway, where they have one; names of conversations without a session are derived from it. */
  commonSecret: string | undefined
  private readonly clock: Clock
  private readonly pins: LRUCache<string, string>
  /** Present once pins are shared with other processes. */
  private published: LRUCache<string, Published> | undefined
  private pubSub: PubSub | undefined

  /** @param capacity conversations remembered; the one idle longest goes first. */
  constructor(clock: Clock, capacity: number = CAPACITY) {
    this.clock = clock
    this.pins = remembering(clock, capacity)
  }

  /** Endpoint id that served this conversation last, unless it has been idle for ten minutes. */
  get(key: string, model: string, session: string): string | undefined {
    return this.pins.get(pinName(key, model, session))
  }

  /** Call after a success: it pins the endpoint and renews the ten minutes. A failure leaves the pin as it is. */
  set(pin: Pin): void {
    const name = pinName(pin.key, pin.model, pin.session)
    this.pins.set(name, pin.endpoint)
    if (this.published) this.publish(name, pin)
  }

  /** From now on pins made here are published to the other processes, and theirs hold here. */
  share(pubSub: PubSub): void {
    if (pubSub.isSilent) return
    this.pubSub = pubSub
    this.published = remembering(this.clock, this.pins.maxSize)
    pubSub.subscribe('session', (message) => this.hear(message))
    pubSub.commonSecret?.((secret) => {
      this.commonSecret = secret
    })
  }

  get size(): number {
    return this.pins.size
  }

  /** Publishes new and changed pins at once, unchanged ones once per interval. */
  private publish(name: string, { key, model, session, endpoint }: Pin): void {
    const at = this.clock.monotonic()
    const last = this.published?.get(name)
    const same = last?.endpoint === endpoint
    if (same && at - last.at < REPUBLISH_MS) return
    const version = same ? last.version : (last?.version ?? 0) + 1
    this.published?.set(name, { endpoint, version, at })
    this.pubSub?.publish('session', [key, model, session, endpoint, version])
  }

  /** Another process has pinned a conversation. What is no pin is ignored. */
  private hear(message: Json): void {
    if (!Array.isArray(message) || message.length !== 5) return
    const [key, model, session, endpoint, version] = message
    if (!isPart(key) || !isPart(model) || !isPart(session) || !isPart(endpoint) || !isVersion(version)) return
    const name = pinName(key, model, session)
    const last = this.published?.get(name)
    if (last && (version < last.version || (version === last.version && last.endpoint < endpoint))) return
    this.pins.set(name, endpoint)
    this.published?.set(name, { endpoint, version, at: this.clock.monotonic() })
  }
}

/** A cache that forgets after ten idle minutes. Bounded by the sum of sizes of one, since room for `max` entries would be taken at once. */
function remembering<T extends object | string>(clock: Clock, max: number): LRUCache<string, T> {
  // ttlResolution 0: the cache would otherwise remember the time and ask a real timer to forget it.
  // The clock is moved by one because the cache takes an entry of time 0 for one without a lifetime.
  return new LRUCache({
    maxSize: max,
    sizeCalculation: () => 1,
    ttl: IDLE_MS,
    ttlResolution: 0,
    perf: { now: () => clock.monotonic() + 1 },
  })
}

function isVersion(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0
}

function isPart(part: Json | undefined): part is string {
  return typeof part === 'string' && part.length > 0 && part.length <= LONGEST
}

/** Lengths keep two different triples from ever making one name. */
function pinName(key: string, model: string, session: string): string {
  return `${key.length}:${model.length}:${key}${model}${session}`
}
