/** The pace of a long scan: short slices of work on the event loop with rests between them, so that requests go on. */
import { setImmediate as immediate, setTimeout as wait } from 'node:timers/promises'

/** Milliseconds of work after which a scan rests. One page of rows more may follow, so that a slice stays below 5 ms. */
export const SLICE_MS = 2
/** Milliseconds of rest: a scan takes at most half of the loop. */
const REST_MS = 4

export class Pace {
  private begun = performance.now()
  private readonly elsewhere: boolean
  private readonly sliceMs: number

  /**
   * @param elsewhere true where the rows come from another process: the scan waits for each page, and rows must not come faster.
   * @param sliceMs of a scan that is short in any case, and that somebody waits for.
   */
  constructor(elsewhere = false, sliceMs = SLICE_MS) {
    this.elsewhere = elsewhere
    this.sliceMs = sliceMs
  }

  /** True when the slice is used up: then `rest()` is due. */
  get over(): boolean {
    return performance.now() - this.begun >= this.sliceMs
  }

  /** @param elsewhere that the last page came from there. */
  async rest(elsewhere = this.elsewhere): Promise<void> {
    await (elsewhere ? immediate() : wait(REST_MS))
    this.begun = performance.now()
  }
}
