/**
 * The store of record: where every process of one gateway forwards what its own journal has committed, and leases the
 * credit that it spends meanwhile. One process alone needs none: its journal is the record.
 */

import type { Allowance, HoldAsk } from '../ledger/allowance.ts'
import type { LedgerReader } from '../ledger/reader.ts'
import type { HoldRow, SettleRow } from '../ledger/types.ts'
import type { AuditLogStore } from './audit-log.ts'
import type { ByokKeyStore } from './byok-keys.ts'
import type { CompactionKeyStore } from './compaction-keys.ts'
import type { EventStore } from './events.ts'
import type { GivenIdStore } from './given-ids.ts'
import type { GuardrailStore } from './guardrails.ts'
import type { KeyStore } from './keys.ts'
import type { LevelStore } from './levels.ts'
import type { RefusalStore } from './refusals.ts'

/** A generation that is over: its hold and its settlement are forwarded together. */
export interface SettledRows {
  readonly hold: HoldRow
  readonly settled: SettleRow
}

/** Which lease of a process is meant: each key has one for each text of payers that it has had. */
export interface LeaseName {
  /** Identity of the key. */
  readonly key: string
  /** Its payers (`core/payers.ts`): the account of each counts every lease and charge as well. */
  readonly payer?: string | undefined
}

export interface LeaseAsk extends LeaseName {
  /** Hold that the first waiting request wants. The record decides how much of it, by the rule of `holdWithin`. */
  readonly ask: HoldAsk
  /** Those of the request that have a limit; at least one. The record knows no limits: keys of a file stand in no store. */
  readonly allowances: readonly Allowance[]
  /**
   * Nano-dollars of the process's lease that no request holds, granted under these allowances: they count as left. Below 0
   * where open holds and charges pass the lease: so much is needed on top.
   */
  readonly idle: number
  /** Nano-dollars that would be welcome beyond what is needed; near the limit none of them are granted. */
  readonly more: number
  /** True: the record recalls leases that lie idle elsewhere before it shortens the hold. */
  readonly recallsFirst: boolean
  /** Rises with every ask and every return of this process for this lease. */
  readonly turn: number
}

export interface LeaseAnswer {
  /** Nano-dollars added to the process's lease; with `idle` they cover `hold`. */
  readonly granted: number
  /** Nano-dollars that the request may hold; null where not even its floor fits, or where leases are called back first. */
  readonly hold: number | null
  /**
   * For each allowance, nano-dollars that are neither spent (in its window) nor leased to any process, after the grant. Below
   * 0 where it is overspent: it may have been lowered.
   */
  readonly lefts: readonly number[]
  /**
   * Processes that hold a lease on one of the accounts and have not yet reported whether part of it lies idle. They have been
   * called on to give it back; while this is not 0, the same call may have another result a little later.
   */
  readonly waitingFor: number
}

/** Spending of a key, as the record knows it: rows that no process has forwarded yet are not in it. */
export interface Balance {
  readonly key: string
  /** Nano-dollars ever charged, and those of the current UTC day, week and month, those of keys that it pays for among them. */
  readonly spent: bigint
  readonly daily: bigint
  readonly weekly: bigint
  readonly monthly: bigint
  /** Nano-dollars that all processes together hold as leases. */
  readonly leased: number
}

export interface Pulse {
  readonly node: string
  /** Name for an operator: host and process. */
  readonly label: string
  /** Milliseconds without a further pulse after which the process counts as lost. */
  readonly expiry: number
  /** `cursor` of the last reply; undefined on the first pulse of a process. */
  readonly cursor: string | undefined
}

export interface PulseReply {
  readonly cursor: string
  /**
   * Hashes of keys that were added, changed or removed since `cursor`, `GUARDRAILS_CHANGED`, `BYOK_KEYS_CHANGED` and `LEVELS_CHANGED` where
   * those were; undefined: forget all that was cached.
   */
  readonly changed: readonly string[] | undefined
  /** Leases of which this process should give back what lies idle, and say so by `giveBack`. */
  readonly wanted: readonly LeaseName[]
  /** Processes that are alive, this one among them. */
  readonly nodes: number
  /** Another number than in the reply before: `forgetLost` may have ended the leases of this process between the two. */
  readonly life: number
  /** Milliseconds for which the process that answers for the record has not heard the record itself; absent: it is the record. */
  readonly silence?: number
}

export interface StoreOfRecord {
  readonly keys: KeyStore
  readonly ledger: LedgerReader
  readonly guardrails: GuardrailStore
  readonly compactionKeys: CompactionKeyStore
  readonly byokKeys: ByokKeyStore
  readonly levels: LevelStore
  readonly events: EventStore
  readonly auditLog: AuditLogStore
  readonly refusals: RefusalStore
  readonly givenIds: GivenIdStore
  /**
   * Hands generations in. Each charge leaves the process's lease (never below 0) and is added to what the key and its
   * payers have spent, in the same step as the row is written. A row that is there already changes nothing. The record's
   * own clock bounds the moment of a charge: it is never later than now, nor earlier than the last grant of the lease that
   * paid for it.
   * @throws Fault `unavailable`; then nothing, or a prefix of it, has been taken, and handing all in again is right.
   */
  take(node: string, rows: readonly SettledRows[]): Promise<void>
  /**
   * One atomic step: under each allowance, spent (in its window) + leased to any process + granted never passes the limit.
   * @throws Fault `unavailable`.
   */
  lease(node: string, ask: LeaseAsk): Promise<LeaseAnswer>
  /**
   * Gives part of a lease back, and answers a call for it; `amount` may be 0, `'all'` is what the record knows of.
   * @param turn its own: where an ask of a later one has been granted, this is a call that was given up and comes late,
   * and it changes nothing.
   * @throws Fault `unavailable`; the lease stays, or ends once the call comes through.
   */
  giveBack(node: string, lease: LeaseName, amount: number | 'all', turn: number): Promise<void>
  /**
   * Gives all leases of a process back: said by one that starts under its old name, once the generations of its earlier
   * life are forwarded. @throws Fault `unavailable`.
   */
  endLeases(node: string): Promise<void>
  /** Reports that the process lives, and returns what is new. Sent several times a second. @throws Fault `unavailable`. */
  pulse(pulse: Pulse): Promise<PulseReply>
  /** Of the keys named; a key that never spent has zeros. @throws Fault `unavailable`. */
  balances(keys: readonly string[]): Promise<Balance[]>
  /** Nano-dollars that all keys together have been charged. */
  spentByAll(): Promise<bigint>
  /**
   * Ends the leases of processes lost for longer than `grace` milliseconds: what they spent is unknown, so up to then
   * their leases count as spent. @returns the nano-dollars set free, by process.
   */
  forgetLost(grace: number): Promise<ReadonlyMap<string, number>>
  close(): Promise<void>
}
