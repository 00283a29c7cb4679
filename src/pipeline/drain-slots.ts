/** How many answers may be read to their end after their callers left, and for how long. */
import type { Clock } from '../core/clock.ts'

const SLOTS = 64
const LONGEST = 30_000

export class DrainSlots {
  private used = 0

  /** @returns false if all places are taken; else `late` is called when the time is up. */
  take(clock: Clock, late: () => void): boolean {
    if (this.used >= SLOTS) return false
    this.used++
    clock.after(LONGEST, late)
    return true
  }

  release(): void {
    this.used--
  }
}
