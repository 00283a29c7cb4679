/**
 * The journal's queue: all rows of one turn of the event loop become one transaction and one shared promise. The medium behind it only
 * writes whole batches: SQLite, or the plainest one, memory.
 */

import { Fault } from '../core/faults.ts'
import { lossesOf } from '../core/ledger-entries.ts'
import { areAll } from '../core/row-counts.ts'
import type { DatedCharges, DayCharge, GenerationRecord, HoldRow, Journal, KeyCharges, Reconciliation, SettleRow } from '../ledger/types.ts'
import { MemoryEntries } from './memory-entries.ts'
import { recoveryOf } from './recovery.ts'
import { chargedAt, DAY_MS, findRecord, recordOf, sumByAccount, TICKS, unknownSettlement } from './rows.ts'

/** What an operator should know of; no row's content is in it. */
export type BatchNews =
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
const MOST_REFUSED = 65_536

export class BatchQueue {
  private holds: HoldRow[] = []
  private settles: SettleRow[] = []
  private waiting: Waiting | undefined
  private scheduled = false
  /** Holds that no file knows: their settlements have nothing to settle. */
  private readonly refused = new Set<number>()
  private readonly medium: Medium

  constructor(medium: Medium) {
    this.medium = medium
  }

  hold(row: HoldRow): void {
    checkHold(row)
    this.holds.push(row)
    this.schedule()
  }

  settle(row: SettleRow): void {
    checkSettle(row)
    if (this.refused.size > 0 && this.refused.delete(row.seq)) return
    this.settles.push(row)
    this.schedule()
  }

  /** True where something waits: a retry after a failure, or this turn's rows. */
  get pending(): boolean {
    return this.holds.length > 0 || this.settles.length > 0
  }

  committed(): Promise<void> {
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
      if (this.refused.size <= MOST_REFUSED) break
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

/** The journal that has nothing behind its queue but memory: for tests, and for a gateway that may forget. */
export class MemoryJournal implements Journal {
  private readonly holds = new Map<number, HoldRow>()
  private readonly settlements = new Map<number, SettleRow>()
  /** Sums of generations that have been removed, by key, payer and day. */
  private readonly removed = new Map<string, Charge>()
  private readonly queue: BatchQueue
  private last = 0
  readonly entries = new MemoryEntries()

  constructor(report: (news: BatchNews) => void = () => {}) {
    this.queue = new BatchQueue({
      write: (holds, settles) => {
        for (const row of holds) {
          const known = this.holds.get(row.seq)
          if (known && known.tag !== row.tag) report({ kind: 'duplicate', seq: row.seq })
          else this.holds.set(row.seq, known ? { ...known, hold: row.hold, floor: row.floor } : row)
        }
        for (const row of settles) {
          if (this.settlements.has(row.seq)) report({ kind: 'duplicate', seq: row.seq })
          else {
            this.settlements.set(row.seq, row)
            for (const entry of lossesOf(row, () => this.holds.get(row.seq))) this.entries.insert(entry)
          }
        }
      },
      knows: (seq) => this.holds.has(seq),
      refused: (cause) => report({ kind: 'refused', cause }),
    })
  }

  hold(row: HoldRow): void {
    this.queue.hold(row)
    if (row.seq > this.last) this.last = row.seq
  }

  settle(row: SettleRow): void {
    this.queue.settle(row)
  }

  committed(): Promise<void> {
    return this.queue.committed()
  }

  lastSeq(): number {
    return this.last
  }

  unsettled(): Reconciliation {
    this.queue.flush()
    const open = [...this.holds.values()].filter(({ seq }) => !this.settlements.has(seq))
    return recoveryOf(open.sort((a, b) => a.seq - b.seq))
  }

  reconcile(): Reconciliation {
    const found = this.unsettled()
    for (const [seq, hold] of this.holds) if (!this.settlements.has(seq)) this.settlements.set(seq, unknownSettlement(seq, hold.floor))
    return found
  }

  spent(): Map<string, bigint> {
    return sumByAccount(this.charges(Number.MAX_SAFE_INTEGER))
  }

  *charges(since: number): Iterable<DatedCharges> {
    const first = Math.floor(since / DAY_MS) * DAY_MS
    for (const charge of [...this.removed.values(), ...this.moved(), ...this.chargesOf(this.settlements.values())])
      yield { ...charge, days: charge.day >= first ? [charge] : [] }
  }

  carried(): Map<string, bigint> {
    return sumByAccount([...this.removed.values(), ...this.moved()])
  }

  /** Removes the oldest settled generations admitted before a moment; their sums stay. */
  prune(before: number, most: number): number {
    const old = [...this.settlements.values()].filter(({ seq }) => seq < before * TICKS).sort((a, b) => a.seq - b.seq)
    const batch = old.slice(0, most)
    for (const charge of this.chargesOf(batch)) addTo(this.removed, charge)
    for (const { seq } of batch) {
      this.holds.delete(seq)
      this.settlements.delete(seq)
    }
    return batch.length
  }

  /** What entries have moved. */
  private *moved(): Iterable<Charge> {
    for (const { key, payer, countedAt, nano } of this.entries.moves(0, Number.POSITIVE_INFINITY))
      yield { key, payer, day: Math.floor(countedAt / DAY_MS) * DAY_MS, cost: BigInt(nano) }
  }

  private *chargesOf(settlements: Iterable<SettleRow>): Iterable<Charge> {
    for (const row of settlements) {
      const hold = this.holds.get(row.seq)
      const day = Math.floor(chargedAt(row) / DAY_MS) * DAY_MS
      if (hold) yield { key: hold.key, payer: hold.payer, day, cost: BigInt(row.cost) }
    }
  }

  find(id: string): GenerationRecord | undefined {
    return findRecord(
      id,
      (seq) => this.queue.queuedHold(seq) ?? this.holds.get(seq),
      (seq) => this.settlements.get(seq) ?? this.queue.queuedSettle(seq),
    )
  }

  *export(since = 0): Iterable<GenerationRecord> {
    this.queue.flush()
    const rows = [...this.holds.values()].sort((a, b) => a.seq - b.seq)
    for (const hold of rows) {
      const record = recordOf(hold, this.settlements.get(hold.seq))
      if (record.at >= since) yield record
    }
  }

  /** Of those named only the settled ones go. */
  forget(seqs: readonly number[]): void {
    for (const seq of seqs) if (this.settlements.delete(seq)) this.holds.delete(seq)
  }

  /** Of generations named by their sequence, those that are settled and committed, with their tags. */
  settledAmong(seqs: readonly number[]): Map<number, string> {
    const found = new Map<number, string>()
    for (const seq of seqs) {
      const tag = this.settlements.has(seq) ? this.holds.get(seq)?.tag : undefined
      if (tag !== undefined) found.set(seq, tag)
    }
    return found
  }

  close(): void {
    this.queue.flush()
  }
}

/** Charges of one key on one day. */
type Charge = KeyCharges & DayCharge

function addTo(sums: Map<string, Charge>, charge: Charge): void {
  const name = JSON.stringify([charge.day, charge.key, charge.payer])
  sums.set(name, { ...charge, cost: (sums.get(name)?.cost ?? 0n) + charge.cost })
}
