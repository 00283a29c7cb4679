/** What a key may have going: requests and tokens per minute, open streams, bytes in flight. */
import { type CounterAnswer, type Counters, MemoryCounters, shareOf } from '../../cluster/shared/index.ts'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import type { Settlement } from '../../ledger/settlement.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Accepted, Authenticated } from '../exchange.ts'
import type { Layer, Service } from '../layer.ts'
import { callerCap, inputEstimate } from '../route/needs.ts'

/** What a key has open in this process. */
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
   * @returns a promise only where the key has such a limit and the counters are shared.
   * @throws Fault 429 with Retry-After and X-RateLimit-* when none is left.
   */
  request(key: ApiKey): Promise<void> | undefined {
    const { requests } = key.limits
    if (requests === undefined) return undefined
    const answered = this.counters.take({ name: `requests:${bucketOf(key)}`, perMinute: requests, take: 1 })
    return this.judged(answered, `${requests} requests per minute`, requests)
  }

  /**
   * Takes tokens of the key's minute, before it is known how many there will be.
   * @param always a request that has begun is not cut off: what does not fit is waited off by those that follow.
   * @throws Fault 429 where they do not fit; without Retry-After where they never will.
   */
  tokens(key: ApiKey, count: number, always: boolean): Promise<void> | undefined {
    const { tokens } = key.limits
    if (tokens === undefined) return undefined
    if (count > tokens && !always) throw this.oversized(`${tokens} tokens per minute`, `up to ${count} tokens`, tokens)
    const answered = this.counters.take({ name: `tokens:${bucketOf(key)}`, perMinute: tokens, take: count, always })
    return this.judged(answered, `${tokens} tokens per minute`, tokens)
  }

  /** Once the real usage is known: takes the difference to what was taken, or gives it back. No caller waits for it. */
  correctTokens(key: ApiKey, difference: number): void {
    const { tokens } = key.limits
    if (tokens === undefined || difference === 0) return
    const answered = this.counters.take({ name: `tokens:${bucketOf(key)}`, perMinute: tokens, take: difference, always: true })
    if (answered instanceof Promise) answered.catch(() => {})
  }

  /** @throws Fault 429 where the key has as many streams open as it may. */
  openStream(key: ApiKey): void {
    const { streams } = key.limits
    if (streams === undefined) return
    const limit = shareOf(streams, this.processes())
    if ((this.uses.get(bucketOf(key))?.streams ?? 0) >= limit) {
      throw this.limited(`${streams} concurrent streams${partOf(limit, streams)}`, { limit, left: 0, wait: SECOND })
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
    const name = `${limit} request bytes in flight`
    if (before + bytes > limit) throw this.oversized(name, before === 0 ? `${bytes} bytes` : 'more', limit)
    const share = shareOf(limit, this.processes())
    const inFlight = this.uses.get(bucketOf(key))?.bytes ?? 0
    if (inFlight > before && inFlight + bytes > share) {
      throw this.limited(`${name}${partOf(share, limit)}`, { limit: share, left: Math.max(0, share - inFlight), wait: SECOND })
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
    let use = this.uses.get(bucketOf(key))
    if (!use) {
      use = { streams: 0, bytes: 0 }
      this.uses.set(bucketOf(key), use)
    }
    return use
  }

  private forget(key: ApiKey, use: Use): void {
    if (use.streams === 0 && use.bytes === 0) this.uses.delete(bucketOf(key))
  }

  private judged(answered: CounterAnswer | Promise<CounterAnswer>, name: string, limit: number): Promise<void> | undefined {
    if (answered instanceof Promise) return answered.then((answer) => this.judge(answer, name, limit))
    this.judge(answered, name, limit)
    return undefined
  }

  private judge({ taken, left, wait }: CounterAnswer, name: string, limit: number): void {
    if (!taken) throw this.limited(name, { limit, left, wait })
  }

  private limited(name: string, { limit, left, wait }: { limit: number; left: number; wait: number }): Fault {
    const seconds = Math.max(1, Math.ceil(wait / SECOND))
    return new Fault('rate_limited', {
      message: `Rate limit exceeded: ${name}`,
      retryAfter: seconds,
      headers: limitHeaders(limit, left, this.clock.now() + seconds * SECOND),
    })
  }

  /** No wait would help, so none is named. */
  private oversized(name: string, needed: string, limit: number): Fault {
    return new Fault('rate_limited', {
      message: `Rate limit exceeded: ${name}, and this request alone needs ${needed}`,
      headers: { ...limitHeaders(limit, 0, this.clock.now()), 'X-Should-Retry': 'false' },
    })
  }
}

const SECOND = 1_000

/** Identity of the key whose limits a request counts towards: keys issued through sign-in count towards the key that issued them. */
export function bucketOf({ identity, issuer }: ApiKey): string {
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

function partOf(share: number, limit: number): string {
  return share === limit ? '' : `, of which this process has ${share}`
}

/** How much a key may have going: request rate and bytes in flight. */
export function admitLayer(admission: Admission): Layer<Authenticated> {
  return (next) => {
    const enter = weighed(admission, next)
    return function handle(exchange) {
      // A promise only where several processes share the counters.
      const counted = admission.request(exchange.auth.key)
      return counted ? counted.then(() => enter(exchange)) : enter(exchange)
    }
  }
}

/** Lets a request on with its bytes counted, as far as its key has such a limit. */
function weighed(admission: Admission, next: Service<Authenticated>): Service<Authenticated> {
  return (exchange) => {
    const {
      auth: { key },
    } = exchange
    if (key.limits.bytes === undefined) return next(exchange)
    // Without a declared length the bytes are counted as they come (read).
    const declared = exchange.head.connection.contentLength ?? 0
    admission.takeBytes(key, declared)
    exchange.head.costs.rateBytes = declared
    return next(exchange).finally(() => admission.giveBytes(key, exchange.head.costs.rateBytes))
  }
}

/**
 * Tokens of a key's minute: taken by estimate before the call, put right when the usage is known.
 * Takes the estimate of the input plus the caller's output cap; nothing for the output where the caller set no cap.
 * Call once for each turn: only the first can be refused.
 * @returns a promise only where the key has such a limit and the counters are shared.
 * @throws Fault 429.
 */
export function takeTokens(exchange: Accepted, admission: Admission): Promise<void> | undefined {
  const {
    auth: { key },
    head: { costs },
  } = exchange
  if (key.limits.tokens === undefined) return undefined
  const count = Math.ceil(inputEstimate(exchange) + Math.max(0, callerCap(exchange) ?? 0))
  const waiting = admission.tokens(key, count, costs.turns.length > 0)
  if (!waiting) costs.rateTokens += count
  return waiting?.then(() => {
    costs.rateTokens += count
  })
}

/** Call once, when the exchange is settled. What is not charged does not count; nor does what is read from a cache count less. */
export function settleTokens({ auth: { key }, head: { costs } }: Accepted, { used }: Settlement, admission: Admission): void {
  if (key.limits.tokens === undefined) return
  admission.correctTokens(key, used - costs.rateTokens)
}
