/** Balances in memory: every reservation is one synchronous step, so no two requests can spend the same credit. */
import type { Clock } from '../core/clock.ts'
import type { LimitReset } from '../plugin-api/key.ts'
import { SpendWindows, type WindowUsage } from './spend-windows.ts'
import type { DayCharge } from './types.ts'

/** What a key may spend. */
export interface Allowance {
  /** Nano-dollars; null for no limit. */
  readonly limit: number | null
  /** The window whose spend the limit counts; null or absent for all that was ever spent. */
  readonly limitReset?: LimitReset | null
}

/** Nano-dollars of one key: what it has spent, and what its open requests may still spend. */
export interface CreditAccount {
  /** All that was ever charged. */
  readonly settled: number
  readonly held: number
  /** Charges of the current UTC day, week and month. */
  usage(): WindowUsage
  /**
   * Reserves `amount` if what the limit counts + held + amount stays within the limit. Every open hold counts, whenever
   * it was taken: it settles into the window in which it ends.
   * The allowance comes with every call, so that a changed one holds at once. What a running exchange adds (another turn of
   * a tool loop) settles with the sum.
   * @returns false, with nothing changed, where it does not fit.
   */
  tryHold(amount: number, allowance: Allowance): boolean
  /**
   * Where credit is leased: asks for more of it, and reserves `amount` if that was enough. Absent where all is at hand.
   * @throws Fault `unavailable` where the store of record does not answer.
   */
  seek?(amount: number, allowance: Allowance): Promise<boolean>
  /**
   * Turns a hold into a charge. Call it once per hold, with all that was reserved.
   * @param at the moment whose windows are charged, milliseconds since the epoch; the journal's row says the same.
   * @returns nano-dollars by which the charge passes the hold: a provider went past the agreed bounds.
   */
  settle(held: number, cost: number, at?: number): number
  /** Gives a hold back without a charge. */
  release(held: number): void
  /** What may still be reserved; null where there is no limit. */
  remaining(allowance: Allowance): number | null
  /** Nano-dollars that a limit of this kind counts. */
  counted(reset: LimitReset | null | undefined): number
}

/** All accounts by key identity. */
export interface CreditBook {
  account(identity: string): CreditAccount
  /** Nano-dollars that all keys together have been charged, deleted ones too. */
  readonly settled: number
  /** Where processes share a store of record: learns from it what the others spent, for what is shown next. */
  refresh?(identities: readonly string[]): Promise<void>
}

/** An account whose whole credit is at hand. */
export class Account implements CreditAccount {
  private readonly clock: Pick<Clock, 'now'>
  private readonly windows = new SpendWindows()
  private spent: number
  private reserved = 0

  constructor(spent: number, clock: Pick<Clock, 'now'>) {
    this.spent = spent
    this.clock = clock
  }

  get settled(): number {
    return this.spent
  }

  get held(): number {
    return this.reserved
  }

  usage(): WindowUsage {
    return this.windows.usage(this.clock.now())
  }

  tryHold(amount: number, { limit, limitReset }: Allowance): boolean {
    amountOrThrow(amount)
    if (this.counted(limitReset) + this.reserved + amount > (limit ?? Number.MAX_SAFE_INTEGER)) return false
    this.reserved += amount
    return true
  }

  settle(held: number, cost: number, at: number = this.clock.now()): number {
    amountOrThrow(cost)
    this.release(held)
    this.spent = Math.min(this.spent + cost, Number.MAX_SAFE_INTEGER)
    if (cost > 0) this.windows.charge(cost, at)
    return Math.max(0, cost - held)
  }

  release(held: number): void {
    amountOrThrow(held)
    if (held > this.reserved) throw new RangeError('more is given back than was held')
    this.reserved -= held
  }

  remaining({ limit, limitReset }: Allowance): number | null {
    return limit === null ? null : Math.max(0, limit - this.counted(limitReset) - this.reserved)
  }

  counted(reset: LimitReset | null | undefined): number {
    return reset ? this.windows.spent(reset, this.clock.now()) : this.spent
  }

  /** A charge that was handed in, perhaps late: it counts in the windows that it fell into, however long ago. */
  charge(cost: number, at: number): void {
    amountOrThrow(cost)
    this.spent = Math.min(this.spent + cost, Number.MAX_SAFE_INTEGER)
    this.windows.add(cost, at, this.clock.now())
  }

  /** Takes in what the journal says of a day; it is part of `settled` already. */
  recall(nano: number, day: number): void {
    this.windows.add(nano, day)
  }
}

function amountOrThrow(amount: number): void {
  if (!(Number.isSafeInteger(amount) && amount >= 0)) throw new RangeError(`not an amount of nano-dollars: ${amount}`)
}

/** All accounts by key identity; one small entry per key that ever spent or asked, so bounded by the keys. */
export class Credit implements CreditBook {
  private readonly accounts = new Map<string, Account>()
  private readonly clock: Pick<Clock, 'now'>

  /**
   * @param spent settled nano-dollars per key identity, as the journal sums them.
   * @param days the same by UTC day of the charge, from `oldestCounted` on.
   */
  constructor(spent: ReadonlyMap<string, number>, clock: Pick<Clock, 'now'>, days: Iterable<DayCharge> = []) {
    this.clock = clock
    for (const [identity, amount] of spent) this.accounts.set(identity, new Account(amount, clock))
    for (const { key, day, cost } of days) this.account(key).recall(cost, day)
  }

  account(identity: string): Account {
    let account = this.accounts.get(identity)
    if (!account) {
      account = new Account(0, this.clock)
      this.accounts.set(identity, account)
    }
    return account
  }

  get settled(): number {
    let sum = 0
    for (const account of this.accounts.values()) sum = Math.min(sum + account.settled, Number.MAX_SAFE_INTEGER)
    return sum
  }
}
