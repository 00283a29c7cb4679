/** The store's contracts in memory: for tests, and for a gateway that may forget. */
import type { Clock } from '../core/clock.ts'
import type { DayCharge, GenerationRecord, HoldRow, Journal, SettleRow } from '../ledger/types.ts'
import { BatchQueue } from './batch.ts'
import type { JournalNews } from './journal.ts'
import type { KeyRecord, KeyStore, StoredKey } from './keys.ts'
import { chargedAt, checkHold, checkSettle, DAY_MS, findRecord, recordOf, unknownSettlement } from './rows.ts'

export class MemoryJournal implements Journal {
  private readonly holds = new Map<number, HoldRow>()
  private readonly settlements = new Map<number, SettleRow>()
  private readonly queue: BatchQueue
  private last = 0

  constructor(report: (news: JournalNews) => void = () => {}) {
    this.queue = new BatchQueue({
      write: (holds, settles) => {
        for (const row of holds) {
          const known = this.holds.get(row.seq)
          if (known && known.tag !== row.tag) report({ kind: 'duplicate', seq: row.seq })
          else this.holds.set(row.seq, known ? { ...known, hold: row.hold, floor: row.floor } : row)
        }
        for (const row of settles) {
          if (this.settlements.has(row.seq)) report({ kind: 'duplicate', seq: row.seq })
          else this.settlements.set(row.seq, row)
        }
      },
      knows: (seq) => this.holds.has(seq),
      refused: (cause) => report({ kind: 'refused', cause }),
    })
  }

  hold(row: HoldRow): void {
    checkHold(row)
    if (row.seq > this.last) this.last = row.seq
    this.queue.hold(row)
  }

  settle(row: SettleRow): void {
    checkSettle(row)
    this.queue.settle(row)
  }

  committed(): Promise<void> {
    return this.queue.committed()
  }

  lastSeq(): number {
    return this.last
  }

  reconcile(): { count: number; charged: number } {
    this.queue.flush()
    const done = { count: 0, charged: 0 }
    for (const [seq, hold] of this.holds) {
      if (this.settlements.has(seq)) continue
      this.settlements.set(seq, unknownSettlement(seq, hold.floor))
      done.count++
      done.charged += hold.floor
    }
    return done
  }

  spent(): Map<string, number> {
    const sums = new Map<string, number>()
    for (const { seq, cost } of this.settlements.values()) {
      const key = this.holds.get(seq)?.key
      if (key !== undefined) sums.set(key, Math.min((sums.get(key) ?? 0) + cost, Number.MAX_SAFE_INTEGER))
    }
    return sums
  }

  spentByDay(since: number): Iterable<DayCharge> {
    const first = Math.floor(since / DAY_MS) * DAY_MS
    const sums = new Map<string, DayCharge>()
    for (const row of this.settlements.values()) {
      const key = this.holds.get(row.seq)?.key
      const day = Math.floor(chargedAt(row) / DAY_MS) * DAY_MS
      if (key === undefined || day < first) continue
      const name = `${day} ${key}`
      const cost = Math.min((sums.get(name)?.cost ?? 0) + row.cost, Number.MAX_SAFE_INTEGER)
      sums.set(name, { key, day, cost })
    }
    return sums.values()
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

  close(): void {
    this.queue.flush()
  }
}

export class MemoryKeys implements KeyStore {
  private readonly keys = new Map<string, StoredKey>()
  private readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
  }

  find(hash: string): StoredKey | undefined {
    return this.keys.get(hash)
  }

  put(key: KeyRecord): StoredKey {
    const now = Math.floor(this.clock.now())
    const { identity, createdAt } = this.keys.get(key.hash) ?? { identity: key.hash, createdAt: now }
    return this.keep({ ...structuredClone(key), identity, createdAt, updatedAt: now })
  }

  change(hash: string, how: (key: StoredKey) => KeyRecord): StoredKey | undefined {
    const found = this.keys.get(hash)
    if (!found) return undefined
    const changed = structuredClone(how(found))
    this.keys.delete(hash)
    const { identity, createdAt } = found
    return this.keep({ ...changed, identity, createdAt, updatedAt: Math.floor(this.clock.now()) })
  }

  remove(hash: string): boolean {
    return this.keys.delete(hash)
  }

  list(): StoredKey[] {
    return [...this.keys.values()].sort((a, b) => a.createdAt - b.createdAt || (a.hash < b.hash ? -1 : 1))
  }
  private keep(key: StoredKey): StoredKey {
    this.keys.set(key.hash, key)
    return key
  }
}
