/** Rate counters of this process alone. */
import type { Clock } from '../../core/clock.ts'
import { type Bucket, levelAt, takeFrom } from './rate-law.ts'
import type { CounterAnswer, CounterAsk, Counters } from './types.ts'

interface Kept extends Bucket {
  /** The limit of its last call. */
  perMinute: number
}

/** Buckets looked at per call: the whole map is gone through faster than it can grow. */
const SWEEP = 2

/** A bucket that has drained is forgotten: what is kept is what was used within the last minute or is in debt. */
export class MemoryCounters implements Counters {
  private readonly clock: Clock
  private readonly buckets = new Map<string, Kept>()
  private hand: Iterator<[string, Kept]>

  constructor(clock: Clock) {
    this.clock = clock
    this.hand = this.buckets.entries()
  }

  take(ask: CounterAsk): CounterAnswer {
    const now = Math.floor(this.clock.monotonic())
    this.sweep(now)
    const known = this.buckets.get(ask.name)
    const bucket = known ?? { level: 0, at: now, perMinute: ask.perMinute }
    bucket.perMinute = ask.perMinute
    const answer = takeFrom(bucket, now, ask)
    if (!known && bucket.level > 0) this.buckets.set(ask.name, bucket)
    return answer
  }

  get size(): number {
    return this.buckets.size
  }

  async close(): Promise<void> {
    this.buckets.clear()
  }

  private sweep(now: number): void {
    for (let looked = 0; looked < SWEEP; looked++) {
      const next = this.hand.next()
      if (next.done) {
        this.hand = this.buckets.entries()
        return
      }
      const [name, bucket] = next.value
      if (levelAt(bucket, now, bucket.perMinute) === 0) this.buckets.delete(name)
    }
  }
}
