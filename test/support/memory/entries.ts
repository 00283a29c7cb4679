/** Entries of the ledger of a gateway that may forget. */
import { type EntryRefusal, entryMove, type LedgerEntry, type Move, type NewEntry, refuseEntry } from '../../../src/core/ledger-entries.ts'
import { chargedAccounts } from '../../../src/core/payers.ts'
import type { EntryQuery, EntrySum, LocalEntries } from '../../../src/ledger/entries.ts'

export class MemoryEntries implements LocalEntries {
  moved: LocalEntries['moved']
  spent: LocalEntries['spent']
  private readonly all: LedgerEntry[] = []

  /** One that is there already stays. */
  insert(entry: NewEntry): void {
    if (!this.all.some(({ id }) => id === entry.id)) this.all.push({ ...entry, number: this.all.length + 1 })
  }

  add(entry: NewEntry): LedgerEntry | EntryRefusal {
    const known = entry.once === undefined ? undefined : this.all.find(({ once }) => once === entry.once)
    if (known) return known
    const of = this.all.find(({ id }) => id === entry.settles)
    const settled = of && { amount: of.amount, already: this.settling(of.id).reduce((sum, { amount }) => sum + amount, 0) }
    const spent = chargedAccounts(entry).map((account) => this.spent?.(account) ?? 0n)
    const refusal = refuseEntry(entry, { settled, spent })
    if (refusal) return refusal
    const added: LedgerEntry = { ...entry, number: this.all.length + 1 }
    this.all.push(added)
    const move = entryMove(added)
    if (move) this.moved?.(move)
    return added
  }

  page({ after, newestFirst = false, limit, key, kind, id, generation }: EntryQuery): LedgerEntry[] {
    const sought = (entry: LedgerEntry): boolean =>
      (after === 0 || (newestFirst ? entry.number < after : entry.number > after)) &&
      (generation === undefined || (entry.generation?.seq === generation.seq && entry.generation.tag === generation.tag)) &&
      (key === undefined || entry.key === key) &&
      (kind === undefined || entry.kind === kind) &&
      (id === undefined || entry.id === id)
    return (newestFirst ? this.all.toReversed() : this.all).filter(sought).slice(0, limit)
  }

  sums(keys?: readonly string[]): EntrySum[] {
    const sums = new Map<string, { -readonly [Name in keyof EntrySum]: EntrySum[Name] }>()
    for (const { id, key, kind, amount } of this.all) {
      if (keys && !keys.includes(key)) continue
      const sum = sums.get(`${kind} ${key}`) ?? { key, kind, amount: 0n, settled: 0n }
      sum.amount += BigInt(amount)
      for (const other of this.settling(id)) sum.settled += BigInt(other.amount)
      sums.set(`${kind} ${key}`, sum)
    }
    return [...sums.values()]
  }

  moves(from: number, until: number): Move[] {
    return this.all
      .filter(({ countedAt }) => countedAt > 0 && countedAt >= from && countedAt < until)
      .flatMap((entry) => entryMove(entry) ?? [])
  }

  private settling(id: string): LedgerEntry[] {
    return this.all.filter(({ settles }) => settles === id)
  }
}
