/**
 * Time in which sockets were looked at. A process that is busy sees the end of a connection late, though it came in time: by a clock on the
 * wall its own delay would count as the provider's.
 */

/** Milliseconds of one tick, at least. */
export const TICK = 50
/** Ticks that are counted on after the last note: enough for every question that is put. */
const MOST = 20

class PolledTime {
  private count = 0
  private left = 0
  private isRunning = false

  /** @returns the moment, for `since`. */
  note(): number {
    this.left = MOST
    if (!this.isRunning) {
      this.isRunning = true
      this.arm()
    }
    return this.count
  }

  /** Whole ticks since a moment, each of which ended with a look at all sockets; no more than 20 are sure to be counted. */
  since(moment: number): number {
    return this.count - moment
  }

  private arm(): void {
    setTimeout(this.passed, TICK).unref()
  }

  private readonly passed = (): void => {
    // The loop looks at sockets between its timers and its immediates.
    setImmediate(this.polled)
  }

  private readonly polled = (): void => {
    this.count++
    this.left--
    if (this.left > 0) this.arm()
    else this.isRunning = false
  }
}

/** Of the process: it has one event loop. */
export const polledTime = new PolledTime()

/** @returns the ticks after which so many milliseconds have passed for sure, within what is counted. */
export const toTicks = (ms: number): number => Math.min(MOST - 1, Math.ceil(ms / TICK) + 1)
