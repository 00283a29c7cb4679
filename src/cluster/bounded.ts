/** Nobody waits for the store of record without an end, and whatever goes wrong with it is one fault. */
import type { Clock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'

/** Seconds after which a caller may ask again. */
const RETRY_SECONDS = 1

/** The fault of a store of record that cannot be asked; each waiter gets one of its own, since faults carry metadata. */
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
