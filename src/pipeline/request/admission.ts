/** Limits of a key: requests and tokens per minute, open streams, bytes in flight. */
import { type CounterAnswer, type Counters, limitShare, MemoryCounters } from '../../cluster/shared/index.ts'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { NO_RETRY } from '../../core/retry-after.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { SeenRates } from '../rate-headers.ts'
import { ownerOfRate, type RateKind, refusingRate } from '../refusing-limit.ts'

/** A limit that is about to be taken from. */
interface Rate {
  readonly key: ApiKey
  readonly kind: RateKind
  /** Units. */
  readonly limit: number
  /** As the message names it; absent for a limit per minute. */
  readonly name?: string
}

/** State of a limit that refuses: units, and milliseconds until the request would fit. */
interface Standing {
  readonly limit: number
  readonly left: number
  readonly wait: number
}

/** Streams and bytes that a key has open in this process. */
interface Use {
  streams: number
  bytes: number
}

/**
 * Requests and tokens are counted by the counters, which all processes may share. Streams and bytes are counted here:
 * with several processes each allows its share of the limit, in whole numbers and at least one.
 */
export class Admission {
  private readonly clock: Clock
  private readonly counters: Counters
  private readonly processes: () => number
  /** Of keys that have something open. */
  private readonly uses = new Map<string, Use>()

  /** @param processes that live, this one among them, as last known. */
  constructor(clock: Clock, counters: Counters = new MemoryCounters(clock), processes: () => number = () => 1) {
    this.clock = clock
    this.counters = counters
    this.processes = processes
  }

  /**
   * Takes one request of the key's minute.
   * @param seen where the reply is to show what is left.
   * @returns a promise only where the key has such a limit and the counters are shared.
   * @throws Fault 429 with Retry-After and X-RateLimit-* when none is left.
   */
  request(key: ApiKey, seen?: SeenRates): Promise<void> | undefined {
    const { requests } = key.limits
    if (requests === undefined) return undefined
    const answered = this.counters.take({ name: `requests:${keyBucket(key)}`, perMinute: requests, take: 1 })
    return this.judged(answered, { key, kind: 'requests', limit: requests }, seen)
  }

  /**
   * Takes one request of the minute that a policy of the configuration allows the key.
   * @param perMinute requests. @throws Fault 429 with Retry-After when none is left.
   */
  async policyRequest(key: ApiKey, policy: string, perMinute: number): Promise<void> {
    const answered = await this.counters.take({ name: `policy:${policy}:${keyBucket(key)}`, perMinute, take: 1 })
    const { taken, left, wait, share = perMinute } = answered
    if (taken) return
    const name = `${perMinute} ${perMinute === 1 ? 'request' : 'requests'} per minute of the policy ${policy}${shareNote(share, perMinute)}`
    throw this.limited({ key, kind: 'requests', limit: perMinute, name }, { limit: share, left, wait })
  }

  /**
   * Takes tokens of the key's minute, before it is known how many there will be.
   * @param always a request that has begun is not cut off: what does not fit is waited off by those that follow.
   * @param seen as for `request`.
   * @throws Fault 429 where they do not fit; without Retry-After where they never will.
   */
  tokens(key: ApiKey, count: number, always: boolean, seen?: SeenRates): Promise<void> | undefined {
    const { tokens } = key.limits
    if (tokens === undefined) return undefined
    const rate: Rate = { key, kind: 'tokens', limit: tokens }
    if (count > tokens && !always) throw this.oversized(rate, `up to ${count} tokens`)
    const answered = this.counters.take({ name: `tokens:${keyBucket(key)}`, perMinute: tokens, take: count, always })
    return this.judged(answered, rate, seen)
  }

  /** Once the real usage is known: takes the difference to what was taken, or gives it back. No caller waits for it. */
  correctTokens(key: ApiKey, difference: number, seen?: SeenRates): void {
    const { tokens } = key.limits
    if (tokens === undefined || difference === 0) return
    const answered = this.counters.take({ name: `tokens:${keyBucket(key)}`, perMinute: tokens, take: difference, always: true })
    if (answered instanceof Promise) answered.catch(() => {})
    else if (seen) see(seen, 'tokens', answered, tokens)
  }

  /** Sees what is left of the key's minute, and takes nothing. */
  async look(key: ApiKey, seen: SeenRates): Promise<void> {
    const look = async (kind: keyof SeenRates): Promise<void> => {
      const limit = key.limits[kind]
      if (limit === undefined) return
      see(seen, kind, await this.counters.take({ name: `${kind}:${keyBucket(key)}`, perMinute: limit, take: 0, always: true }), limit)
    }
    await look('requests')
    await look('tokens')
  }

  /** Takes one of the calls of token counters that a key's requests may cause in a minute, beside the limits that the operator sets. */
  async mayCount(key: ApiKey): Promise<boolean> {
    const { taken } = await this.counters.take({ name: `counts:${keyBucket(key)}`, perMinute: COUNTS_PER_MINUTE, take: 1 })
    return taken
  }

  /** @throws Fault 429 where the key has as many streams open as it may. */
  openStream(key: ApiKey): void {
    const { streams } = key.limits
    if (streams === undefined) return
    const limit = limitShare(streams, this.processes())
    if ((this.uses.get(keyBucket(key))?.streams ?? 0) >= limit) {
      const name = `${streams} concurrent streams${shareNote(limit, streams)}`
      throw this.limited({ key, kind: 'streams', limit: streams, name }, { limit, left: 0, wait: SECOND })
    }
    this.use(key).streams++
  }

  closeStream(key: ApiKey): void {
    if (key.limits.streams === undefined) return
    const use = this.use(key)
    use.streams--
    this.forget(key, use)
  }

  /**
   * A body larger than this process's share passes when nothing else of its key is in flight here.
   * @param before bytes of the same body that were taken already: one of unknown length comes in pieces.
   * @throws Fault 429 where the request's bytes do not fit beside those in flight; without Retry-After where they never will.
   */
  takeBytes(key: ApiKey, bytes: number, before = 0): void {
    const limit = key.limits.bytes
    if (limit === undefined) return
    const rate: Rate = { key, kind: 'bytes', limit, name: `${limit} request bytes in flight` }
    if (before + bytes > limit) throw this.oversized(rate, before === 0 ? `${bytes} bytes` : 'more')
    const share = limitShare(limit, this.processes())
    const inFlight = this.uses.get(keyBucket(key))?.bytes ?? 0
    if (inFlight > before && inFlight + bytes > share) {
      const name = rateName(rate) + shareNote(share, limit)
      throw this.limited({ ...rate, name }, { limit: share, left: Math.max(0, share - inFlight), wait: SECOND })
    }
    this.use(key).bytes += bytes
  }

  giveBytes(key: ApiKey, bytes: number): void {
    if (key.limits.bytes === undefined) return
    const use = this.use(key)
    use.bytes -= bytes
    this.forget(key, use)
  }

  private use(key: ApiKey): Use {
    let use = this.uses.get(keyBucket(key))
    if (!use) {
      use = { streams: 0, bytes: 0 }
      this.uses.set(keyBucket(key), use)
    }
    return use
  }

  private forget(key: ApiKey, use: Use): void {
    if (use.streams === 0 && use.bytes === 0) this.uses.delete(keyBucket(key))
  }

  private judged(answered: CounterAnswer | Promise<CounterAnswer>, rate: Rate, seen: SeenRates | undefined): Promise<void> | undefined {
    if (answered instanceof Promise) return answered.then((answer) => this.judge(answer, rate, seen))
    this.judge(answered, rate, seen)
    return undefined
  }

  private judge(answer: CounterAnswer, rate: Rate, seen: SeenRates | undefined): void {
    const { limit, kind } = rate
    const { taken, left, wait, share = limit } = answer
    if (seen && (kind === 'requests' || kind === 'tokens')) see(seen, kind, answer, limit)
    if (taken) return
    throw this.limited({ ...rate, name: rateName(rate) + shareNote(share, limit) }, { limit: share, left, wait })
  }

  private limited(rate: Rate, { limit, left, wait }: Standing): Fault {
    const { key, kind } = rate
    const seconds = Math.max(1, Math.ceil(wait / SECOND))
    const resetsAt = this.clock.now() + seconds * SECOND
    return new Fault('rate_limited', {
      message: `Rate limit exceeded: ${rateName(rate)} for ${ownerOfRate(key)}`,
      metadata: { limit: refusingRate({ key, kind, limit, left, resetsAt }) },
      retryAfter: seconds,
      headers: limitHeaders(limit, left, resetsAt),
    })
  }

  /** No wait would help, so none is named. */
  private oversized(rate: Rate, needed: string): Fault {
    const { key, kind, limit } = rate
    return new Fault('rate_limited', {
      message: `Rate limit exceeded: ${rateName(rate)} for ${ownerOfRate(key)}, and this request alone needs ${needed}`,
      metadata: { limit: refusingRate({ key, kind, limit, left: undefined, resetsAt: undefined }) },
      headers: { ...limitHeaders(limit, 0, this.clock.now()), ...NO_RETRY },
    })
  }
}

function rateName({ kind, limit, name }: Rate): string {
  return name ?? `${limit} ${limit === 1 ? kind.replace(/s$/, '') : kind} per minute`
}

/** Records a counter's answer. Where the process counts its own share alone, that is the limit. */
function see(seen: SeenRates, kind: keyof SeenRates, { left, full, share }: CounterAnswer, limit: number): void {
  seen[kind] = { limit: share ?? limit, left, full }
}

const SECOND = 1_000
/** Providers limit calls of their counters as well (platform.claude.com, Token counting: from 100 a minute on), for all keys together. */
const COUNTS_PER_MINUTE = 30

/** Identity of the key whose limits a request counts towards: keys issued through sign-in count towards the key that issued them. */
export function keyBucket({ identity, issuer }: ApiKey): string {
  return issuer?.identity ?? identity
}

/** @param resetAt milliseconds since the epoch. */
function limitHeaders(limit: number, left: number, resetAt: number): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(left),
    'X-RateLimit-Reset': String(Math.ceil(resetAt)),
  }
}

function shareNote(share: number, limit: number): string {
  return share === limit ? '' : `, of which this process has ${share}`
}
