/** Time and chance, injected everywhere so that tests own both. */
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

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (ms, fn) => new NodeTimer(ms, fn),
  random: () => Math.random(),
}
