/** Time that jumps from one timer to the next, once everything that the last one set off has come to rest. */
import type { Clock, Timer } from '../../src/core/clock.ts'
import type { Chance } from './chance.ts'

class Entry implements Timer {
  readonly at: number
  readonly order: number
  /** Undefined once it fired or was cancelled: the entry stays in the heap until its time and does nothing. */
  fn: (() => void) | undefined

  constructor(at: number, order: number, fn: () => void) {
    this.at = at
    this.order = order
    this.fn = fn
  }

  cancel(): void {
    this.fn = undefined
  }
}

/** One whole turn of the event loop: every promise that can settle without a timer has. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

export class VirtualClock implements Clock {
  readonly random: Chance
  private readonly epoch: number
  private readonly heap: Entry[] = []
  private elapsed: number
  private order = 0

  /**
   * @param epoch what `now()` says at monotonic 0, in milliseconds.
   * @param start monotonic milliseconds at which time begins.
   */
  constructor(chance: Chance, epoch: number, start: number) {
    this.random = chance
    this.epoch = epoch
    this.elapsed = start
  }

  now(): number {
    return this.epoch + this.elapsed
  }

  monotonic(): number {
    return this.elapsed
  }

  after(ms: number, fn: () => void): Timer {
    const entry = new Entry(this.elapsed + Math.max(0, ms), this.order++, fn)
    this.push(entry)
    return entry
  }

  /**
   * Runs timers in order of time until `done` says so.
   * @param busy true while something waits for a turn of the event loop, such as a journal's commit: time stands still.
   * @throws Error where nothing is left that could ever happen.
   */
  async run(done: () => boolean, busy: () => boolean): Promise<void> {
    while (!done()) {
      const entry = this.pop()
      if (entry === undefined) throw new Error('the simulation stands still: no timer waits, and it is not over')
      const { fn } = entry
      if (fn === undefined) continue
      entry.fn = undefined
      this.elapsed = Math.max(this.elapsed, entry.at)
      fn()
      do await turn()
      while (busy())
    }
  }

  private push(entry: Entry): void {
    const { heap } = this
    let at = heap.push(entry) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = heap[parent]
      if (above === undefined || !earlier(entry, above)) break
      heap[at] = above
      at = parent
    }
    heap[at] = entry
  }

  private pop(): Entry | undefined {
    const { heap } = this
    const first = heap[0]
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      let least = heap[child]
      if (least === undefined) break
      const other = heap[child + 1]
      if (other !== undefined && earlier(other, least)) {
        least = other
        child++
      }
      if (!earlier(least, last)) break
      heap[at] = least
      at = child
    }
    heap[at] = last
    return first
  }
}

function earlier(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
