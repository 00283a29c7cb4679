/** Removes what is older than the store keeps, a little at a time and off the path of any request. */
import type { Clock, Timer } from '../core/clock.ts'
import { AdaptivePage } from './adaptive-page.ts'
import { DAY_MS } from './rows.ts'

/** What generations can be removed from: a journal that is its own record, or a store of record. */
export interface Prunable {
  /**
   * Removes settled generations admitted before `before` (milliseconds since the epoch), at most `most` of them, the
   * oldest first; what they cost stays in the sums.
   * @param age milliseconds: a store with a clock of its own also keeps everything that is younger by that clock.
   * @returns how many were removed.
   */
  prune(before: number, most: number, age: number): number | Promise<number>
}

export interface RetentionOptions {
  store: Prunable
  /** Milliseconds for which generations are kept. */
  keep: number
  clock: Clock
  /** Called after every round that removed something, or that failed. */
  report?: (news: RetentionNews) => void
}

export type RetentionNews = { kind: 'pruned'; count: number } | { kind: 'prune-failed'; cause: unknown }

/** No window of a limit and no day of the activity reaches further back. */
export const SHORTEST_RETENTION = 32 * DAY_MS

/** Milliseconds: from one round to the next, and from the start to the first, which must not meet the start's own work. */
const ROUND = 3_600_000
const FIRST = 60_000
/**
 * Generations per batch, adapted to the milliseconds that a batch may take: one of a store in this process stands in the way
 * of requests, one elsewhere does not. 20,000 generations a second need batches of 200 every 10 ms.
 */
const HERE = { least: 200, most: 1_000, target: 3 }
const ELSEWHERE = { least: 200, most: 5_000, target: 100 }
/** Milliseconds that belong to requests before the next batch. */
const BREATH = 5

export class Retention {
  private readonly options: RetentionOptions
  private timer: Timer | undefined
  private closed = false
  private removed = 0
  private readonly here = new AdaptivePage(HERE)
  private readonly elsewhere = new AdaptivePage(ELSEWHERE)
  private page = this.here

  /** @throws RangeError where `keep` is below `SHORTEST_RETENTION`. */
  constructor(options: RetentionOptions) {
    if (!(options.keep >= SHORTEST_RETENTION)) throw new RangeError('generations are kept for 32 days at least')
    this.options = options
    this.later(FIRST)
  }

  /** No batch begins any more; a batch of a store elsewhere may still end. */
  close(): void {
    this.closed = true
    this.timer?.cancel()
  }

  private later(ms: number): void {
    if (!this.closed) this.timer = this.options.clock.after(ms, () => void this.batch())
  }

  private async batch(): Promise<void> {
    const { store, keep, clock, report } = this.options
    try {
      const { size } = this.page
      const begun = clock.monotonic()
      const done = store.prune(Math.floor(clock.now() - keep), size, keep)
      const count = await done
      this.page.took(clock.monotonic() - begun)
      if (done instanceof Promise) this.page = this.elsewhere
      this.removed += count
      if (count === size) return this.later(BREATH)
      if (this.removed > 0) report?.({ kind: 'pruned', count: this.removed })
    } catch (cause) {
      if (!this.closed) report?.({ kind: 'prune-failed', cause })
    }
    this.removed = 0
    this.later(ROUND)
  }
}
