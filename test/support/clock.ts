/** A clock that only moves when a test says so, and chance that repeats. */
import type { Clock, Timer } from '../../src/core/clock.ts'

interface Pending {
  at: number
  order: number
  delay: number
  fn: () => void
}

/** One whole turn of the event loop: promises settle and sockets are read. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/**
 * So many turns. Not for what is to happen, which `eventually()` awaits, but to show that something does not happen meanwhile,
 * and to spread what random tests do; a busy machine cannot fail the former.
 */
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn()
}

export class FakeClock implements Clock {
  private elapsed = 0
  private order = 0
  private pending: Pending[] = []
  private watchers: { delay: number; resolve: () => void }[] = []
  private state: number
  private readonly epoch: number

  /** @param seed of `random()`. @param epoch what `now()` says at the start, in milliseconds. */
  constructor(seed = 1, epoch = Date.UTC(2026, 0, 5, 12)) {
    this.state = seed >>> 0
    this.epoch = epoch
  }

  now(): number {
    return this.epoch + this.elapsed
  }

  monotonic(): number {
    return this.elapsed
  }

  /** mulberry32: 32 bits of state, the same numbers for the same seed. */
  random(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  after(ms: number, fn: () => void): Timer {
    const entry: Pending = { at: this.elapsed + Math.max(0, ms), order: this.order++, delay: ms, fn }
    this.pending.push(entry)
    for (const watcher of this.watchers) if (watcher.delay === ms) watcher.resolve()
    this.watchers = this.watchers.filter((watcher) => watcher.delay !== ms)
    return {
      cancel: () => {
        this.pending = this.pending.filter((other) => other !== entry)
      },
    }
  }

  /** Delays of the timers that wait, as they were asked for. */
  get waiting(): number[] {
    return this.pending.map((entry) => entry.delay)
  }

  /** Resolves once a timer of exactly this delay waits; at once if one does already. */
  armed(delay: number): Promise<void> {
    if (this.pending.some((entry) => entry.delay === delay)) return Promise.resolve()
    return new Promise((resolve) => this.watchers.push({ delay, resolve }))
  }

  /** Moves time on, running what falls due in order, with a turn of the event loop after each. */
  async advance(ms: number): Promise<void> {
    const end = this.elapsed + ms
    for (let due = this.earliest(end); due; due = this.earliest(end)) {
      this.pending = this.pending.filter((entry) => entry !== due)
      this.elapsed = Math.max(this.elapsed, due.at)
      due.fn()
      await turn()
    }
    this.elapsed = end
    await turn()
  }

  private earliest(end: number): Pending | undefined {
    let found: Pending | undefined
    for (const entry of this.pending) {
      if (entry.at > end) continue
      if (!found || entry.at < found.at || (entry.at === found.at && entry.order < found.order)) found = entry
    }
    return found
  }
}

/** Time that jumps without running what is due: for tests in which nothing waits for a timer. */
export class JumpingClock extends FakeClock {
  jumped = 0
  override now(): number {
    return super.now() + this.jumped
  }
  jumpTo(iso: string): void {
    this.jumped += Date.parse(iso) - this.now()
  }
}
