/** How many replies may be read on after their callers left, and for how long: what they report is what is charged. */

import type { Clock } from '../../core/clock.ts'
import type { Provider } from '../../routing/catalog/types.ts'

/** Of one process, whatever the providers' settings. */
const SLOTS = 64
/** Milliseconds by `on_abort`: the usual wait for a final report, and the whole reply. */
const LONGEST: Readonly<Record<Provider['onAbort'], number>> = { cancel: 2_000, drain: 30_000 }

export class DrainSlots {
  private closed = false
  private readonly open = new Set<() => void>()

  /** Calls `late` when the time is up. @returns gives the place back, to be called once; undefined if all are taken. */
  take(clock: Clock, onAbort: Provider['onAbort'], late: () => void): (() => void) | undefined {
    if (this.closed || this.open.size >= SLOTS) return undefined
    const timer = clock.after(LONGEST[onAbort], late)
    this.open.add(late)
    return () => {
      this.open.delete(late)
      timer.cancel()
    }
  }

  /** The process ends: nothing is read on any more. */
  close(): void {
    this.closed = true
    for (const late of [...this.open]) late()
  }
}
