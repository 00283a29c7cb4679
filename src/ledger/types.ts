/** Rows of the journal: one when money is reserved, one when it is settled. */

import type { DrawnNumbers } from '../core/ids.ts'
import type { RowCounts } from '../core/row-counts.ts'
import type { LimitReset } from '../plugin-api/key.ts'

export type {
  SessionList,
  SessionMove,
  SessionName,
  SessionNamePage,
  SessionPage,
  SessionQuery,
  SessionSlice,
  SessionUse,
  UseGroup,
  UsePage,
  UseQuery,
  UseRow,
} from './use-types.ts'

/** Written before the upstream is called. */
export interface HoldRow {
  /** Integer key, sequential in time; together with `tag` the generation's public id. */
  seq: number
  tag: string
  /** Identity of the key (its name in YAML, its hash in the store): survives reload and a new secret. */
  key: string
  /** Its payers (`core/payers.ts`): each is charged as well. Absent where there is none. */
  payer?: string | undefined
  model: string
  endpoint: string
  /** Nano-dollars reserved: the maximum over all candidates. */
  hold: number
  /** Nano-dollars of the hold's input part: the charge if the outcome stays unknown. */
  floor: number
}

/** Accounts that a generation is charged to, and the model and endpoint of its hold. */
export type HoldOwner = Pick<HoldRow, 'key' | 'payer' | 'model' | 'endpoint'>

export type SettleStatus = 'completed' | 'incomplete' | 'failed' | 'aborted' | 'unknown'

/** Written before the reply ends. Exactly one per hold. */
export interface SettleRow extends RowCounts {
  seq: number
  status: SettleStatus
  /** Nano-dollars charged. */
  cost: number
  /** Milliseconds since the epoch: the charge counts in the day of this moment. 0 if unknown; then that of the admission counts. */
  at: number
  estimated: boolean
  /** The rest of what `GET /v1/generation` shows, as JSON text. */
  facts: string
  /** Owner of the hold that it ends, where the writer has it at hand: no column, it only spares the store a look at the hold. */
  owner?: HoldOwner | undefined
  /** Facts that sums of use need, where the writer has it at hand: no column, it only spares the store a look at the facts. */
  use?: UseFacts | undefined
}

/** Facts by which sums of use are kept; '' where the facts have none, and the hold's own counts. */
export interface UseFacts {
  readonly model: string
  readonly endpoint: string
  readonly provider: string
  readonly session: string
  /** Nano-dollars that the provider's cache has saved. */
  readonly saved: number
}

/** A place in the order of the ledger: processes without a common store may draw the same sequence, so it alone is none. */
export type LedgerPlace = Pick<HoldRow, 'seq' | 'tag'>

/** A generation as it is read back; `settled` is undefined while the exchange is still open. */
export interface GenerationRecord {
  id: string
  /** Milliseconds since the epoch, from the sequence. */
  at: number
  hold: HoldRow
  settled: SettleRow | undefined
}

/** Which use of keys that teams have brought: by the day of the admission, milliseconds since the epoch. */
export interface ByokUseQuery {
  readonly from: number
  readonly until: number
  /** Identities, also of keys that have issued others; absent: of all keys. */
  readonly keys?: readonly string[] | undefined
}

/** Requests of one day that a key of a team paid for. Amounts are nano-dollars. */
export interface ByokUse {
  /** Start of the day, milliseconds since the epoch. */
  readonly day: number
  readonly key: string
  /** Identity of the key that issued this one; '' where there is none. */
  readonly payer: string
  readonly model: string
  readonly endpoint: string
  readonly provider: string
  readonly requests: number
  /** The provider's bill to the team, by the prices of the configuration. */
  readonly upstream: bigint
  /** The part of it that counts towards limits (`include_byok_in_limit`), and is among the costs of the ledger for that reason. */
  readonly counted: bigint
}

/** Charges of one UTC day. */
export interface DayCharge {
  /** Start of the day, milliseconds since the epoch. */
  day: number
  /** Nano-dollars. */
  cost: bigint
}

/** Charges of one key, which also count at each of its payers. */
export interface KeyCharges {
  key: string
  payer: string | undefined
  /** Nano-dollars. */
  cost: bigint
}

/** The same with the days from a moment on apart. */
export interface DatedCharges extends KeyCharges {
  days: readonly DayCharge[]
}

/** Nano-dollars by key identity. */
export type Sums = ReadonlyMap<string, bigint>

/** The sums that the windows of limits count, as they are recorded beside the generations. */
export interface RecordedWindows {
  /** Milliseconds since the epoch, by the clock that decides on the windows. */
  readonly at: number
  readonly of: ReadonlyMap<string, OpenWindows>
}

export interface OpenWindows {
  /** Milliseconds since the epoch. */
  readonly starts: Readonly<Record<LimitReset, number>>
  /** Nano-dollars, without what has been carried over. */
  readonly sums: Readonly<Record<LimitReset, bigint>>
}

/** A part of the ledger: what is of one of these keys, or was charged to this account as well. */
export interface LedgerPart {
  /** Identities. */
  readonly keys: readonly string[]
  /** Identity of an account above keys. */
  readonly account: string
}

/** Which generations a search wants; what is absent is not looked at. */
export interface GenerationSearch {
  /** Milliseconds since the epoch of the admission: from here on, and before there. */
  readonly from: number
  readonly until: number
  /** Identity. */
  readonly key?: string | undefined
  readonly within?: LedgerPart | undefined
  /** Slug that served. */
  readonly model?: string | undefined
  /** Display name. */
  readonly provider?: string | undefined
  readonly endpoint?: string | undefined
  readonly session?: string | undefined
  readonly statuses?: readonly (SettleStatus | 'open')[] | undefined
  /** Code of the fault that ended it. */
  readonly error?: string | undefined
  /** Nano-dollars, both included. */
  readonly minCost?: number | undefined
  readonly maxCost?: number | undefined
  readonly streamed?: boolean | undefined
  /** Generations of one page at most. */
  readonly limit: number
}

/** Some generations that a search has found, the newest first. */
export interface FoundPage {
  readonly rows: readonly GenerationRecord[]
  /** `<seq> <tag>`: all before it have been looked at. Absent at the end. */
  readonly next?: string
}

/** The next generations of a reader. The same ones come again until the batch is accepted. */
export interface ReaderBatch {
  readonly reader: string
  /** Rises by one from batch to batch. */
  readonly number: number
  /** Milliseconds since the epoch: when it was begun. 0: there is nothing to read. */
  readonly begunAt: number
  /** It has the settled generations from the one sequence on and below the other, and late ones. */
  readonly below: number
  readonly reaching: number
  /** Note that came with the last accepted batch. */
  readonly note: string
}

export interface ReaderClaim {
  readonly reader: string
  /** One process at a time reads under a name: others get nothing for so many milliseconds. */
  readonly holder: string
  readonly holdFor: number
  /** Milliseconds since the epoch: a new reader begins with the generations that were admitted then. */
  readonly since: number
  /** Milliseconds: younger generations mostly still run, and each that is settled late costs a row of its own. */
  readonly age: number
  /** Generations of a batch: of those in order, and again of late ones. */
  readonly most: number
  /** True: also those that are dated more than a minute ahead of now, as late ones are; in order they do not come again. */
  readonly ahead?: boolean
  /** Milliseconds since the epoch; a store elsewhere has a clock of its own. */
  readonly now: number
}

/** Sums that a reader keeps of one account, as JSON text. */
export interface KeptSums {
  readonly account: string
  readonly sums: string
}

/** Generations that a reader has not read yet. */
export interface Unread {
  /** Milliseconds since the epoch: admission of the oldest one; undefined where there is none. */
  readonly oldest: number | undefined
  /** Counted up to a bound. */
  readonly rows: number
}

/**
 * Readers of the ledger that go through it step by step and keep how far they have come, such as exports. Generations are settled out of
 * the order of their sequence, so a reader has a bound, and a list of those that were settled when its bound had passed them.
 * All of these throw what the store throws.
 */
/** Readers of rows of the store, in batches: how far each has come stands in the store. */
export interface BatchReaders<Row> {
  /** @returns the open batch, or a new one; undefined while another process holds the reader. */
  claim(claim: ReaderClaim): ReaderBatch | undefined | Promise<ReaderBatch | undefined>
  /** The rows of a batch in pages, always in the same order. */
  pages(batch: ReaderBatch): AsyncIterable<readonly Row[]> | Iterable<readonly Row[]>
  /** The batch has been read. @returns false where it is no longer the open one. */
  accept(batch: ReaderBatch, note: string): boolean | Promise<boolean>
  /** @param since of a reader that has not begun yet. @param most rows that are counted. */
  unread(reader: string, since: number, most: number): Unread | Promise<Unread>
}

export interface LedgerReaders extends BatchReaders<GenerationRecord> {
  /** Forgets how far it has come: it begins anew. */
  reset(reader: string): void | Promise<void>
  /** Keeps sums with the batch that is open. */
  keep(batch: ReaderBatch, sums: readonly KeptSums[]): void | Promise<void>
  /** Those that were kept with a batch, in the order of the accounts. */
  kept(reader: string, batch: number, after: string, most: number): readonly KeptSums[] | Promise<readonly KeptSums[]>
  /** Drops some of those that were kept with other batches. @returns how many. */
  dropKept(reader: string, batch: number, most: number): number | Promise<number>
}

/** Settlements of generations that a crash had left open. */
export interface Reconciliation {
  count: number
  /** Nano-dollars: the input parts of the holds. */
  charged: number
  /** Admission of the first and of the last of them, ISO 8601; null where there is none. */
  oldest: string | null
  newest: string | null
  /** By identity, the most charged first; at most 100. */
  keys: { key: string; count: number; charged: number }[]
  /** Public ids of the first 100. */
  generations: string[]
}

export interface Journal {
  /** Queues a row; it is committed at the end of this turn of the event loop. */
  hold(row: HoldRow): void
  settle(row: SettleRow): void
  /** Resolves when everything queued so far is committed; rejects with fault `unavailable` if the store refuses. */
  committed(): Promise<void>
  /** Highest sequence in the journal, 0 if empty. */
  lastSeq(): number
  /** The same by the time: what is ahead of it apart. @param now milliseconds since the epoch. Absent where rows leave the journal soon. */
  drawnNumbers?(now: number): DrawnNumbers
  /** Settles what a crash left open as `unknown`, charged at its floor. */
  reconcile(): Reconciliation
  /** The same report, with nothing written: on what is open at this moment. */
  unsettled(): Reconciliation
  /** Settled nano-dollars per key. */
  spent(): Map<string, bigint>
  /**
   * Charges by key and payer, each generation once, read once; the charges of one key may come in several parts.
   * @param since milliseconds since the epoch: the UTC days of the charge from this one on come apart, in no particular order.
   */
  charges(since: number): Iterable<DatedCharges>
  /** Reads rows still queued as well. */
  find(id: string): GenerationRecord | undefined
  /** Generations in order of their sequence: all, or those admitted at `since` (milliseconds since the epoch) or later. */
  export(since?: number): Iterable<GenerationRecord>
  /** Deletes generations that the store of record has taken. */
  forget(seqs: readonly number[]): void
  close(): void
}
