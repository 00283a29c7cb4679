/**
 * What credit means: allowances, holds under all of them at once, and the rule by which a hold shrinks. Balances in memory:
 * every reservation is one synchronous step, so no two requests can spend the same credit.
 */

import type { Clock } from '../core/clock.ts'
import { type HoldAsk, holdWithin, Total } from '../core/money.ts'

export { type HoldAsk, holdWithin } from '../core/money.ts'

import type { LimitReset } from '../plugin-api/key.ts'
import { oldestCounted, SpendWindows, type WindowUsage } from './spend-windows.ts'
import type { Journal, RecordedWindows } from './types.ts'

/** A bound on spending: the limit of a key, or the budget of a guardrail. */
export interface Allowance {
  /** Nano-dollars; null for no limit. */
  readonly limit: number | null
  /** The window whose spending counts; null or absent for all that was ever spent. */
  readonly limitReset?: LimitReset | null
  /** Whose spending counts: that of the key itself (absent), or that of the key that issued it through sign-in. */
  readonly of?: 'key' | 'payer'
}

/** The ask for an amount that cannot shrink. */
export function fixedAsk(amount: number): HoldAsk {
  return { full: amount, floor: amount }
}

/** The allowance that leaves the least, and what it leaves in nano-dollars. */
export interface Tightest<A extends Allowance = Allowance> {
  readonly left: number
  readonly allowance: A
}

/** What a hold became: nano-dollars charged, and those that no allowance could pay. */
export interface Charged {
  readonly charged: number
  readonly unrecovered: number
}

/**
 * What a key has spent, and what its open requests may still spend. The account of a key that was issued through sign-in
 * passes every hold and charge on to the account of its payer, the key that issued it.
 */
export interface CreditAccount {
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
   * Where credit is leased: leases more of it, and holds as `tryHold` does. Absent where all credit is at hand.
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

/**
 * Settles a hold: up to the hold the whole cost is charged, beyond it as much as the allowances pay for. So the balance
 * of a limited key never passes its limit.
 * @param at as for `settle`.
 */
export function chargeWithin(
  account: CreditAccount,
  { held, cost, at }: { held: number; cost: number; at?: number },
  allowances: readonly Allowance[],
): Charged | Promise<Charged> {
  if (cost <= held) {
    account.settle(held, cost, at)
    return { charged: cost, unrecovered: 0 }
  }
  const settle = (covered: number): Charged => {
    const charged = Math.min(cost, held + covered)
    account.settle(held + covered, charged, at)
    return { charged, unrecovered: cost - charged }
  }
  const covered = account.cover(cost - held, allowances)
  return typeof covered === 'number' ? settle(covered) : covered.then(settle)
}

/** All accounts by key identity. */
export interface CreditBook {
  /** @param payer identity of the key that issued this one through sign-in: its account is charged as well. */
  account(identity: string, payer?: string): CreditAccount
  /** Nano-dollars that all keys together have been charged, deleted ones too. */
  readonly settled: bigint
  /** Where processes share a store of record: learns from it what the others spent, for what is shown next. */
  refresh?(identities: readonly string[]): Promise<void>
  /** The same for `settled`, which may then be a second old. */
  refreshSettled?(): Promise<void>
}

/** What one key has spent and what is reserved of its credit, by itself and by the keys that it issued. */
class Balance {
  readonly spent = new Total()
  readonly reserved = new Total()
  readonly windows = new SpendWindows()

  /** Nano-dollars, below 0 where more is spent than the limit allows: it may have been lowered. */
  left(limit: number, reset: LimitReset | null | undefined, now: number): number {
    return limit - (reset ? this.windows.cut(reset, now) : this.spent.cut) - this.reserved.cut
  }
}

/** An account whose whole credit is at hand. */
export class Account implements CreditAccount {
  private readonly own: Balance
  private readonly payer: Balance | undefined
  private readonly book: Book

  constructor(own: Balance, payer: Balance | undefined, book: Book) {
    this.own = own
    this.payer = payer
    this.book = book
  }

  get settled(): bigint {
    return this.own.spent.exact
  }

  get held(): number {
    return this.own.reserved.cut
  }

  usage(): WindowUsage {
    return this.own.windows.usage(this.book.clock.now())
  }

  tryHold(ask: HoldAsk, allowances: readonly Allowance[]): number | undefined {
    amountOrThrow(ask.full)
    amountOrThrow(ask.floor)
    const amount = holdWithin(this.left(allowances), ask)
    if (amount !== undefined) this.reserve(amount)
    return amount
  }

  cover(excess: number, allowances: readonly Allowance[]): number {
    amountOrThrow(excess)
    const amount = Math.min(excess, Math.max(0, this.left(allowances)))
    this.reserve(amount)
    return amount
  }

  settle(held: number, cost: number, at: number = this.book.clock.now()): number {
    amountOrThrow(cost)
    this.release(held)
    if (cost > 0) {
      this.own.windows.charge(cost, at)
      this.payer?.windows.charge(cost, at)
      this.spend(cost)
    }
    return Math.max(0, cost - held)
  }

  release(held: number): void {
    amountOrThrow(held)
    if (held > this.own.reserved.cut) throw new RangeError('more is given back than was held')
    this.own.reserved.add(-held)
    this.payer?.reserved.add(-held)
  }

  tightest<A extends Allowance>(allowances: readonly A[]): Tightest<A> | undefined {
    let least: Tightest<A> | undefined
    for (const allowance of allowances) {
      const left = Math.max(0, this.leftOf(allowance))
      if (left < (least?.left ?? Number.POSITIVE_INFINITY)) least = { left, allowance }
    }
    return least
  }

  counted(reset: LimitReset | null | undefined): bigint {
    return reset ? this.own.windows.spent(reset, this.book.clock.now()) : this.own.spent.exact
  }

  /** The same for a comparison with a limit: see `Total.cut`. */
  countedCut(reset: LimitReset | null): number {
    return reset ? this.own.windows.cut(reset, this.book.clock.now()) : this.own.spent.cut
  }

  /** Nano-dollars, the least under all allowances; Infinity without a limit, below 0 where one is overspent. */
  left(allowances: readonly Allowance[]): number {
    let least = Number.POSITIVE_INFINITY
    for (const allowance of allowances) least = Math.min(least, this.leftOf(allowance))
    return least
  }

  /** What one allowance leaves, as `left`. @throws TypeError for an allowance of a payer where there is none. */
  leftOf({ limit, limitReset, of }: Allowance): number {
    if (limit === null) return Number.POSITIVE_INFINITY
    const balance = of === 'payer' ? this.payer : this.own
    if (!balance) throw new TypeError('an allowance of a payer, but the account has none')
    return balance.left(limit, limitReset, limitReset ? this.book.clock.now() : 0)
  }

  /** Reserves without a look at any allowance. */
  reserve(amount: number): void {
    this.own.reserved.add(amount)
    this.payer?.reserved.add(amount)
  }

  /** A charge that was forwarded, perhaps late: it counts in the windows that it fell into, however long ago. */
  charge(cost: number, at: number): void {
    amountOrThrow(cost)
    const now = this.book.clock.now()
    this.own.windows.add(cost, at, now)
    this.payer?.windows.add(cost, at, now)
    this.spend(cost)
  }

  private spend(cost: number): void {
    this.own.spent.add(cost)
    this.payer?.spent.add(cost)
    this.book.total.add(cost)
  }
}

function amountOrThrow(amount: number): void {
  if (!(Number.isSafeInteger(amount) && amount >= 0)) throw new RangeError(`not an amount of nano-dollars: ${amount}`)
}

/** The sums of a journal. */
export type RecordedSpending = Pick<Journal, 'charges' | 'spentByDay'>

/** What all accounts share. */
interface Book {
  readonly clock: Pick<Clock, 'now'>
  /** Charges of all keys, each counted once. */
  readonly total: Total
}

/** All accounts by key identity; one small entry per key that ever spent or made a request, so bounded by the keys. */
export class Credit implements CreditBook {
  private readonly balances = new Map<string, Balance>()
  private readonly accounts = new Map<string, Account>()
  /** By payer, then by identity. */
  private readonly issued = new Map<string, Map<string, Account>>()
  private readonly book: Book

  /** @param recorded what a journal has of earlier lives; nothing where it is absent. */
  constructor(clock: Pick<Clock, 'now'>, recorded?: RecordedSpending) {
    this.book = { clock, total: new Total() }
    if (!recorded) return
    for (const { key, payer, cost } of recorded.charges()) {
      this.balance(key).spent.add(cost)
      if (payer !== undefined) this.balance(payer).spent.add(cost)
      this.book.total.add(cost)
    }
    const now = clock.now()
    // A day behind now was charged while the clock was ahead: it counts today, and opens no window early.
    for (const { key, day, cost } of recorded.spentByDay(oldestCounted(now))) this.balance(key).windows.add(cost, Math.min(day, now))
  }

  account(identity: string, payer?: string): Account {
    const accounts = payer === undefined ? this.accounts : this.issuedBy(payer)
    let account = accounts.get(identity)
    if (!account) {
      account = new Account(this.balance(identity), payer === undefined ? undefined : this.balance(payer), this.book)
      accounts.set(identity, account)
    }
    return account
  }

  get settled(): bigint {
    return this.book.total.exact
  }

  /** Whether a key has ever spent or made a request. */
  has(identity: string): boolean {
    return this.balances.has(identity)
  }

  /** For `ledger verify`: the windows that holds are taken under. */
  windows(): RecordedWindows {
    const of = new Map(Array.from(this.balances, ([key, { windows }]) => [key, windows.recorded()]))
    return { at: this.book.clock.now(), of }
  }

  private issuedBy(payer: string): Map<string, Account> {
    let accounts = this.issued.get(payer)
    if (!accounts) {
      accounts = new Map()
      this.issued.set(payer, accounts)
    }
    return accounts
  }

  private balance(identity: string): Balance {
    let balance = this.balances.get(identity)
    if (!balance) {
      balance = new Balance()
      this.balances.set(identity, balance)
    }
    return balance
  }
}
