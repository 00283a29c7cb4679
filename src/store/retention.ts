/** Removes what is older than the store keeps, a little at a time and off the path of any request. */
import type { Clock } from '../core/clock.ts'
import { DAY_MS } from './rows.ts'
import { StoreTask } from './store-task.ts'

/** A store from which generations can be removed: a journal that is its own record, or a store of record. */
export interface Prunable {
  /**
   * Removes settled generations admitted before `before` (milliseconds since the epoch), at most `most` of them, the
   * oldest first; what they cost stays in the sums.
   * @param age milliseconds: a store with a clock of its own also keeps everything that is younger by that clock.
   * @returns how many were removed.
   */
  prune(before: number, most: number, age: number): number | Promise<number>
}

/** Generations that are kept for a while longer since something has not read them. */
export interface UnreadGenerations {
  /** Milliseconds since the epoch: admission of the oldest one; undefined where there is none. */
  oldest(): number | undefined | Promise<number | undefined>
  /** Milliseconds beyond those of all generations. */
  readonly grace: number
}

export interface RetentionOptions {
  store: Prunable
  unread?: UnreadGenerations | undefined
  /** Milliseconds for which generations are kept. */
  keep: number
  clock: Clock
  /** Called after every round that removed something, or that failed. */
  report?: (report: RetentionReport) => void
}

export type RetentionReport =
  | { kind: 'pruned'; count: number }
  /** So many were removed that an export had not delivered. */
  | { kind: 'unread-pruned'; count: number }
  | { kind: 'prune-failed'; cause: unknown }

/** No window of a limit and no day of the activity reaches further back. */
export const MIN_RETENTION_MS = 32 * DAY_MS

/** Milliseconds: from one round to the next, and from the start to the first, which must not meet the start's own work. */
const ROUND = 3_600_000
const FIRST = 60_000

/** Begins to remove. @throws RangeError where `keep` is below `MIN_RETENTION_MS`. */
export function startRetention({ store, unread, keep, clock, report }: RetentionOptions): StoreTask {
  if (!(keep >= MIN_RETENTION_MS)) throw new RangeError('generations are kept for 32 days at least')
  let lost = 0
  const prune = (most: number, oldest = Number.POSITIVE_INFINITY): number | Promise<number> => {
    const latest = Math.floor(clock.now() - keep)
    const before = Math.min(latest, Math.max(oldest, latest - (unread?.grace ?? 0)))
    const pruned = store.prune(before, most, keep)
    if (before <= oldest) return pruned
    const count = (removed: number): number => {
      lost += removed
      return removed
    }
    return pruned instanceof Promise ? pruned.then(count) : count(pruned)
  }
  return new StoreTask({
    work: (most) => {
      const oldest = unread?.oldest()
      return oldest instanceof Promise ? oldest.then((found) => prune(most, found)) : prune(most, oldest)
    },
    first: FIRST,
    round: ROUND,
    clock,
    done: (count) => {
      report?.({ kind: 'pruned', count })
      if (lost > 0) report?.({ kind: 'unread-pruned', count: lost })
      lost = 0
    },
    failed: (cause) => report?.({ kind: 'prune-failed', cause }),
  })
}
