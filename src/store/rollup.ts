/** Keeps the sums of use up to date, a little at a time and off the path of any request. */
import type { Clock } from '../core/clock.ts'
import { DAY_MS } from './rows.ts'
import { StoreTask } from './store-task.ts'

/** A store with sums of use beside its generations: a journal that is its own record, or a store of record. */
export interface Rollable {
  /** True for a store that ends with its process. */
  readonly isInMemory?: boolean
  /**
   * Adds to the tables of sums what is old enough, at most about `most` generations or sums at once.
   * @param now milliseconds since the epoch. @returns less than `most` where nothing is left to do.
   */
  roll(now: number, most: number): number | Promise<number>
  /** Removes the oldest day of the sums where it began before a moment. @returns whether there was one. */
  forgetUse(before: number): boolean | Promise<boolean>
}

export type RollupReport = { kind: 'roll-failed'; cause: unknown }

/** Milliseconds: from one round to the next, and from the start to the first. */
const ROUND = 10_000
const FIRST = 5_000
/** Processes that hand generations in wait for so many milliseconds. */
const ELSEWHERE = { least: 200, most: 5_000, target: 20 }
/** Sums of use are kept for so long. */
const KEPT = 400 * DAY_MS

/** @returns `count`. */
function forgetOld(store: Rollable, clock: Clock, count: number, most: number): number | Promise<number> {
  const forgotten = count < most && store.forgetUse(clock.now() - KEPT)
  return forgotten instanceof Promise ? forgotten.then(() => count) : count
}

/** Begins to add up. */
export function startRollup(store: Rollable, clock: Clock, report: (report: RollupReport) => void): StoreTask {
  return new StoreTask({
    work: (most) => {
      const rolled = store.roll(clock.now(), most)
      if (rolled instanceof Promise) return rolled.then((count) => forgetOld(store, clock, count, most))
      return forgetOld(store, clock, rolled, most)
    },
    elsewhere: ELSEWHERE,
    first: FIRST,
    round: ROUND,
    clock,
    failed: (cause) => report({ kind: 'roll-failed', cause }),
  })
}
