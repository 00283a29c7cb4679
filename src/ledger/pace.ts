/** The pace of a long scan: short slices of work on the event loop with rests between them, so that requests go on. */
import { setImmediate as immediate, setTimeout as wait } from 'node:timers/promises'

/** Milliseconds of work after which a scan rests. One page of rows more may follow, so that a slice stays below 5 ms. */
export const SLICE_MS = 2
/** Milliseconds of rest: a scan takes at most half of the loop. */
const REST_MS = 4
/**
 * Of a list that somebody waits for: longer slices, and until it has worked for so many milliseconds a rest is one turn of the event loop,
 * in which everything that is ready goes on. Timers made a third of what such a list took.
 */
const LIST = { sliceMs: 3, turnsMs: 150 }

/** When the first scan began to work in this turn of the event loop; undefined where none has yet. */
let turnBegun: number | undefined

/** Scans that go on in the same turn share its slice: twenty short ones without a rest between them hold up the loop as a long one does. */
function beginTurn(): number {
  if (turnBegun === undefined) {
    turnBegun = performance.now()
    setImmediate(endTurn)
  }
  return turnBegun
}

function endTurn(): void {
  turnBegun = undefined
}

export class Pace {
  private begun = performance.now()
  private worked = 0
  private readonly elsewhere: boolean
  private readonly sliceMs: number
  private readonly turnsMs: number

  /** @param elsewhere true where the rows come from another process: the scan waits for each page, and rows must not come faster. */
  constructor(elsewhere = false, { sliceMs, turnsMs } = { sliceMs: SLICE_MS, turnsMs: 0 }) {
    this.elsewhere = elsewhere
    this.sliceMs = sliceMs
    this.turnsMs = turnsMs
    beginTurn()
  }

  /** Of a list that somebody waits for: one that takes long rests as any other scan. */
  static ofList(): Pace {
    return new Pace(false, LIST)
  }

  /** True when the slice is used up, the scan's own or that of this turn: then `rest()` is due. */
  get over(): boolean {
    return performance.now() - Math.min(this.begun, beginTurn()) >= this.sliceMs
  }

  /** Begins the next slice of this scan after a wait: what it waited for keeps a pace of its own. */
  waited(): void {
    this.begun = performance.now()
  }

  /** @param elsewhere that the last page came from there. */
  async rest(elsewhere = this.elsewhere): Promise<void> {
    this.worked += performance.now() - this.begun
    await (elsewhere || this.worked < this.turnsMs ? immediate() : wait(REST_MS))
    this.begun = performance.now()
    beginTurn()
  }
}
