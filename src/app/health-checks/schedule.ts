/**
 * When checks are sent: never two of one target within `every`, not by several processes at once, and few of all targets together. A check
 * waits a moment, and is left to another process that announces the same one meanwhile.
 */
import type { NewsWire } from '../../cluster/shared/index.ts'
import type { Clock, Timer } from '../../core/clock.ts'

/** Milliseconds that a check waits at least, and at most. */
const SOONEST = 50
const LATEST = 1_000
/** Checks of all targets of this process in a minute. */
const MOST_PER_MINUTE = 10
const MINUTE = 60_000
/** Targets that are remembered; of more, the one that was checked longest ago is forgotten. */
const MOST_TARGETS = 1_000
const LONGEST_NAME = 1_024

export class CheckSchedule {
  private readonly clock: Clock
  private readonly news: Pick<NewsWire, 'publish' | 'subscribe'>
  /** When each target was checked last, here or by another process: the one checked last stands last. Monotonic milliseconds. */
  private readonly checkedAt = new Map<string, number>()
  private readonly waiting = new Map<string, Timer>()
  /** When the last checks of this process were sent. */
  private sent: number[] = []

  constructor(clock: Clock, news: Pick<NewsWire, 'publish' | 'subscribe'>) {
    this.clock = clock
    this.news = news
    news.subscribe('check', (target) => {
      if (typeof target !== 'string' || target === '' || target.length > LONGEST_NAME) return
      this.waiting.get(target)?.cancel()
      this.waiting.delete(target)
      this.note(target)
    })
  }

  /** @param every milliseconds between two checks of the target. @param send sends it; not called where there are enough of them. */
  request(target: string, every: number, send: () => void): void {
    if (this.waiting.has(target) || !this.mayCheck(target, every)) return
    const wait = SOONEST + Math.floor(this.clock.random() * (LATEST - SOONEST))
    const timer = this.clock.after(wait, () => {
      this.waiting.delete(target)
      this.note(target)
      this.sent.push(this.clock.monotonic())
      this.news.publish('check', target)
      send()
    })
    this.waiting.set(target, timer)
  }

  close(): void {
    for (const timer of this.waiting.values()) timer.cancel()
    this.waiting.clear()
  }

  private mayCheck(target: string, every: number): boolean {
    const now = this.clock.monotonic()
    const last = this.checkedAt.get(target)
    if (last !== undefined && now - last < every) return false
    this.sent = this.sent.filter((at) => now - at < MINUTE)
    return this.sent.length + this.waiting.size < MOST_PER_MINUTE
  }

  private note(target: string): void {
    this.checkedAt.delete(target)
    this.checkedAt.set(target, this.clock.monotonic())
    if (this.checkedAt.size <= MOST_TARGETS) return
    for (const oldest of this.checkedAt.keys()) {
      this.checkedAt.delete(oldest)
      return
    }
  }
}
