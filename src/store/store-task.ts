/** Work on a store that goes on beside requests: a little at a time, until nothing is left, and again some time later. */
import type { Clock, Timer } from '../core/clock.ts'
import { AdaptivePage, type PageSize } from './adaptive-page.ts'

/**
 * Rows per batch, adapted to the milliseconds that a batch may take: one of a store in this process stands in the way of requests, one
 * elsewhere does not. 20,000 generations a second need batches of 200 every 10 ms.
 */
const HERE = { least: 200, most: 1_000, target: 3 }
const ELSEWHERE = { least: 200, most: 5_000, target: 100 }
/** Milliseconds that belong to requests before the next batch. */
const BREATH = 5

export interface StoreTaskOptions {
  /** Does at most so many rows. @returns how many; fewer than `most` where nothing is left. */
  work: (most: number) => number | Promise<number>
  /** Milliseconds: from the start to the first batch, and from one round to the next. */
  first: number
  round: number
  /** Batches of a store elsewhere, where they may take no tenth of a second. */
  elsewhere?: PageSize
  clock: Clock
  /** Called after every round that did something. @param count rows of the round. */
  done?: (count: number) => void
  failed: (cause: unknown) => void
}

export class StoreTask {
  private readonly options: StoreTaskOptions
  private timer: Timer | undefined
  private closed = false
  private count = 0
  private readonly here = new AdaptivePage(HERE)
  private readonly elsewhere: AdaptivePage
  private page = this.here

  constructor(options: StoreTaskOptions) {
    this.options = options
    this.elsewhere = new AdaptivePage(options.elsewhere ?? ELSEWHERE)
    this.later(options.first)
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
    const { work, clock, round, done, failed } = this.options
    try {
      const { size } = this.page
      const begun = clock.monotonic()
      const going = work(size)
      const count = await going
      this.page.took(clock.monotonic() - begun)
      if (going instanceof Promise) this.page = this.elsewhere
      this.count += count
      if (count >= size) return this.later(BREATH)
      if (this.count > 0) done?.(this.count)
    } catch (cause) {
      if (!this.closed) failed(cause)
    }
    this.count = 0
    this.later(round)
  }
}
