/** Model of money: every charge and every open hold counts at its key and at each of its payers. */
import assert from 'node:assert/strict'
import { windowStarts } from '../../../src/core/windows.ts'
import type { Balance } from '../../../src/store/record.ts'
import { ACCOUNTS, type Account, type Bound, KEYS, type Key, LIMIT_STEP, PAYERS, PLACES, type Terms } from './steps.ts'

export type { Account, Key } from './steps.ts'

/** Grant of a hold. */
export interface Grant {
  /** Limit of the hold at its request; where there was none, the record has no lease for it. */
  readonly under: readonly Bound[]
  /** Its place among all grants and changes of bounds, as far as this side can tell. */
  readonly place: number
}

export interface Charge {
  readonly seq: number
  readonly key: Key
  /** As they were at the first hold. */
  readonly payers: readonly Account[]
  /** Nano-dollars. */
  readonly cost: number
  /** Milliseconds since the epoch, by the true time. */
  readonly at: number
  readonly grant: Grant
  /** Sums that an operator has given back count under every bound. */
  readonly isRefund?: true
}

export interface Held {
  readonly key: Key
  readonly payers: readonly Account[]
  /** Nano-dollars. */
  readonly amount: number
  readonly grant: Grant
}

export class Model {
  readonly charges: Charge[] = []
  /** Nano-dollars of usage that no allowance could pay, by key. */
  readonly lost: Record<Key, { unrecovered: number; disputed: number }> = {
    parent: { unrecovered: 0, disputed: 0 },
    one: { unrecovered: 0, disputed: 0 },
    two: { unrecovered: 0, disputed: 0 },
    three: { unrecovered: 0, disputed: 0 },
  }
  private readonly terms: Terms
  private readonly bounds: Record<Account, Bound[]>
  /** Bounds that an operator has changed, with the place of the change: they hold for what is asked for from then on. */
  private readonly changed = new Map<Bound, number>()
  private places = 0
  /** Of each key now. */
  private readonly payers: Record<Key, readonly Account[]> = { ...PAYERS }
  /** Bounds of an operator in place of others. */
  private readonly successors = new Map<Bound, Bound>()
  private readonly begun: number

  /** @param now milliseconds since the epoch. */
  constructor(terms: Terms, now: number) {
    this.terms = terms
    const { parent, one, two, three, team, organisation, root } = terms
    const copied = { parent: [...parent], one: [...one], two: [...two], three: [...three] }
    this.bounds = { ...copied, team: [...team], organisation: [...organisation], root: [...root] }
    this.begun = now
  }

  payersNow(key: Key): readonly Account[] {
    return this.payers[key]
  }

  move(place: number): void {
    this.payers.three = PLACES[place]
  }

  /** Its own bounds now. */
  ownBounds(account: Account): readonly Bound[] {
    return this.bounds[account]
  }

  change(key: Account, index: number, bound: Bound): void {
    const bounds = this.bounds[key]
    // A limit that returns to an earlier value is taken for the earlier one: leases of that time are served, though what others
    // have leased under the looser limit between may be more.
    const own = { ...bound, limit: bound.limit + 1 + (this.changed.size % (LIMIT_STEP - 1)) }
    const place = Math.min(index, bounds.length)
    if (place < bounds.length) this.successors.set(bounds[place], own)
    bounds[place] = own
    this.changed.set(own, ++this.places)
  }

  /** @param limits what limited the request when it was made. */
  granted(limits: readonly [Account, Bound][]): Grant {
    return { under: limits.map(([, bound]) => bound), place: ++this.places }
  }

  get unrecovered(): number {
    return KEYS.reduce((sum, key) => sum + this.lost[key].unrecovered, 0)
  }

  /** @param at milliseconds since the epoch, by the record's clock. */
  refund(key: Key, nano: number, at: number): void {
    this.charges.push({
      seq: 0,
      key,
      payers: this.payers[key],
      cost: -nano,
      at,
      grant: { under: [], place: ++this.places },
      isRefund: true,
    })
  }

  settle(charge: Charge): void {
    this.charges.push(charge)
  }

  spent(account: Account, from = 0, bound?: Bound): number {
    let sum = 0
    for (const charge of this.charges)
      if (charge.at >= from && counts(charge, account) && (charge.isRefund || this.concerns(bound, charge))) sum += charge.cost
    return sum
  }

  /**
   * True if a bound has to leave room for a hold. One that was made in the meantime does not know of a hold without a lease, and
   * a request that was made before it and is granted after it may pass it: the answers of the record may come in another order.
   */
  private concerns(bound: Bound | undefined, { grant }: { grant: Grant }): boolean {
    const changed = bound && this.changed.get(bound)
    if (bound === undefined || changed === undefined || grant.under.includes(bound)) return true
    return grant.under.length > 0 && grant.place < changed
  }

  /**
   * Spent and held stay within every allowance that was not changed.
   * @param now milliseconds since the epoch.
   */
  check(now: number, held: readonly Held[]): void {
    for (const account of ACCOUNTS)
      for (const bound of this.bounds[account]) if (!this.changed.has(bound)) this.checkBound(account, bound, { now, held })
  }

  /** Limits of a request of a key that is made now. */
  keyLimits(key: Key): [Account, Bound][] {
    const accounts: readonly Account[] = [key, ...this.payers[key]]
    return accounts.flatMap((account) => this.bounds[account].map((bound): [Account, Bound] => [account, bound]))
  }

  /**
   * A request has just been granted its hold: that is within everything that limited it when it was made. Where an operator has
   * loosened that while it waited, others may have taken more meanwhile.
   */
  checkGranted(limits: readonly [Account, Bound][], now: number, held: readonly Held[]): void {
    for (const [account, bound] of limits) if (!this.loosened(bound)) this.checkBound(account, bound, { now, held })
  }

  private loosened(bound: Bound): boolean {
    for (let next = this.successors.get(bound); next; next = this.successors.get(next))
      if (next.limit > bound.limit || next.limitReset !== bound.limitReset) return true
    return false
  }

  /** So do the sums of the record, with all that is leased. */
  checkRecorded(key: Account, { spent, daily, weekly, monthly, leased }: Balance): void {
    for (const bound of this.bounds[key]) {
      if (this.changed.has(bound)) continue
      const { limit, limitReset } = bound
      const counted = Number(limitReset === null ? spent : { daily, weekly, monthly }[limitReset])
      assert.ok(
        counted + leased <= limit,
        `the record: ${key}: ${counted} spent and ${leased} leased of ${limit}, ${limitReset ?? 'in all'}`,
      )
    }
    assert.ok(Number(spent) <= this.spent(key), 'the record knows of no charge that never was')
  }

  /**
   * Wrong clocks: with one, a charge may count in the window in which its lease was granted: then only windows
   * without an end during this life are checked by the true time. What began before there was any limit ends without one.
   */
  private checkBound(account: Account, bound: Bound, { now, held }: { now: number; held: readonly Held[] }): void {
    const { limit, limitReset } = bound
    const start = limitReset === null ? 0 : windowStarts(now)[limitReset]
    if (start > this.begun && this.terms.skews.some((skew) => skew !== 0)) return
    const spent = this.spent(account, start, bound)
    const open = held.reduce((sum, each) => (counts(each, account) && this.concerns(bound, each) ? sum + each.amount : sum), 0)
    assert.ok(spent + open <= limit, `${account}: ${spent} spent and ${open} held of ${limit}, ${limitReset ?? 'in all'}`)
  }
}

/** Spending of a key counts at its payers as well. */
function counts({ key, payers }: Pick<Held, 'key' | 'payers'>, account: Account): boolean {
  return key === account || payers.includes(account)
}
