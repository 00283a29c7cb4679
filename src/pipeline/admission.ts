/** What a key may have going at once: a token bucket of requests, open streams, bytes in flight. */
import type { Clock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import type { ApiKey } from '../plugin-api/key.ts'

const MINUTE = 60_000

interface Use {
  /** Requests that may start now; refills at the limit per minute. */
  tokens: number
  refilled: number
  streams: number
  bytes: number
}

export class Admission {
  private readonly clock: Clock
  private readonly uses = new Map<string, Use>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  /**
   * Takes one request from the key's bucket.
   * @throws Fault 429 with Retry-After and X-RateLimit-* when it is empty.
   */
  request(key: ApiKey): void {
    const limit = key.limits.requests
    if (limit === undefined) return
    const now = this.clock.monotonic()
    const use = this.use(key)
    if (use.refilled < 0) use.tokens = limit
    else use.tokens = Math.min(limit, use.tokens + ((now - use.refilled) * limit) / MINUTE)
    use.refilled = now
    if (use.tokens >= 1) {
      use.tokens--
      return
    }
    const wait = limit > 0 ? Math.ceil((((1 - use.tokens) / limit) * MINUTE) / 1000) : 60
    throw limited(`Rate limit exceeded: ${limit} requests per minute`, { limit, wait, resetAt: this.clock.now() + wait * 1000 })
  }

  /** @throws Fault 429 where the key has as many streams open as it may. */
  openStream(key: ApiKey): void {
    const limit = key.limits.streams
    if (limit === undefined) return
    const use = this.use(key)
    if (use.streams >= limit)
      throw limited(`Rate limit exceeded: ${limit} concurrent streams`, { limit, wait: 1, resetAt: this.clock.now() + 1000 })
    use.streams++
  }

  closeStream(key: ApiKey): void {
    if (key.limits.streams !== undefined) this.use(key).streams--
  }

  /** @throws Fault 429 where the request's bytes do not fit beside those in flight. */
  takeBytes(key: ApiKey, bytes: number): void {
    const limit = key.limits.bytes
    if (limit === undefined) return
    const use = this.use(key)
    if (use.bytes + bytes > limit)
      throw limited(`Rate limit exceeded: ${limit} request bytes in flight`, { limit, wait: 1, resetAt: this.clock.now() + 1000 })
    use.bytes += bytes
  }

  giveBytes(key: ApiKey, bytes: number): void {
    if (key.limits.bytes !== undefined) this.use(key).bytes -= bytes
  }

  private use(key: ApiKey): Use {
    let use = this.uses.get(key.identity)
    if (!use) {
      use = { tokens: 0, refilled: -1, streams: 0, bytes: 0 }
      this.uses.set(key.identity, use)
    }
    return use
  }
}

function limited(message: string, facts: { limit: number; wait: number; resetAt: number }): Fault {
  return new Fault('rate_limited', {
    message,
    retryAfter: facts.wait,
    headers: {
      'X-RateLimit-Limit': String(facts.limit),
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(Math.ceil(facts.resetAt)),
    },
  })
}
