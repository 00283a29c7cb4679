/** Entries of the ledger beside its generations, as a store keeps them. */
import type { Origin } from '../core/audit-entries.ts'
import { methodNames } from '../core/forwarded.ts'
import type { EntryKind, EntryRefusal, LedgerEntry, Move, NewEntry } from '../core/ledger-entries.ts'
import type { LedgerPart } from './types.ts'

export interface EntryQuery {
  /** `number` of the entry behind which the page begins; 0 begins. */
  readonly after: number
  /** The newest first; else the oldest. */
  readonly newestFirst?: boolean | undefined
  readonly limit: number
  /** Identity. */
  readonly key?: string | undefined
  readonly within?: LedgerPart | undefined
  readonly kind?: EntryKind | undefined
  readonly id?: string | undefined
  /** Only those about this generation; with its key, so that no more than the entries of a key are read. */
  readonly generation?: LedgerEntry['generation']
}

/** Nano-dollars of one key and kind. */
export interface EntrySum {
  readonly key: string
  readonly kind: EntryKind
  readonly amount: bigint
  /** Of `unrecovered` and `disputed`: how much of it other entries have settled. */
  readonly settled: bigint
}

export interface LedgerEntries {
  /**
   * Adds an entry and moves what its key has spent, in one step with its entry in the audit log. One with a known `once` adds nothing, and
   * the first one is returned.
   * @param by by default: the gateway itself.
   * @throws Fault `unavailable`.
   */
  add(entry: NewEntry, by?: Origin): LedgerEntry | EntryRefusal | Promise<LedgerEntry | EntryRefusal>
  page(query: EntryQuery): LedgerEntry[] | Promise<LedgerEntry[]>
  /** @param keys identities; absent: all. */
  sums(keys?: readonly string[]): EntrySum[] | Promise<EntrySum[]>
  /** Returns the moves of entries that count from `from` on and before `until` (milliseconds since the epoch). */
  moves(from: number, until: number): Move[] | Promise<Move[]>
}

export const LEDGER_ENTRIES = methodNames<LedgerEntries>({ add: true, page: true, sums: true, moves: true })

/** Entries beside balances in memory: these follow what is committed. */
export interface LocalEntries extends LedgerEntries {
  /** Is called with what an entry has moved. */
  moved: ((move: Move) => void) | undefined
  /** Nano-dollars that a key has spent. */
  spent: ((key: string) => bigint) | undefined
  moves(from: number, until: number): Move[]
}
