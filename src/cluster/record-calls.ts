/**
 * Calls of the store of record have a time limit, and each of their failures becomes the same fault; their outages are reported to the
 * operator, without the content of rows.
 */
import type { Clock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import { saysBeyond } from '../store/schema.ts'

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

/** Events of the calls of the store of record that are reported to the operator, without the content of rows. */
export type ClusterReport =
  /** Reported once per outage: rows wait here, or changes of keys, guardrails and levels are not received. */
  | { kind: 'record-lost'; during: Dealing; reason: string }
  | { kind: 'record-back'; during: Dealing }
  /** Generations that the record has taken could not be deleted here: tried again. */
  | { kind: 'forget-failed'; reason: string }

/** The call of the store of record that failed. */
export type Dealing = 'hand-in' | 'pulse' | 'guardrails' | 'byok' | 'levels' | 'audit' | 'refusals'

/** The root cause: where a fault wraps another error, that error's text is more specific. */
export function failureReason(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown'
  return thrown.cause instanceof Error ? failureReason(thrown.cause) : thrown.message
}

/** Reports the beginning and the end of an outage, once each, and in it that this program is too old for the record: that outage has no end. */
export class OutageReport {
  private lost = false
  private isTooOld = false
  private readonly during: Dealing
  private readonly report: (report: ClusterReport) => void

  constructor(during: Dealing, report: (report: ClusterReport) => void) {
    this.during = during
    this.report = report
  }

  get isLost(): boolean {
    return this.lost
  }

  failed(cause: unknown): void {
    const reason = failureReason(cause)
    const isTooOld = this.isTooOld || saysBeyond(reason)
    if (!this.lost || isTooOld !== this.isTooOld) this.report({ kind: 'record-lost', during: this.during, reason })
    this.lost = true
    this.isTooOld = isTooOld
  }

  went(): void {
    if (this.lost) this.report({ kind: 'record-back', during: this.during })
    this.lost = false
    this.isTooOld = false
  }
}
