/** Calls of the store of record have a time limit, and each of their failures becomes the same fault. */
import type { Clock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'

/** Seconds after which a caller may try again. */
const RETRY_SECONDS = 1

/** The fault of a store of record that cannot be reached; each waiter gets one of its own, since faults carry metadata. */
export function unreachable(cause: unknown): Fault {
  return new Fault('unavailable', { message: 'The store of record does not answer', retryAfter: RETRY_SECONDS, cause })
}

/** @returns what `work` gives. @throws Fault `unavailable` after `ms` milliseconds; the work itself goes on. */
export function within<T>(clock: Pick<Clock, 'after'>, ms: number, work: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = clock.after(ms, () => reject(unreachable(new Error(`no answer within ${ms} ms`))))
    work.then(
      (value) => {
        timer.cancel()
        resolve(value)
      },
      (thrown: unknown) => {
        timer.cancel()
        reject(thrown)
      },
    )
  })
}
