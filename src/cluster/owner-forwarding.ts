/**
 * Rows of workers on their way to the store of record: gathered from all of them, and forwarded under the name of their owner. Each stays in
 * the journal of its worker until the record has it, so the owner keeps none of its own on a disk.
 */
import type { Clock } from '../core/clock.ts'
import { checkHold, checkSettle } from '../store/batch.ts'
import type { SettledRows, StoreOfRecord } from '../store/record.ts'
import { Forwarding } from './forwarding.ts'
import { type ClusterReport, unreachable } from './record-calls.ts'

export interface OwnerForwardingOptions {
  /** Name of the owner at the record. */
  readonly node: string
  readonly record: Pick<StoreOfRecord, 'take'>
  readonly clock: Clock
  /** The record has taken rows that `take` had reported as new. */
  readonly taken: (rows: readonly SettledRows[]) => void
  readonly report: (report: ClusterReport) => void
}

/** Rows of one worker that are handed in together. */
interface Call {
  /** Those that the record does not have yet. */
  missing: number
  resolve(): void
  reject(thrown: unknown): void
}

interface Arrival {
  readonly row: SettledRows
  /** Calls that wait for it: a worker that was not answered in time hands its rows in again. */
  calls: Call[]
}

/** Milliseconds for which rows of one worker wait for those of others: they have waited in their workers before. */
const GATHER_MS = 100
/**
 * Sequences of rows that are remembered once the record has them. A worker whose answer was lost hands in the same 500 at most again, and
 * there are 63 workers.
 */
const MAX_KNOWN = 65_536

const ignore = (): void => {}

export class OwnerForwarding {
  private readonly arrivals = new Map<number, Arrival>()
  /** Taken of late, the oldest first. */
  private readonly known = new Set<number>()
  private readonly forwarding: Forwarding
  private closed = false

  constructor({ node, record, clock, taken, report }: OwnerForwardingOptions) {
    const journal = { export: () => this.waiting(), forget: ignore, lastSeq: () => 0 }
    const take: StoreOfRecord['take'] = async (name, rows) => {
      try {
        await record.take(name, rows)
      } catch (thrown) {
        this.failed(thrown)
        throw thrown
      }
    }
    const arrived = (rows: readonly SettledRows[]): void => {
      taken(rows)
      this.arrived(rows)
    }
    this.forwarding = new Forwarding({ node, record: { take }, journal, clock, taken: arrived, gather: GATHER_MS, report }, new Set())
    this.forwarding.flush().catch(ignore)
  }

  /**
   * Resolves once the record has all of them.
   * @param fresh called at once for each row that has not been handed in before.
   * @throws Fault `unavailable`: then those that are missing are tried again here, also before they are handed in again.
   */
  take(rows: readonly SettledRows[], fresh: (row: SettledRows) => void): Promise<void> {
    if (this.closed) return Promise.reject(unreachable(new Error('the owner of the workers has closed')))
    // Checked before any is counted: what is counted will be forwarded.
    for (const { hold, settled } of rows) {
      checkHold(hold)
      checkSettle(settled)
    }
    return new Promise((resolve, reject) => {
      const call: Call = { missing: 0, resolve, reject }
      for (const row of rows) {
        const { seq } = row.hold
        if (this.known.has(seq)) continue
        call.missing++
        const before = this.arrivals.get(seq)
        if (before) before.calls.push(call)
        else {
          this.arrivals.set(seq, { row, calls: [call] })
          fresh(row)
          this.forwarding.add(row)
        }
      }
      if (call.missing === 0) resolve()
    })
  }

  /** Forwards all that waits. @throws Fault `unavailable`. */
  flush(): Promise<void> {
    return this.forwarding.flush()
  }

  /** See `Forwarding.between`. */
  between<T>(read: () => Promise<T>): Promise<T> {
    return this.forwarding.between(read)
  }

  /** Tries once more; what the record does not take stays in the journals of the workers. */
  async close(): Promise<void> {
    await this.forwarding.close()
    this.closed = true
    this.failed(new Error('the owner of the workers has closed'))
  }

  private *waiting(): Generator<SettledRows> {
    for (const { row } of this.arrivals.values()) yield row
  }

  private arrived(rows: readonly SettledRows[]): void {
    for (const { hold } of rows) {
      const calls = this.arrivals.get(hold.seq)?.calls ?? []
      this.arrivals.delete(hold.seq)
      this.known.add(hold.seq)
      for (const call of calls) if (--call.missing === 0) call.resolve()
    }
    for (const oldest of this.known) {
      if (this.known.size <= MAX_KNOWN) break
      this.known.delete(oldest)
    }
  }

  /** Workers hand in again what is missing; nothing is counted twice by that. */
  private failed(thrown: unknown): void {
    const calls = new Set<Call>()
    for (const arrival of this.arrivals.values()) {
      for (const call of arrival.calls) calls.add(call)
      arrival.calls = []
    }
    for (const call of calls) call.reject(unreachable(thrown))
  }
}
