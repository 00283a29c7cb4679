/** The plainest journal: nothing stands behind its queue but maps. Models compare the others with it. */
import { entryLosses } from '../../../src/core/ledger-entries.ts'
import { noRowCounts } from '../../../src/core/row-counts.ts'
import type {
  DatedCharges,
  DayCharge,
  GenerationRecord,
  HoldRow,
  Journal,
  KeyCharges,
  Reconciliation,
  SettleRow,
} from '../../../src/ledger/types.ts'
import { BatchQueue, type BatchReport } from '../../../src/store/batch.ts'
import { planRecovery } from '../../../src/store/recovery.ts'
import { chargedAt, DAY_MS, findRecord, joinRecord, sumByAccount, TICKS } from '../../../src/store/rows.ts'
import { MemoryEntries } from './entries.ts'
import { ledgerOfRows } from './ledger.ts'

export class MemoryJournal implements Journal {
  private readonly holds = new Map<number, HoldRow>()
  private readonly settlements = new Map<number, SettleRow>()
  /** Sums of generations that have been removed, by key, payer and day. */
  private readonly removed = new Map<string, Charge>()
  private readonly queue: BatchQueue
  private last = 0
  readonly entries = new MemoryEntries()
  readonly ledger = ledgerOfRows(this)

  constructor(report: (report: BatchReport) => void = () => {}) {
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
            for (const entry of entryLosses(row, () => this.holds.get(row.seq))) this.entries.insert(entry)
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
    return planRecovery(open.sort((a, b) => a.seq - b.seq))
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
    for (const charge of [...this.removed.values(), ...this.moved(), ...this.settlementCharges(this.settlements.values())])
      yield { ...charge, days: charge.day >= first ? [charge] : [] }
  }

  carried(): Map<string, bigint> {
    return sumByAccount([...this.removed.values(), ...this.moved()])
  }

  /** Removes the oldest settled generations admitted before a moment; their sums stay. */
  prune(before: number, most: number): number {
    const old = [...this.settlements.values()].filter(({ seq }) => seq < before * TICKS).sort((a, b) => a.seq - b.seq)
    const batch = old.slice(0, most)
    for (const charge of this.settlementCharges(batch)) addTo(this.removed, charge)
    for (const { seq } of batch) {
      this.holds.delete(seq)
      this.settlements.delete(seq)
    }
    return batch.length
  }

  /** Charges that entries have moved. */
  private *moved(): Iterable<Charge> {
    for (const { key, payer, countedAt, nano } of this.entries.moves(0, Number.POSITIVE_INFINITY))
      yield { key, payer, day: Math.floor(countedAt / DAY_MS) * DAY_MS, cost: BigInt(nano) }
  }

  private *settlementCharges(settlements: Iterable<SettleRow>): Iterable<Charge> {
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
      const record = joinRecord(hold, this.settlements.get(hold.seq))
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

/** The settlement of a hold whose outcome a crash took with it: charged at the floor, flagged. */
function unknownSettlement(seq: number, floor: number): SettleRow {
  return {
    seq,
    status: 'unknown',
    cost: floor,
    at: 0,
    ...noRowCounts(),
    estimated: true,
    facts: '{}',
  }
}
