/**
 * Readers of the ledger that go through it step by step and keep how far they have come, such as exports. Generations are settled out of
 * the order of their sequence, so a reader has a bound, and a list of those that were settled when its bound had passed them.
 */
import type { GenerationRecord } from '../ledger/types.ts'

/** What a reader takes next. The same generations come again until the batch is accepted. */
export interface ReaderBatch {
  readonly reader: string
  /** Rises by one from batch to batch. */
  readonly number: number
  /** Milliseconds since the epoch: when it was begun. 0: there is nothing to read. */
  readonly begunAt: number
  /** It has the settled generations from the one sequence on and below the other, and late ones. */
  readonly below: number
  readonly reaching: number
  /** What the last accepted batch left. */
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
  /** Milliseconds since the epoch; a store elsewhere has a clock of its own. */
  readonly now: number
}

/** What a reader has not read. */
export interface Unread {
  /** Milliseconds since the epoch: admission of the oldest one; undefined where there is none. */
  readonly oldest: number | undefined
  /** Counted up to a bound. */
  readonly rows: number
}

/** All of these throw what the store throws. */
export interface LedgerReaders {
  /** @returns the open batch, or a new one; undefined while another process holds the reader. */
  claim(claim: ReaderClaim): ReaderBatch | undefined | Promise<ReaderBatch | undefined>
  /** The generations of a batch in pages, always in the same order. */
  pages(batch: ReaderBatch): AsyncIterable<readonly GenerationRecord[]> | Iterable<readonly GenerationRecord[]>
  /** The batch has been read. @returns false where it is no longer the open one. */
  accept(batch: ReaderBatch, note: string): boolean | Promise<boolean>
  /** @param since of a reader that has not begun yet. @param most rows that are counted. */
  unread(reader: string, since: number, most: number): Unread | Promise<Unread>
}
