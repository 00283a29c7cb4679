/** Removes what is older than the store keeps, a little at a time and off the path of any request. */
import type { Clock } from '../core/clock.ts'
import { DAY_MS } from './rows.ts'
import { StoreTask } from './store-task.ts'

/** What generations can be removed from: a journal that is its own record, or a store of record. */
export interface Prunable {
  /**
   * Removes settled generations admitted before `before` (milliseconds since the epoch), at most `most` of them, the
   * oldest first; what they cost stays in the sums.
   * @param age milliseconds: a store with a clock of its own also keeps everything that is younger by that clock.
   * @returns how many were removed.
   */
  prune(before: number, most: number, age: number): number | Promise<number>
}

export interface RetentionOptions {
  store: Prunable
  /** Milliseconds for which generations are kept. */
  keep: number
  clock: Clock
  /** Called after every round that removed something, or that failed. */
  report?: (news: RetentionNews) => void
}

export type RetentionNews = { kind: 'pruned'; count: number } | { kind: 'prune-failed'; cause: unknown }

/** No window of a limit and no day of the activity reaches further back. */
export const SHORTEST_RETENTION = 32 * DAY_MS

/** Milliseconds: from one round to the next, and from the start to the first, which must not meet the start's own work. */
const ROUND = 3_600_000
const FIRST = 60_000

/** Begins to remove. @throws RangeError where `keep` is below `SHORTEST_RETENTION`. */
export function startRetention({ store, keep, clock, report }: RetentionOptions): StoreTask {
  if (!(keep >= SHORTEST_RETENTION)) throw new RangeError('generations are kept for 32 days at least')
  return new StoreTask({
    work: (most) => store.prune(Math.floor(clock.now() - keep), most, keep),
    first: FIRST,
    round: ROUND,
    clock,
    done: (count) => report?.({ kind: 'pruned', count }),
    failed: (cause) => report?.({ kind: 'prune-failed', cause }),
  })
}
