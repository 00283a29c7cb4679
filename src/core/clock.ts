/** Time and chance, injected everywhere so that tests own both. */
// Bound once: the global of this name is looked up through an accessor, several times per request.
import { performance } from 'node:perf_hooks'

export interface Timer {
  /** Stop the timer; calling it twice, or after it fired, does nothing. */
  cancel(): void
}

export interface Clock {
  /** Wall clock, milliseconds since the epoch. */
  now(): number
  /** Monotonic milliseconds, with fractions. */
  monotonic(): number
  /** Call `fn` once after `ms`. The timer does not keep the process alive. */
  after(ms: number, fn: () => void): Timer
  /** Uniform in [0, 1). */
  random(): number
}

class NodeTimer implements Timer {
  private readonly handle: NodeJS.Timeout
  constructor(ms: number, fn: () => void) {
    this.handle = setTimeout(fn, ms)
    this.handle.unref()
  }
  cancel(): void {
    clearTimeout(this.handle)
  }
}

/** From here on a timer may fire up to one tick late: nearly all of these are cancelled long before. */
const LONG = 5_000
const TICK = 100

/**
 * Long timers of many requests behind one real one: an entry in an array instead of a timer of its own.
 * An entry leaves by changing places with the last one, so nothing dead is kept alive by a neighbour.
 */
class Watch {
  readonly entries: LongTimer[] = []
  ticking: NodeTimer | undefined

  readonly tick = (): void => {
    this.ticking = undefined
    const now = performance.now()
    const due = this.entries.filter((entry) => entry.at <= now)
    for (const entry of due) {
      if (entry.place === -1) continue
      entry.cancel()
      entry.fn()
    }
    if (this.entries.length > 0) this.ticking ??= new NodeTimer(TICK, this.tick)
  }
}

const watch = new Watch()

class LongTimer implements Timer {
  /** Index in the watch; -1 once it has left. */
  place: number
  readonly at: number
  readonly fn: () => void
  constructor(ms: number, fn: () => void) {
    this.at = performance.now() + ms
    this.fn = fn
    this.place = watch.entries.push(this) - 1
    watch.ticking ??= new NodeTimer(TICK, watch.tick)
  }
  cancel(): void {
    if (this.place === -1) return
    const last = watch.entries.pop()
    if (last && last !== this) {
      watch.entries[this.place] = last
      last.place = this.place
    }
    this.place = -1
  }
}

export const systemClock: Clock = {
  now: Date.now,
  monotonic: performance.now.bind(performance),
  after: (ms, fn) => (ms < LONG ? new NodeTimer(ms, fn) : new LongTimer(ms, fn)),
  random: Math.random,
}
