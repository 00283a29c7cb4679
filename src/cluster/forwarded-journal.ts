/** The journal of a process whose rows go on to the store of record: the same journal, looked at in passing. */
import type { Clock, Timer } from '../core/clock.ts'
import { generationId } from '../core/ids.ts'
import type { DatedCharges, GenerationRecord, HoldRow, Journal, Reconciliation, SettleRow } from '../ledger/types.ts'
import type { SettledRows } from '../store/record.ts'

export interface Onward {
  /** A generation is settled; its rows are not committed yet. */
  noted(row: SettledRows): void
  /** Its rows are committed: it may be forwarded. */
  committed(row: SettledRows): void
  /** The journal has refused it for good: the upstream was never called. */
  dropped(row: SettledRows): void
}

/** Rows of one commit. */
interface Batch {
  readonly promise: Promise<void>
  readonly holds: number[]
  readonly rows: SettledRows[]
  over: boolean
}

/** Milliseconds between two looks at settlements that the journal could not write. */
const LOOK_AGAIN = 1_000

export class ForwardedJournal implements Journal {
  /** Settled generations of which it is not known yet whether they are committed. */
  readonly uncommitted = new Set<number>()
  private readonly inner: Journal
  private readonly clock: Pick<Clock, 'after'>
  private readonly onward: Onward
  private readonly open = new Map<number, HoldRow>()
  /** Open generations whose hold was in a refused commit: perhaps no file knows them. */
  private readonly doubted = new Set<number>()
  /** Settled generations that a refused commit left undecided. */
  private undecided: SettledRows[] = []
  private looking: Timer | undefined
  private ended = false
  private batch: Batch | undefined

  constructor(inner: Journal, clock: Pick<Clock, 'after'>, onward: Onward) {
    this.inner = inner
    this.clock = clock
    this.onward = onward
  }

  hold(row: HoldRow): void {
    this.inner.hold(row)
    this.open.set(row.seq, row)
    this.current().holds.push(row.seq)
  }

  settle(row: SettleRow): void {
    this.inner.settle(row)
    const hold = this.open.get(row.seq)
    if (!hold) return
    this.open.delete(row.seq)
    const settled: SettledRows = { hold, settled: row }
    this.uncommitted.add(row.seq)
    this.onward.noted(settled)
    if (this.doubted.delete(row.seq)) this.decideLater([settled])
    else this.current().rows.push(settled)
  }

  committed(): Promise<void> {
    return this.inner.committed()
  }

  lastSeq(): number {
    return this.inner.lastSeq()
  }

  reconcile(): Reconciliation {
    return this.inner.reconcile()
  }

  unsettled(): Reconciliation {
    return this.inner.unsettled()
  }

  charges(since: number): Iterable<DatedCharges> {
    return this.inner.charges(since)
  }

  spent(): Map<string, bigint> {
    return this.inner.spent()
  }

  find(id: string): GenerationRecord | undefined {
    return this.inner.find(id)
  }

  export(since?: number): Iterable<GenerationRecord> {
    return this.inner.export(since)
  }

  forget(seqs: readonly number[]): void {
    this.inner.forget(seqs)
  }

  close(): void {
    this.end()
    this.inner.close()
  }

  /** Nothing is handed on any more; the journal itself goes on. */
  end(): void {
    this.ended = true
    this.looking?.cancel()
  }

  /** Rows of the commit of this turn. */
  private current(): Batch {
    const promise = this.inner.committed()
    if (this.batch && !this.batch.over && this.batch.promise === promise) return this.batch
    const batch: Batch = { promise, holds: [], rows: [], over: false }
    this.batch = batch
    promise.then(
      () => {
        batch.over = true
        for (const row of batch.rows) this.commit(row)
      },
      () => {
        batch.over = true
        for (const seq of batch.holds) if (this.open.has(seq)) this.doubted.add(seq)
        this.decideLater(batch.rows)
      },
    )
    return batch
  }

  private commit(row: SettledRows): void {
    this.uncommitted.delete(row.hold.seq)
    this.onward.committed(row)
  }

  private decideLater(rows: readonly SettledRows[]): void {
    this.undecided.push(...rows)
    if (this.looking || this.ended || this.undecided.length === 0) return
    this.looking = this.clock.after(LOOK_AGAIN, () => {
      this.looking = undefined
      this.inner
        .committed()
        .then(() => this.decide())
        .catch(() => this.decideLater([]))
    })
  }

  /** All that was queued has been written: what is not there now never will be. @throws what the journal throws. */
  private decide(): void {
    for (const row of this.ended ? [] : [...this.undecided]) {
      const { seq, tag } = row.hold
      const { settled } = this.inner.find(generationId(seq, tag)) ?? {}
      this.undecided.shift()
      if (settled) this.commit(row)
      else {
        this.uncommitted.delete(seq)
        this.onward.dropped(row)
      }
    }
  }
}
