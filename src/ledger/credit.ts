/**
 * Balances in memory, and what each key has spent in the current UTC day, week and month: every reservation is one synchronous step, so no
 * two requests can spend the same credit; windows are kept as charges come, so that no read walks the ledger.
 */

import type { Clock } from '../core/clock.ts'
import { Total } from '../core/money.ts'
import { chargedAccounts } from '../core/payers.ts'
import { DAY_MS, oldestCounted, windowStarts } from '../core/windows.ts'

import type { LimitReset } from '../plugin-api/key.ts'
import type { Allowance, Charged, CreditAccount, CreditBook, HoldAsk, Tightest, WindowUsage } from './allowance.ts'
import type { LocalEntries } from './entries.ts'
import { Pace } from './pace.ts'
import type { Journal, OpenWindows, RecordedWindows } from './types.ts'

/** The ask for an amount that cannot shrink. */
export function fixedAsk(amount: number): HoldAsk {
  return { full: amount, floor: amount }
}

/**
 * Returns the hold of a request: at most half of the remaining credit, except where its floor needs more, so that many parallel requests
 * share the last dollars.
 * @param left nano-dollars, the least under all allowances; Infinity where there is no limit.
 * @returns undefined where not even the floor fits.
 */
export function holdWithin(left: number, { full, floor }: HoldAsk): number | undefined {
  if (full <= left / 2) return full
  return floor <= left ? Math.min(left, Math.max(Math.floor(left / 2), floor)) : undefined
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

/** Spent and reserved credit of one key or budget, with that of the keys that it pays for. */
class Balance {
  readonly spent = new Total()
  readonly reserved = new Total()
  readonly windows = new SpendWindows()

  /** Counts a charge of this moment. */
  charge(cost: number, at: number): void {
    this.windows.charge(cost, at)
    this.spent.add(cost)
  }

  /** Nano-dollars, below 0 where more is spent than the limit allows: it may have been lowered. */
  left(limit: number, reset: LimitReset | null | undefined, now: number): number {
    return limit - (reset ? this.windows.cut(reset, now) : this.spent.cut) - this.reserved.cut
  }
}

/** An account whose whole credit is at hand. */
export class Account implements CreditAccount {
  readonly payer: string | undefined
  private readonly own: Balance
  /** The own one, then those of the payers: the place is the level of an allowance. */
  private readonly balances: readonly Balance[]
  private readonly book: Book

  /** @param find returns the balance of an identity. */
  constructor(identity: string, payer: string | undefined, { find, book }: { find: (identity: string) => Balance; book: Book }) {
    this.payer = payer
    this.own = find(identity)
    this.balances = chargedAccounts({ key: identity, payer }).map(find)
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
    this.checkHeld(held)
    if (cost > 0) {
      for (const balance of this.balances) balance.charge(cost, at)
      this.book.total.add(cost)
    }
    for (const { reserved } of this.balances) reserved.add(-held)
    return Math.max(0, cost - held)
  }

  release(held: number): void {
    this.checkHeld(held)
    for (const { reserved } of this.balances) reserved.add(-held)
  }

  private checkHeld(held: number): void {
    amountOrThrow(held)
    if (held > this.own.reserved.cut) throw new RangeError('more is given back than was held')
  }

  tightest<A extends Allowance>(allowances: readonly A[]): Tightest<A> | undefined {
    let least: Tightest<A> | undefined
    for (const allowance of allowances) {
      const left = Math.max(0, this.allowanceLeft(allowance))
      if (left < (least?.left ?? Number.POSITIVE_INFINITY)) least = { left, allowance }
    }
    return least
  }

  counted(reset: LimitReset | null | undefined): bigint {
    return reset ? this.own.windows.spent(reset, this.book.clock.now()) : this.own.spent.exact
  }

  /** The same for a comparison with a limit: see `Total.cut`. */
  countedCut(reset: LimitReset | null, now: number): number {
    return reset ? this.own.windows.cut(reset, now) : this.own.spent.cut
  }

  /** Nano-dollars, the least under all allowances; Infinity without a limit, below 0 where one is overspent. */
  left(allowances: readonly Allowance[]): number {
    let least = Number.POSITIVE_INFINITY
    let now: number | undefined
    for (const allowance of allowances) {
      if (allowance.limitReset) now ??= this.book.clock.now()
      least = Math.min(least, this.allowanceLeft(allowance, now))
    }
    return least
  }

  /** Returns what one allowance leaves, as `left` does. @param now milliseconds since the epoch, where it is known. @throws TypeError for an allowance of a payer where there is none. */
  allowanceLeft({ limit, limitReset, level = 0 }: Allowance, now?: number): number {
    if (limit === null) return Number.POSITIVE_INFINITY
    const balance = this.balances[level]
    if (!balance) throw new TypeError('an allowance of a payer, but the account has none')
    return balance.left(limit, limitReset, limitReset ? (now ?? this.book.clock.now()) : 0)
  }

  /** Reserves without a look at any allowance. */
  reserve(amount: number): void {
    for (const { reserved } of this.balances) reserved.add(amount)
  }

  /** A charge that was forwarded, perhaps late: it counts in the windows that it fell into, however long ago. */
  charge(cost: number, at: number): void {
    amountOrThrow(cost)
    this.move(cost, at)
  }

  /** Charges a correction of the operator, or gives it back where it is below zero. It counts in the windows of its moment. */
  correct(nano: number, at: number): void {
    this.move(nano, at)
  }

  private move(nano: number, at: number): void {
    const now = this.book.clock.now()
    for (const { windows, spent } of this.balances) {
      windows.add(nano, at, now)
      spent.add(nano)
    }
    this.book.total.add(nano)
  }
}

function amountOrThrow(amount: number): void {
  if (!(Number.isSafeInteger(amount) && amount >= 0)) throw new RangeError(`not an amount of nano-dollars: ${amount}`)
}

/** Accounts between two looks at the time. */
const WINDOWS_STEP = 200

/** The sums of a journal. */
export type RecordedSpending = Pick<Journal, 'charges'>

/** State that all accounts share. */
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
    const now = clock.now()
    for (const charges of recorded.charges(oldestCounted(now))) {
      const { cost, days } = charges
      for (const account of chargedAccounts(charges)) {
        const { spent, windows } = this.balance(account)
        spent.add(cost)
        // A day behind now was charged while the clock was ahead: it counts today, and opens no window early.
        for (const charged of days) windows.add(charged.cost, Math.min(charged.day, now))
      }
      this.book.total.add(cost)
    }
  }

  /** Adds the moves of later entries to the balances. */
  follow(entries: LocalEntries): void {
    entries.moved = ({ key, payer, nano, countedAt }) => this.account(key, payer).correct(nano, countedAt)
    entries.spent = (key) => this.balance(key).spent.exact
  }

  account(identity: string, payer?: string): Account {
    const accounts = payer === undefined ? this.accounts : this.issuedBy(payer)
    let account = accounts.get(identity)
    if (!account) {
      account = new Account(identity, payer, { find: (each) => this.balance(each), book: this.book })
      accounts.set(identity, account)
    }
    return account
  }

  get settled(): bigint {
    return this.book.total.exact
  }

  /** True if the key has ever spent or made a request. */
  has(identity: string): boolean {
    return this.balances.has(identity)
  }

  /** For `ledger verify`: the windows that holds are taken under. */
  async windows(): Promise<RecordedWindows> {
    const of = new Map<string, OpenWindows>()
    const pace = new Pace()
    for (const [key, { windows }] of this.balances) {
      of.set(key, windows.recorded())
      if (of.size % WINDOWS_STEP === 0 && pace.over) await pace.rest()
    }
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

export class SpendWindows {
  private day = -1
  private week = -1
  private month = -1
  private readonly daily = new Total()
  private readonly weekly = new Total()
  private readonly monthly = new Total()

  /**
   * Takes in a charge of the past, in no particular order.
   * @param at when, milliseconds since the epoch. @param now where it is before the open windows, a clock that was ahead
   *   has opened them too early: a charge in the window of `now` counts in them, or it would count in none.
   */
  add(nano: number | bigint, at: number, now: number = Number.POSITIVE_INFINITY): void {
    this.advance(at)
    const early = now < this.day ? windowStarts(now) : undefined
    if (at >= (early?.daily ?? this.day)) this.daily.add(nano)
    if (at >= (early?.weekly ?? this.week)) this.weekly.add(nano)
    if (at >= (early?.monthly ?? this.month)) this.monthly.add(nano)
  }

  /** Takes in a charge of this moment: where the clock went back it counts in the windows that are open, never in none. */
  charge(nano: number, at: number): void {
    this.add(nano, Math.max(at, this.day))
  }

  /** @param now milliseconds since the epoch. A clock that goes back opens no window again. */
  spent(window: LimitReset, now: number): bigint {
    this.advance(now)
    return this[window].exact
  }

  /** The same for a comparison with a limit: see `Total.cut`. */
  cut(window: LimitReset, now: number): number {
    this.advance(now)
    return this[window].cut
  }

  /** Returns the windows that were charged last, also those that have ended by now. */
  recorded(): OpenWindows {
    const { day, week, month, daily, weekly, monthly } = this
    return {
      starts: { daily: day, weekly: week, monthly: month },
      sums: { daily: daily.exact, weekly: weekly.exact, monthly: monthly.exact },
    }
  }

  usage(now: number): WindowUsage {
    this.advance(now)
    return { daily: this.daily.exact, weekly: this.weekly.exact, monthly: this.monthly.exact }
  }

  /** Windows that have ended by then begin anew. */
  private advance(at: number): void {
    if (at < this.day + DAY_MS && this.day >= 0) return
    const starts = windowStarts(at)
    if (starts.daily > this.day) {
      this.day = starts.daily
      this.daily.clear()
    }
    if (starts.weekly > this.week) {
      this.week = starts.weekly
      this.weekly.clear()
    }
    if (starts.monthly > this.month) {
      this.month = starts.monthly
      this.monthly.clear()
    }
  }
}
