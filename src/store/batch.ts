/**
 * The journal's queue: all rows of one turn of the event loop become one transaction and one shared promise. The medium behind it only
 * writes whole batches.
 */

import { Fault } from '../core/faults.ts'
import { areAll } from '../core/row-counts.ts'
import type { HoldRow, SettleRow } from '../ledger/types.ts'

/** Problems of a batch for the operator, without the content of any row. */
export type BatchReport =
  | { kind: 'refused'; cause: unknown }
  /** A second settlement of one generation, or a hold under another's number: ignored, the first one stands. */
  | { kind: 'duplicate'; seq: number }

export interface Medium {
  /** Writes both lists as one transaction, all or nothing. @throws whatever the medium throws. */
  write(holds: readonly HoldRow[], settles: readonly SettleRow[]): void
  /** True if the hold has been written; also where that cannot be found out. */
  knows(seq: number): boolean
  /** Called for every batch that `write` refused, after what is left of it waits again. */
  refused(cause: unknown): void
}

interface Waiting {
  readonly promise: Promise<void>
  resolve(): void
  reject(fault: Fault): void
}

const DONE = Promise.resolve()

/** A refusal is reported beside the promise, so a caller that does not wait must not bring the process down. */
const ignore = () => {}

/** `Retry-After` for callers whose hold was refused. */
const RETRY_SECONDS = 1

/** Refused holds that are remembered; beyond it the oldest are forgotten. */
const MAX_REFUSED = 65_536

export class BatchQueue {
  private holds: HoldRow[] = []
  private settles: SettleRow[] = []
  private waiting: Waiting | undefined
  private scheduled = false
  /** Holds that no file knows: their settlements have nothing to settle. */
  private readonly refused = new Set<number>()
  private readonly medium: Medium
  /** Highest sequence of a hold so far. */
  last: number

  constructor(medium: Medium, last = 0) {
    this.medium = medium
    this.last = last
  }

  readonly hold = (row: HoldRow): void => {
    checkHold(row)
    if (row.seq > this.last) this.last = row.seq
    this.holds.push(row)
    this.schedule()
  }

  readonly settle = (row: SettleRow): void => {
    checkSettle(row)
    if (this.refused.size > 0 && this.refused.delete(row.seq)) return
    this.settles.push(row)
    this.schedule()
  }

  /** True where something waits: a retry after a failure, or this turn's rows. */
  get pending(): boolean {
    return this.holds.length > 0 || this.settles.length > 0
  }

  readonly committed = (): Promise<void> => {
    if (!this.pending) return DONE
    this.schedule()
    if (!this.waiting) {
      this.waiting = Promise.withResolvers<void>()
      this.waiting.promise.catch(ignore)
    }
    return this.waiting.promise
  }

  queuedHold(seq: number): HoldRow | undefined {
    return this.holds.find((row) => row.seq === seq)
  }

  queuedSettle(seq: number): SettleRow | undefined {
    return this.settles.find((row) => row.seq === seq)
  }

  private schedule(): void {
    if (this.scheduled) return
    this.scheduled = true
    setImmediate(this.flush)
  }

  /**
   * Writes what waits. A refused batch rejects its promise. Its holds are forgotten, since their requests will not be
   * sent; its settlements wait for the next batch, since what they charge for has happened.
   */
  readonly flush = (): void => {
    this.scheduled = false
    if (!this.pending) return
    const { holds, settles, waiting } = this
    this.holds = []
    this.settles = []
    this.waiting = undefined
    try {
      this.medium.write(holds, settles)
    } catch (cause) {
      this.settles = this.keepAfterRefusal(holds, settles)
      waiting?.reject(new Fault('unavailable', { message: 'The ledger cannot be written', retryAfter: RETRY_SECONDS, cause }))
      this.medium.refused(cause)
      return
    }
    waiting?.resolve()
  }

  private keepAfterRefusal(holds: readonly HoldRow[], settles: SettleRow[]): SettleRow[] {
    for (const row of holds) if (!this.medium.knows(row.seq)) this.refused.add(row.seq)
    for (const seq of this.refused) {
      if (this.refused.size <= MAX_REFUSED) break
      this.refused.delete(seq)
    }
    return settles.filter((row) => !this.refused.delete(row.seq))
  }
}

/** A refused row must not take its whole batch with it, so rows are checked before they are queued. */
export function checkHold(row: HoldRow): void {
  if (!(safe(row.seq) && safe(row.hold) && safe(row.floor))) throw new RangeError('hold row: counts must be non-negative integers')
  const { tag, key, payer = '', model, endpoint } = row
  for (const name of [tag, key, payer, model, endpoint]) if (typeof name !== 'string') throw new TypeError('hold row: names must be text')
}

export function checkSettle(row: SettleRow): void {
  const fine = safe(row.seq) && safe(row.cost) && safe(row.at) && areAll(row, safe)
  if (!fine) throw new RangeError('settlement row: counts must be non-negative integers')
  if (typeof row.facts !== 'string' || typeof row.status !== 'string') throw new TypeError('settlement row: status and facts must be text')
}

function safe(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}
