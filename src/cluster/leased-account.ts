/** An account whose credit is leased from the store of record: holds are taken from the lease in hand. */

import type { Allowance, CreditAccount, HoldAsk, Tightest, WindowUsage } from '../ledger/allowance.ts'
import { fixedAsk } from '../ledger/credit.ts'
import type { LimitReset } from '../plugin-api/key.ts'
import type { LeaseAnswer, LeaseAsk, LeaseName } from '../store/record.ts'
import { Lease } from './lease.ts'
import { LeaseClient, type LeaseOffice, leftBy } from './lease-client.ts'
import type { OwnCharges } from './own-charges.ts'

/** Milliseconds over which a charge fades to a third. */
const FADE = 10_000
/** No slice is larger than this part of the limit: the other processes need some as well. */
const SHARE = 8
/** Another process of this machine gets no more than this part of what lies idle here, unless it needs more. */
const LENT_SHARE = 2
/** Holds of several processes grow in steps as large as this many of one process: else each would wait for all of the others' steps. */
const LENT_BURST = 4

/** Spending of a key in about ten seconds: the size of the slices in which its credit is leased. */
class RecentSpending {
  private sum = 0
  private at = 0

  /** @param now monotonic milliseconds. */
  add(cost: number, now: number): void {
    this.sum = this.faded(now) + cost
    this.at = now
  }

  /** Nano-dollars. */
  slice(limit: number, now: number): number {
    return Math.floor(Math.min(this.faded(now), limit / SHARE))
  }

  private faded(now: number): number {
    return this.sum === 0 ? 0 : this.sum * Math.exp((this.at - now) / FADE)
  }
}

/** Milliseconds after which an unused lease goes back, and over which its unused part is measured. */
const IDLE_AFTER = 30_000
/** Milliseconds after which an account without lease or charge is forgotten: no exchange that knows it is still open. */
const FORGET_AFTER = 3_600_000
/** Calls of the record for more credit, to pay for usage beyond a hold. */
const MAX_COVERS = 3

/** Known spending of the accounts that a lease counts on. */
export interface Spending {
  readonly own: OwnCharges
  /** The nearest first. */
  readonly payers: readonly OwnCharges[]
}

export class LeasedAccount implements CreditAccount {
  readonly payer: string | undefined
  readonly spending: Spending
  private readonly office: LeaseOffice
  private readonly lease = new Lease()
  private readonly leaseClient: LeaseClient
  private readonly recent = new RecentSpending()
  private slice = 0
  private limit = 0
  private usedAt: number
  /** The least that lay idle since the last look at it. */
  private lowest = Number.POSITIVE_INFINITY
  private lookedAt: number

  constructor(name: LeaseName, spending: Spending, office: LeaseOffice) {
    this.payer = name.payer
    this.office = office
    this.spending = spending
    this.leaseClient = new LeaseClient(name, this.lease, office)
    this.usedAt = office.clock.monotonic()
    this.lookedAt = this.usedAt
  }

  /** As `refresh` last read it, and what was charged here since. */
  get settled(): bigint {
    return this.spending.own.settled
  }

  /** Of this process. */
  get held(): number {
    return this.lease.held
  }

  /** True where the record may know of a lease. */
  get leased(): boolean {
    return this.lease.left > 0 || this.lease.doubtful || this.leaseClient.asking
  }

  usage(): WindowUsage {
    return this.spending.own.usage(this.office.clock.now())
  }

  tryHold({ full, floor }: HoldAsk, allowances: readonly Allowance[]): number | undefined {
    amountOrThrow(full)
    amountOrThrow(floor)
    const { lease, leaseClient, office } = this
    this.usedAt = office.clock.monotonic()
    const limit = leastLimit(allowances)
    if (limit === undefined) {
      lease.held += full
      return full
    }
    this.limit = limit
    if (leaseClient.queued || !office.open || !lease.covers(full, allowances)) return undefined
    lease.held += full
    const { idle } = lease
    if (idle < this.lowest) this.lowest = idle
    if (idle * 4 < this.slice) leaseClient.askAhead(allowances, this.slice)
    return full
  }

  async seek(ask: HoldAsk, allowances: readonly Allowance[]): Promise<number | undefined> {
    const held = this.tryHold(ask, allowances)
    if (held !== undefined) return held
    this.lowest = 0
    return this.leaseClient.seek(ask, allowances, Math.max(this.slice, this.burst(1)))
  }

  /**
   * Leases to another process of this machine: what it gets is held here until it is charged or given back.
   * @param others see `Lending`. @throws Fault `unavailable`.
   */
  async lend({ ask, allowances, idle, more, recallsFirst }: LeaseAsk, others: () => number): Promise<LeaseAnswer> {
    if (leastLimit(allowances) === undefined) throw new RangeError('a lease needs an allowance with a limit')
    const full = Math.max(0, ask.full - idle)
    const need = { full, floor: Math.min(full, Math.max(0, ask.floor - idle)) }
    let held = this.tryHold(need, allowances)
    let waitingFor = 0
    if (held === undefined) {
      this.lowest = 0
      const slice = Math.max(this.slice, this.burst(LENT_BURST))
      ;({ held, waitingFor } = await this.leaseClient.lend(need, allowances, slice, { more, recallsFirst, others }))
    }
    const extra = held === undefined ? 0 : this.lendExtra(more, allowances)
    const lefts = this.leaseClient.leftsFor(allowances)
    if (held === undefined) return { granted: 0, hold: null, lefts, waitingFor }
    return { granted: held + extra, hold: Math.min(ask.full, idle + held), lefts, waitingFor: 0 }
  }

  /** Holds part of what lies idle on top of what was needed. */
  private lendExtra(more: number, allowances: readonly Allowance[]): number {
    const { lease, office } = this
    const extra = Math.min(more, Math.floor(lease.idle / LENT_SHARE))
    if (extra <= 0 || !office.open || !lease.covers(extra, allowances)) return 0
    lease.held += extra
    this.lowest = Math.min(this.lowest, lease.idle)
    return extra
  }

  /** As much again as is held: requests that come before the first of them has cost anything double their lease, in place of one call each. */
  private burst(times: number): number {
    return Math.min(times * this.lease.held, Math.floor(this.limit / SHARE))
  }

  /** No more is covered than lies idle here while the record does not answer: an allowance is never passed for it. */
  cover(excess: number, allowances: readonly Allowance[]): number | Promise<number> {
    amountOrThrow(excess)
    const { lease, office } = this
    if (leastLimit(allowances) === undefined) {
      lease.held += excess
      return excess
    }
    const idle = !office.open || lease.outgrown(allowances) ? 0 : Math.min(excess, lease.idle)
    lease.held += idle
    return idle === excess ? idle : this.coverRest(idle, excess - idle, allowances)
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
    this.leaseClient.serve()
    return Math.max(0, cost - held)
  }

  release(held: number): void {
    amountOrThrow(held)
    this.lease.release(held)
    this.leaseClient.serve()
  }

  tightest<A extends Allowance>(allowances: readonly A[]): Tightest<A> | undefined {
    let least: Tightest<A> | undefined
    for (const allowance of allowances) {
      if (allowance.limit === null) continue
      const left = this.allowanceLeft(allowance, allowance.limit)
      if (left < (least?.left ?? Number.POSITIVE_INFINITY)) least = { left, allowance }
    }
    return least
  }

  counted(reset: LimitReset | null | undefined): bigint {
    return this.spending.own.counted(reset, this.office.clock.now())
  }

  /** The record may know of a larger lease than this process does. */
  doubt(): void {
    this.lease.doubtful = true
  }

  /** The lease is void; what open requests hold of it was spent without one. */
  lapse(): void {
    this.lease.void()
  }

  /** A charge stands in the journal and waits to be forwarded. */
  noted(cost: number): void {
    this.lease.untaken += cost
  }

  /** The record has taken it. */
  taken(cost: number): void {
    this.lease.untaken = Math.max(0, this.lease.untaken - cost)
    this.leaseClient.forgive()
  }

  /** The numbers of the last refusal are older than those that were read now. */
  learned(): void {
    this.leaseClient.leftOver = undefined
  }

  /** Gives back what no open request needs. @throws Fault `unavailable`. */
  giveBackIdle(most?: number): Promise<void> {
    return this.leaseClient.giveBack(this.lease.untaken === 0, most)
  }

  /**
   * Gives back all that the record may know of, at the end; where exchanges are open or charges wait to be forwarded, what lies idle.
   * Unlike the end of all leases of a process, a return that comes late changes nothing of what its next life leases.
   * @throws Fault `unavailable`.
   */
  async giveBackAll(): Promise<void> {
    await this.leaseClient.quiet()
    if (!this.leased) return
    this.lease.doubtful = true
    await this.giveBackIdle()
  }

  /**
   * Gives back what has not been used for a while; to be called now and then while the record answers.
   * @returns true where nothing of this account is worth remembering.
   */
  tidy(): boolean {
    const { lease, leaseClient } = this
    const now = this.office.clock.monotonic()
    leaseClient.forgive()
    if (leaseClient.busy) return false
    if (lease.held === 0 && now - this.usedAt >= IDLE_AFTER) {
      if (lease.left > 0 || (lease.doubtful && lease.untaken === 0)) this.giveBackIdle().catch(ignore)
      else return lease.untaken === 0 && !lease.doubtful && now - this.usedAt >= FORGET_AFTER
    } else if (now - this.lookedAt >= IDLE_AFTER) {
      const surplus = Math.min(this.lowest, lease.idle) - this.slice
      this.lookedAt = now
      this.lowest = Number.POSITIVE_INFINITY
      if (surplus > 0) this.giveBackIdle(surplus).catch(ignore)
    }
    return false
  }

  private async coverRest(covered: number, rest: number, allowances: readonly Allowance[]): Promise<number> {
    let [held, missing] = [covered, rest]
    try {
      for (let round = 0; round < MAX_COVERS && missing > 0; round++) {
        const more = (await this.leaseClient.seek(fixedAsk(missing), allowances, 0)) ?? 0
        held += more
        // Refused: then as much as there was.
        missing = more > 0 ? 0 : Math.min(missing - 1, this.tightest(allowances)?.left ?? 0)
      }
    } catch {
      // The record cannot be reached: the rest is not covered.
    }
    return held
  }

  /** The record's numbers in a refusal are newer than those that were read before. */
  private allowanceLeft(allowance: Allowance, limit: number): number {
    const { leftOver } = this.leaseClient
    const left = leftOver && leftBy(leftOver, allowance)
    if (left !== undefined) return Math.min(limit, Math.max(0, this.lease.idle + left))
    const { level = 0, limitReset = null } = allowance
    const charges = level === 0 ? this.spending.own : this.spending.payers[level - 1]
    return charges ? Math.max(0, limit - charges.cut(limitReset, this.office.clock.now()) - this.lease.held) : limit
  }
}

/** It goes back the next time. */
const ignore = (): void => {}

/** Undefined where nothing is limited. */
function leastLimit(allowances: readonly Allowance[]): number | undefined {
  let least: number | undefined
  for (const { limit } of allowances) {
    if (limit !== null && (least === undefined || limit < least)) least = limit
  }
  return least
}

function amountOrThrow(amount: number): void {
  if (!(Number.isSafeInteger(amount) && amount >= 0)) throw new RangeError(`not an amount of nano-dollars: ${amount}`)
}
