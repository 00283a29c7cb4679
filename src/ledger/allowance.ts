/** Types of credit: allowances, and the accounts that hold and charge under all allowances of a request at once. */
import type { LimitReset } from '../plugin-api/key.ts'

/** Nano-dollars that a request wants to hold: `full` where the credit easily pays for it, never less than `floor`. */
export interface HoldAsk {
  readonly full: number
  /** At most `full`; the same where the amount cannot shrink. */
  readonly floor: number
}

/** A bound on spending: the limit of a key, or the budget of a guardrail. */
export interface Allowance {
  /** Nano-dollars; null for no limit. */
  readonly limit: number | null
  /** The window whose spending counts; null or absent for all that was ever spent. */
  readonly limitReset?: LimitReset | null
  /** The account whose spending counts: 0 or absent for the key's own, 1 for its nearest payer, and so on to the root (`core/payers.ts`). */
  readonly level?: number
}

/** Nano-dollars, exact. */
export interface WindowUsage {
  readonly daily: bigint
  readonly weekly: bigint
  readonly monthly: bigint
}

/** The allowance that leaves the least, and what it leaves in nano-dollars. */
export interface Tightest<A extends Allowance = Allowance> {
  readonly left: number
  readonly allowance: A
}

/** Result of a settled hold: nano-dollars charged, and those that no allowance could pay. */
export interface Charged {
  readonly charged: number
  readonly unrecovered: number
}

/**
 * Spending of a key: what is charged, and what its open requests hold. The account of a key with payers passes every hold and charge
 * on to the account of each of them.
 */
export interface CreditAccount {
  /** Its payers (`core/payers.ts`). */
  readonly payer: string | undefined
  /** Nano-dollars ever charged. */
  readonly settled: bigint
  /** Nano-dollars of open holds. */
  readonly held: number
  /** Charges of the current UTC day, week and month. */
  usage(): WindowUsage
  /**
   * Reserves as much as `holdWithin` grants under all allowances at once. Every open hold counts against each of them,
   * whenever it was taken: it settles into the window in which it ends.
   * The allowances come with every call, so that a changed one holds at once. What a running exchange adds (another turn of
   * a tool loop) settles with the sum.
   * @returns nano-dollars held; undefined, with nothing changed, where not even the floor fits.
   */
  tryHold(ask: HoldAsk, allowances: readonly Allowance[]): number | undefined
  /**
   * Leases more credit, then holds as `tryHold` does. Absent where credit is not leased but all at hand.
   * @throws Fault `unavailable` where the store of record does not answer.
   */
  seek?(ask: HoldAsk, allowances: readonly Allowance[]): Promise<number | undefined>
  /**
   * Holds as much of an excess over a hold as the allowances still pay for: for usage beyond the agreed bounds.
   * @returns nano-dollars, to be settled with the hold; a promise only where credit has to be leased.
   */
  cover(excess: number, allowances: readonly Allowance[]): number | Promise<number>
  /**
   * Turns a hold into a charge. Call it once per hold, with all that was reserved. It charges whatever `cost` is: where
   * that may pass the hold of a limited key, `chargeWithin` is the function to call.
   * @param at the moment whose windows are charged, milliseconds since the epoch; the journal's row says the same.
   * @returns nano-dollars by which the charge passes the hold.
   */
  settle(held: number, cost: number, at?: number): number
  /** Gives a hold back without a charge. */
  release(held: number): void
  /** Undefined where none of the allowances has a limit. What is left is never below 0. */
  tightest<A extends Allowance>(allowances: readonly A[]): Tightest<A> | undefined
  /** Nano-dollars that a limit of this kind counts. */
  counted(reset: LimitReset | null | undefined): bigint
}

/** All accounts by key identity. */
export interface CreditBook {
  /** @param payer of the key (`core/payers.ts`): the account of each is charged as well. */
  account(identity: string, payer?: string): CreditAccount
  /** Nano-dollars that all keys together have been charged, deleted ones too. */
  readonly settled: bigint
  /** Reads from a shared store of record what other processes spent, for what is shown next. Absent in a process of its own. */
  refresh?(identities: readonly string[]): Promise<void>
  /** The same for `settled`, which may then be a second old. */
  refreshSettled?(): Promise<void>
}
