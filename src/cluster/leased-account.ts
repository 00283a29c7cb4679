/** An account whose credit is leased from the store of record: holds are taken from the lease in hand. */
import type { Allowance, CreditAccount } from '../ledger/credit.ts'
import type { WindowUsage } from '../ledger/spend-windows.ts'
import type { LimitReset } from '../plugin-api/key.ts'
import type { Balance } from '../store/record.ts'
import { Lease } from './lease.ts'
import { LeaseDesk, type LeaseOffice } from './lease-desk.ts'
import { OwnCharges } from './own-charges.ts'
import { RecentSpending } from './recent-spending.ts'

/** Milliseconds after which a lease that nobody uses goes back, and over which the part that nobody needed is found. */
const IDLE_AFTER = 30_000
/** Milliseconds after which an account without lease or charge is forgotten: no exchange that knows it is still open. */
const FORGET_AFTER = 3_600_000

export class LeasedAccount implements CreditAccount {
  private readonly office: LeaseOffice
  private readonly lease = new Lease()
  private readonly desk: LeaseDesk
  private readonly charges = new OwnCharges()
  private readonly recent = new RecentSpending()
  private slice = 0
  private limit = 0
  private usedAt: number
  /** The least that lay idle since the last look at it. */
  private lowest = Number.POSITIVE_INFINITY
  private lookedAt: number

  constructor(identity: string, office: LeaseOffice) {
    this.office = office
    this.desk = new LeaseDesk(identity, this.lease, office)
    this.usedAt = office.clock.monotonic()
    this.lookedAt = this.usedAt
  }

  /** As `refresh` last read it, and what was charged here since. */
  get settled(): number {
    return this.charges.settled
  }

  /** Of this process. */
  get held(): number {
    return this.lease.held
  }

  /** True where the record may know of a lease. */
  get leased(): boolean {
    return this.lease.left > 0 || this.lease.doubtful
  }

  usage(): WindowUsage {
    return this.charges.usage(this.office.clock.now())
  }

  tryHold(amount: number, allowance: Allowance): boolean {
    amountOrThrow(amount)
    const { lease, desk, office } = this
    this.usedAt = office.clock.monotonic()
    if (allowance.limit === null) {
      lease.held += amount
      return true
    }
    this.limit = allowance.limit
    if (desk.queued || !office.open || !lease.covers(amount, allowance)) return false
    lease.held += amount
    const { idle } = lease
    if (idle < this.lowest) this.lowest = idle
    if (idle * 4 < this.slice) desk.askAhead(allowance, this.slice)
    return true
  }

  async seek(amount: number, allowance: Allowance): Promise<boolean> {
    if (this.tryHold(amount, allowance)) return true
    this.lowest = 0
    return this.desk.seek(amount, allowance, this.slice)
  }

  /** The lease shrinks at once; what is shown follows when the row is written. */
  settle(held: number, cost: number): number {
    amountOrThrow(cost)
    amountOrThrow(held)
    this.lease.release(held)
    this.lease.charge(cost)
    const now = this.office.clock.monotonic()
    this.recent.add(cost, now)
    this.slice = this.recent.slice(this.limit, now)
    this.desk.serve()
    return Math.max(0, cost - held)
  }

  release(held: number): void {
    amountOrThrow(held)
    this.lease.release(held)
    this.desk.serve()
  }

  remaining({ limit, limitReset }: Allowance): number | null {
    if (limit === null) return null
    // What the record said when it refused is nearer to the truth than what was once read.
    if (this.desk.leftOver !== undefined) return Math.min(limit, this.lease.idle + this.desk.leftOver)
    return Math.max(0, limit - this.counted(limitReset) - this.lease.held)
  }

  counted(reset: LimitReset | null | undefined): number {
    return this.charges.counted(reset, this.office.clock.now())
  }

  /** The lease is void; what open requests hold of it was spent without one. */
  lapse(): void {
    this.lease.void()
  }

  /** A charge stands in the journal and waits to be handed in. @param at its moment, milliseconds since the epoch. */
  noted(cost: number, at: number): void {
    this.charges.note(cost, at)
    this.lease.untaken = this.charges.untaken
  }

  /** The record has taken it. */
  taken(cost: number, at: number): void {
    this.charges.taken(cost, at)
    this.lease.untaken = this.charges.untaken
    this.desk.forgive()
  }

  /** @param balance read while nothing was being handed in. */
  learn(balance: Balance): void {
    this.charges.learn(balance, this.office.clock.now())
    this.desk.leftOver = undefined
  }

  /** Gives back what no open request needs. @throws Fault `unavailable`. */
  giveBackIdle(most?: number): Promise<void> {
    return this.desk.giveBack(this.charges.untaken === 0, most)
  }

  /**
   * Gives back what has not been used for a while; to be called now and then while the record answers.
   * @returns true where nothing of this account is worth remembering.
   */
  tidy(): boolean {
    const { lease, desk, charges } = this
    const now = this.office.clock.monotonic()
    desk.forgive()
    if (desk.busy) return false
    if (lease.held === 0 && now - this.usedAt >= IDLE_AFTER) {
      if (lease.left > 0 || (lease.doubtful && charges.untaken === 0)) this.giveBackIdle().catch(ignore)
      else return charges.untaken === 0 && !lease.doubtful && now - this.usedAt >= FORGET_AFTER
    } else if (now - this.lookedAt >= IDLE_AFTER) {
      const surplus = Math.min(this.lowest, lease.idle) - this.slice
      this.lookedAt = now
      this.lowest = Number.POSITIVE_INFINITY
      if (surplus > 0) this.giveBackIdle(surplus).catch(ignore)
    }
    return false
  }
}

/** It goes back the next time. */
const ignore = (): void => {}

function amountOrThrow(amount: number): void {
  if (!(Number.isSafeInteger(amount) && amount >= 0)) throw new RangeError(`not an amount of nano-dollars: ${amount}`)
}
