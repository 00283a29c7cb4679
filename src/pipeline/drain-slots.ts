/** How many answers may be read to their end after their callers left, and for how long. */
import type { Clock } from '../core/clock.ts'

const SLOTS = 64
const LONGEST = 30_000

export class DrainSlots {
  private used = 0

  /** Calls `late` when the time is up. @returns what gives the place back, to be called once; undefined if all are taken. */
  take(clock: Clock, late: () => void): (() => void) | undefined {
    if (this.used >= SLOTS) return undefined
    this.used++
    const timer = clock.after(LONGEST, late)
    return () => {
      this.used--
      timer.cancel()
    }
  }
}
