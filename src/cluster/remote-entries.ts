/** Entries of the ledger in a worker, and the owner's answers to their calls. */
import type { EntryRefusal, LedgerEntry, Move, NewEntry } from '../core/ledger-entries.ts'
import type { EntryQuery, EntrySum, LedgerEntries } from '../ledger/entries.ts'
import type { Answers, Line } from './ipc-line.ts'
import { entrySumFrom, type OwnerOffer, sentEntrySum, type WorkerOffer } from './messages.ts'

export class RemoteEntries implements LedgerEntries {
  private readonly line: Line<OwnerOffer, WorkerOffer>

  constructor(line: Line<OwnerOffer, WorkerOffer>) {
    this.line = line
  }

  add(entry: NewEntry): Promise<LedgerEntry | EntryRefusal> {
    return this.line.ask('entryAdd', entry)
  }

  page(query: EntryQuery): Promise<LedgerEntry[]> {
    return this.line.ask('entryPage', query)
  }

  async sums(keys?: readonly string[]): Promise<EntrySum[]> {
    return (await this.line.ask('entrySums', keys ?? null)).map(entrySumFrom)
  }

  moves(from: number, until: number): Promise<Move[]> {
    return this.line.ask('entryMoves', from, until)
  }
}

/** @param entries of the record; called for each request of a worker. */
export function entryAnswers(entries: () => LedgerEntries) {
  return {
    entryAdd: async (entry) => entries().add(entry),
    entryPage: async (query) => entries().page(query),
    entrySums: async (keys) => (await entries().sums(keys ?? undefined)).map(sentEntrySum),
    entryMoves: async (from, until) => entries().moves(from, until),
  } satisfies Partial<Answers<OwnerOffer>>
}
