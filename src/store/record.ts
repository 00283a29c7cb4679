/**
 * The store of record: where every process of one gateway hands in what its own journal has committed, and leases the
 * credit that it spends meanwhile. One process alone needs none: its journal is the record.
 */
import type { HoldRow, LedgerReader, SettleRow } from '../ledger/types.ts'
import type { LimitReset } from '../plugin-api/key.ts'
import type { GuardrailStore } from './guardrails.ts'
import type { KeyStore } from './keys.ts'

/** A generation that is over: its hold and its settlement are handed in together. */
export interface SettledRows {
  readonly hold: HoldRow
  readonly settled: SettleRow
}

export interface LeaseAsk {
  /** Identity of the key. */
  readonly key: string
  /** Nano-dollars without which nothing that waits can go on: less than this is not granted at all. */
  readonly need: number
  /** Nano-dollars that would be welcome; at least `need`. Near the limit no more than `need` is granted. */
  readonly want: number
  /** The allowance as the asking process knows it: keys of a configuration file stand in no store. */
  readonly limit: number
  readonly limitReset: LimitReset | null
  /** Rises with every ask and every return of this process for this key. */
  readonly turn: number
}

export interface LeaseAnswer {
  /** Nano-dollars added to the process's lease; 0 where `need` does not fit. */
  readonly granted: number
  /** Nano-dollars that are neither spent (in the window of the limit) nor leased to anybody, after the grant. */
  readonly left: number
  /**
   * Processes that hold a lease on the key and have not yet said whether part of it lies idle. They have been asked to
   * give it back; while this is not 0, asking again a little later may be answered differently.
   */
  readonly waitingFor: number
}

/** What a key has spent, as the record knows it: rows that no process has handed in yet are not in it. */
export interface Balance {
  readonly key: string
  /** Nano-dollars ever charged, and those of the current UTC day, week and month. */
  readonly spent: number
  readonly daily: number
  readonly weekly: number
  readonly monthly: number
  /** Nano-dollars that all processes together hold as leases. */
  readonly leased: number
}

export interface Pulse {
  readonly node: string
  /** What an operator reads: host and process. */
  readonly label: string
  /** Milliseconds without a further pulse after which the process counts as lost. */
  readonly expiry: number
  /** `cursor` of the last reply; undefined on the first pulse of a process. */
  readonly cursor: string | undefined
}

export interface PulseReply {
  readonly cursor: string
  /**
   * Hashes of keys that were added, changed or removed since `cursor`, and `GUARDRAILS_CHANGED` where those were;
   * undefined: forget all that was cached.
   */
  readonly changed: readonly string[] | undefined
  /** Identities of keys of which this process should give back what lies idle, and say so by `giveBack`. */
  readonly wanted: readonly string[]
  /** Processes that are alive, this one among them. */
  readonly nodes: number
}

export interface StoreOfRecord {
  readonly keys: KeyStore
  readonly ledger: LedgerReader
  readonly guardrails: GuardrailStore
  /**
   * Hands generations in. Each charge leaves the process's lease on its key (never below 0) and is added to what the
   * key has spent, in the same step as the row is written. A row that is there already changes nothing.
   * @throws Fault `unavailable`; then nothing, or a prefix of it, has been taken, and handing all in again is right.
   */
  take(node: string, rows: readonly SettledRows[]): Promise<void>
  /** One atomic step: spent (in the limit's window) + leased to anybody + granted never passes the limit. @throws Fault `unavailable`. */
  lease(node: string, ask: LeaseAsk): Promise<LeaseAnswer>
  /**
   * Gives part of a lease back, and answers a call for it; `amount` may be 0, `'all'` is what the record knows of.
   * @param turn its own: where an ask of a later one has been granted, this is a call that was given up and comes late,
   * and it changes nothing.
   * @throws Fault `unavailable`; the lease stays, or ends once the call comes through.
   */
  giveBack(node: string, key: string, amount: number | 'all', turn: number): Promise<void>
  /**
   * Gives all leases of a process back: said by one that starts under its old name, once the generations of its earlier
   * life are handed in. @throws Fault `unavailable`.
   */
  endLeases(node: string): Promise<void>
  /** Says that the process lives, and hears what is new. Sent several times a second. @throws Fault `unavailable`. */
  pulse(pulse: Pulse): Promise<PulseReply>
  /** Of the keys named; a key that never spent has zeros. @throws Fault `unavailable`. */
  balances(keys: readonly string[]): Promise<Balance[]>
  /** Nano-dollars that all keys together have been charged. */
  spentByAll(): Promise<number>
  /**
   * Ends the leases of processes lost for longer than `grace` milliseconds: what they spent is unknown, so up to then
   * their leases count as spent. @returns the nano-dollars set free, by process.
   */
  forgetLost(grace: number): Promise<ReadonlyMap<string, number>>
  close(): Promise<void>
}
