/** The store's contracts in memory: for tests, and for a gateway that may forget. */
import type { Clock } from '../core/clock.ts'
import type { DayCharge, GenerationRecord, HoldRow, Journal, KeyCharges, Reconciliation, SettleRow } from '../ledger/types.ts'
import { BatchQueue } from './batch.ts'
import type { EventStore } from './events.ts'
import type { JournalNews } from './journal.ts'
import { keyEvents } from './key-events.ts'
import type { KeyRecord, KeyStore, StoredKey } from './keys.ts'
import { recoveryOf } from './recovery.ts'
import { chargedAt, DAY_MS, findRecord, recordOf, sumByAccount, TICKS, unknownSettlement } from './rows.ts'

export class MemoryJournal implements Journal {
  private readonly holds = new Map<number, HoldRow>()
  private readonly settlements = new Map<number, SettleRow>()
  /** Sums of generations that have been removed, by key, payer and day. */
  private readonly removed = new Map<string, Charge>()
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
    return sumByAccount(this.charges())
  }

  *charges(): Iterable<KeyCharges> {
    yield* this.removed.values()
    yield* this.chargesOf(this.settlements.values())
  }

  carried(): Map<string, bigint> {
    return sumByAccount(this.removed.values())
  }

  spentByDay(since: number): Iterable<DayCharge> {
    const first = Math.floor(since / DAY_MS) * DAY_MS
    const sums = new Map<string, Charge>()
    for (const { key, payer, day, cost } of [...this.removed.values(), ...this.chargesOf(this.settlements.values())]) {
      addTo(sums, { key, payer: undefined, day, cost })
      if (payer !== undefined) addTo(sums, { key: payer, payer: undefined, day, cost })
    }
    return [...sums.values()].filter(({ day }) => day >= first).map(({ key, day, cost }) => ({ key, day, cost }))
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

export class MemoryKeys implements KeyStore {
  private readonly keys = new Map<string, StoredKey>()
  private readonly clock: Clock
  private readonly events: Pick<EventStore, 'add'> | undefined

  /** @param events takes what changes of keys are. */
  constructor(clock: Clock, events?: Pick<EventStore, 'add'>) {
    this.clock = clock
    this.events = events
  }

  atHand(hash: string): StoredKey | undefined {
    return this.keys.get(hash)
  }

  find(hash: string): StoredKey | undefined {
    return this.keys.get(hash)
  }

  put(key: KeyRecord): StoredKey {
    const now = Math.floor(this.clock.now())
    const before = this.keys.get(key.hash)
    const { identity, createdAt } = before ?? { identity: key.hash, createdAt: now }
    return this.keep({ ...structuredClone(key), identity, createdAt, updatedAt: now }, before)
  }

  change(hash: string, how: (key: StoredKey) => KeyRecord): StoredKey | undefined {
    const found = this.keys.get(hash)
    if (!found) return undefined
    const changed = structuredClone(how(found))
    this.keys.delete(hash)
    const { identity, createdAt } = found
    return this.keep({ ...changed, identity, createdAt, updatedAt: Math.floor(this.clock.now()) }, found)
  }

  remove(hash: string): boolean {
    const before = this.keys.get(hash)
    if (before) this.events?.add(keyEvents(before, undefined, this.clock.now()))
    return this.keys.delete(hash)
  }

  list(): StoredKey[] {
    return [...this.keys.values()].sort((a, b) => a.createdAt - b.createdAt || (a.hash < b.hash ? -1 : 1))
  }

  issuedBy(by: string, now: number): StoredKey[] {
    return [...this.keys.values()].filter(({ consent, expiresAt }) => consent?.by === by && (expiresAt === null || expiresAt > now))
  }

  listAfter(hash: string, most: number): StoredKey[] {
    const behind = [...this.keys.values()].filter((key) => key.hash > hash)
    return behind.sort((a, b) => (a.hash < b.hash ? -1 : 1)).slice(0, most)
  }

  private keep(key: StoredKey, before: StoredKey | undefined): StoredKey {
    this.keys.set(key.hash, key)
    this.events?.add(keyEvents(before, key, this.clock.now()))
    return key
  }
}
