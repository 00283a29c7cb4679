/** Balances in memory: every reservation is one synchronous step, so no two requests can spend the same credit. */

/** Nano-dollars of one key: what it has spent, and what its open requests may still spend. */
export class Account {
  private spent: number
  private reserved = 0

  constructor(spent: number) {
    this.spent = spent
  }

  get settled(): number {
    return this.spent
  }

  get held(): number {
    return this.reserved
  }

  /**
   * Reserves `amount` if settled + held + amount stays within the limit.
   * The limit comes with every call, so that a changed one holds at once.
   * @param limit nano-dollars; null for none.
   * @returns false, with nothing changed, where it does not fit.
   */
  tryHold(amount: number, limit: number | null): boolean {
    amountOrThrow(amount)
    if (this.spent + this.reserved + amount > (limit ?? Number.MAX_SAFE_INTEGER)) return false
    this.reserved += amount
    return true
  }

  /** Adds to the hold of a running exchange (another turn of a tool loop) by the same rule; it settles with the sum. */
  extend(amount: number, limit: number | null): boolean {
    return this.tryHold(amount, limit)
  }

  /**
   * Turns a hold into a charge. Call it once per hold, with all that was reserved.
   * @returns nano-dollars by which the charge passes the hold: a provider went past the agreed bounds.
   */
  settle(held: number, cost: number): number {
    amountOrThrow(cost)
    this.release(held)
    this.spent = Math.min(this.spent + cost, Number.MAX_SAFE_INTEGER)
    return Math.max(0, cost - held)
  }

  /** Gives a hold back without a charge. */
  release(held: number): void {
    amountOrThrow(held)
    if (held > this.reserved) throw new RangeError('more is given back than was held')
    this.reserved -= held
  }

  /** What may still be reserved under `limit`; null where there is none. */
  remaining(limit: number | null): number | null {
    return limit === null ? null : Math.max(0, limit - this.spent - this.reserved)
  }
}

function amountOrThrow(amount: number): void {
  if (!(Number.isSafeInteger(amount) && amount >= 0)) throw new RangeError(`not an amount of nano-dollars: ${amount}`)
}

/** All accounts by key identity; one small entry per key that ever spent or asked, so bounded by the keys. */
export class Credit {
  private readonly accounts = new Map<string, Account>()

  /** @param spent settled nano-dollars per key identity, as the journal sums them. */
  constructor(spent: Map<string, number>) {
    for (const [identity, amount] of spent) this.accounts.set(identity, new Account(amount))
  }

  account(identity: string): Account {
    let account = this.accounts.get(identity)
    if (!account) {
      account = new Account(0)
      this.accounts.set(identity, account)
    }
    return account
  }
}
