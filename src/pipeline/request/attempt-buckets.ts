/** Rate limits of attempts by address or key: a bucket for each, kept by this process. */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'

/** Addresses that are remembered; of more, the least recently used one begins with a full bucket. */
const MAX_ADDRESSES = 4096

interface Bucket {
  left: number
  at: number
}

/** Attempts at once, and per second later on. */
export interface AttemptRate {
  readonly burst: number
  readonly perSecond: number
}

export class Attempts {
  private readonly clock: Pick<Clock, 'now' | 'monotonic'>
  /** Made with the first failure: it takes room for all of them at once. */
  private buckets: LRUCache<string, Bucket> | undefined
  private readonly rate: AttemptRate

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>, rate: AttemptRate) {
    this.clock = clock
    this.rate = rate
  }

  /** True where nothing is left to this name. */
  isEmpty(name: string): boolean {
    return this.bucket(name).left < 1
  }

  /**
   * @param message of the fault, in place of its usual one.
   * @throws Fault 429 with Retry-After and X-RateLimit-* where nothing is left to this name.
   */
  check(name: string, message?: string): void {
    const { left } = this.bucket(name)
    if (left >= 1) return
    const { burst, perSecond } = this.rate
    const retryAfter = Math.ceil((1 - left) / perSecond)
    const headers = {
      'X-RateLimit-Limit': String(burst),
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(Math.ceil(this.clock.now()) + retryAfter * 1000),
    }
    throw new Fault('rate_limited', { message, retryAfter, headers })
  }

  /** Takes one from what is left. */
  count(name: string): void {
    const bucket = this.bucket(name)
    bucket.left = Math.max(0, bucket.left - 1)
    this.buckets ??= new LRUCache({ max: MAX_ADDRESSES })
    this.buckets.set(name, bucket)
  }

  private bucket(name: string): Bucket {
    const now = this.clock.monotonic()
    const { burst, perSecond } = this.rate
    const { left, at } = this.buckets?.get(name) ?? { left: burst, at: now }
    return { left: Math.min(burst, left + ((now - at) / 1000) * perSecond), at: now }
  }
}
