/** How often one address may be wrong: a bucket for each, kept by this process. */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'

/** Addresses that are remembered; of more, the one that was heard of longest ago may begin anew. */
const MOST_ADDRESSES = 4096

interface Bucket {
  left: number
  at: number
}

export class Attempts {
  private readonly clock: Pick<Clock, 'now' | 'monotonic'>
  private readonly buckets = new LRUCache<string, Bucket>({ max: MOST_ADDRESSES })
  private readonly burst: number
  private readonly perSecond: number

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>, { burst, perSecond }: { burst: number; perSecond: number }) {
    this.clock = clock
    this.burst = burst
    this.perSecond = perSecond
  }

  /** @throws Fault 429 with Retry-After and X-RateLimit-* where nothing is left to this name. */
  check(name: string): void {
    const { left } = this.bucket(name)
    if (left >= 1) return
    const retryAfter = Math.ceil((1 - left) / this.perSecond)
    const headers = {
      'X-RateLimit-Limit': String(this.burst),
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(Math.ceil(this.clock.now()) + retryAfter * 1000),
    }
    throw new Fault('rate_limited', { retryAfter, headers })
  }

  /** Takes one from what is left. */
  count(name: string): void {
    const bucket = this.bucket(name)
    bucket.left = Math.max(0, bucket.left - 1)
    this.buckets.set(name, bucket)
  }

  private bucket(name: string): Bucket {
    const now = this.clock.monotonic()
    const { left, at } = this.buckets.get(name) ?? { left: this.burst, at: now }
    return { left: Math.min(this.burst, left + ((now - at) / 1000) * this.perSecond), at: now }
  }
}
