/**
 * The read side of the ledger: plain calls of a process that has the store, and the one list of their names, by which other processes and stores
 * forward them. A new list over the ledger is one more method of `LedgerReads`.
 */
import { methodNames } from '../core/forwarded.ts'
import type { ChargeQuery, ChargeStatement } from './charge-sums.ts'
import type { LedgerEntries } from './entries.ts'
import type { ExtremeList, ExtremeQuery, SliceList, SliceQuery } from './slices/slice-types.ts'
import type { ByokUse, ByokUseQuery, FoundPage, GenerationRecord, GenerationSearch, LedgerReaders, RecordedWindows, Sums } from './types.ts'
import type { SessionList, SessionMove, SessionName, SessionQuery, SessionSlice, SessionUse, UseQuery, UseRow } from './use-types.ts'

export interface LastUse {
  /** Identity. */
  readonly key: string
  /** Milliseconds since the epoch: the beginning of the minute. */
  readonly at: number
}

/** Reads of the store. All of them throw Fault `unavailable` where the store does not answer. */
export interface LedgerReads {
  find(id: string): Promise<GenerationRecord | undefined>
  /** Settled nano-dollars per key; what a key charged counts also at the key that issued it through sign-in. */
  spent(): Promise<Sums>
  /** The part of it whose generations have been pruned. */
  carried(): Promise<Sums>
  /** Of the part that has been pruned, what the reader of `ledger verify` had not read: all that ever was. */
  removedUnread(): Promise<Sums>
  /** Use of keys that teams have brought, as far as it is settled. */
  byokUse(query: ByokUseQuery): Promise<readonly ByokUse[]>
  /**
   * The minute of the last request of each of these keys, as far as requests are kept, by an index. Keys without one are left out.
   * @param keys identities.
   */
  lastUses(keys: readonly string[]): Promise<readonly LastUse[]>
  /** Undefined where the sums of windows are computed from the generations at every start. */
  windows(): Promise<RecordedWindows | undefined>
  /**
   * Sums of the generations of a query, without what entries have moved.
   * @throws Fault 400 where there are too many of them by key.
   */
  use(query: UseQuery): Promise<readonly UseRow[]>
  /**
   * Has the sums of use made anew from the generations that are there; figures stay right meanwhile.
   * @returns milliseconds since the epoch: from this day on.
   */
  rebuildUse(): Promise<number>
  /** Sums of whole days with the entries that count in them, all of one moment. @throws Fault 400 where there are too many. */
  charges(query: ChargeQuery): Promise<ChargeStatement>
  /** Sessions that have generations in the period of the query, in no order. @throws Fault 400 where there are too many. */
  sessionNames(query: SessionQuery): Promise<readonly SessionName[]>
  /** Sums of those sessions in the period of the query, in no order; each generation counts once. */
  sessionSums(query: SessionQuery, of: readonly SessionName[]): Promise<readonly SessionUse[]>
  /** Moves of entries about the generations of these sessions, whenever the entries were added. */
  sessionMoves(query: SessionQuery): Promise<readonly SessionMove[]>
  /**
   * Generations, the newest first, as far as a call finds them within a short time.
   * @param before `<seq> <tag>`, or '' to begin.
   */
  search(query: GenerationSearch, before: string): Promise<FoundPage>
}

/** Lists of operations: scans of the store that are shared by all who ask, and kept for a while. */
export interface LedgerLists {
  /**
   * Sums per day, model, endpoint and provider, with what entries have moved.
   * @param query whole UTC days. @throws Fault `unavailable` where too many scans wait, or the ledger cannot be read.
   */
  use(query: UseQuery): Promise<readonly UseRow[]>
  /**
   * Sums per session, the one that was used last first.
   * @throws Fault 400 where there are too many sessions; `unavailable` where too many scans wait, or the ledger cannot be read.
   */
  sessions(query: SessionQuery, slice: SessionSlice): Promise<SessionList>
  /** Generations, the newest first. @param before `<seq> <tag>`, or '' to begin. @throws Fault `unavailable` where too many searches run. */
  search(query: GenerationSearch, before: string): Promise<FoundPage>
  /** As `LedgerReads.charges`: what was settled before the call is in it. @throws Fault 400, and `unavailable` where too many scans wait. */
  charges(query: ChargeQuery): Promise<ChargeStatement>
  /**
   * Sums and percentiles of a range by what stands apart, as far as its generations are read by now; the reply says how far.
   * @throws Fault 400 where there are too many groups; `unavailable` where too many calls run, or the ledger cannot be read.
   */
  slices(query: SliceQuery): Promise<SliceList>
  /** Generations of a range with the most of a measure. @throws as `slices`. */
  extremes(query: ExtremeQuery): Promise<ExtremeList>
}

/** Read access to the ledger: that of a process alone, or of the store of record behind several. */
export interface LedgerReader extends LedgerReads {
  /** Generations in order of their sequence: all, or those admitted at `since` (milliseconds since the epoch) or later. */
  export(since?: number): Iterable<GenerationRecord> | AsyncIterable<GenerationRecord>
  /** Entries beside the generations, such as corrections. */
  readonly entries: LedgerEntries
  /** Scans of the ledger step by step; undefined where another process keeps how far they have come. */
  readonly readers: LedgerReaders | undefined
  /** Lists of the process that has the store; undefined where this one makes them. */
  readonly lists: LedgerLists | undefined
}

export const LEDGER_READS = methodNames<LedgerReads>({
  find: true,
  spent: true,
  carried: true,
  removedUnread: true,
  byokUse: true,
  lastUses: true,
  windows: true,
  use: true,
  charges: true,
  rebuildUse: true,
  sessionNames: true,
  sessionSums: true,
  sessionMoves: true,
  search: true,
})

export const LEDGER_LISTS = methodNames<LedgerLists>({
  use: true,
  sessions: true,
  search: true,
  charges: true,
  slices: true,
  extremes: true,
})
