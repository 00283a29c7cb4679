/** A lease as its process sees it: what of it is left, what open requests hold, and under which allowances it was granted. */
import type { Allowance } from '../ledger/allowance.ts'

/**
 * The record knows of a lease of at least `left` plus what this process has charged and not forwarded. It may know of
 * more, where a charge passed its hold or a call failed halfway; never of less. So nothing is spent that is not leased.
 */
export class Lease {
  /** Nano-dollars leased and not charged; below 0 while charges wait that no lease covers. */
  left = 0
  /** Nano-dollars of open holds. */
  held = 0
  /** Nano-dollars charged and not forwarded. */
  untaken = 0
  /** True where the record may know of a larger lease than this process does. */
  doubtful = false
  /** When the record last granted, all leases together stayed within these. */
  private under: readonly Allowance[] = []

  /** Nano-dollars that no open hold needs; below 0 where holds and charges pass what is leased. */
  get spare(): number {
    return this.left - this.held
  }

  /** The same, never below 0: what may be given back. */
  get idle(): number {
    return Math.max(0, this.spare)
  }

  /** True where `amount` more can be held under these allowances without another word of the record. */
  covers(amount: number, allowances: readonly Allowance[]): boolean {
    return this.held + amount <= this.left && (amount === 0 || !this.outgrown(allowances))
  }

  /**
   * True where the idle part was granted without a look at one of these allowances, or under another limit: then it has to
   * go back before the request is served. A tighter limit does not do: under the looser one that may have followed, other
   * processes may have spent more since.
   */
  outgrown(allowances: readonly Allowance[]): boolean {
    if (this.left <= this.held) return false
    const { under } = this
    let next = 0
    for (const allowance of allowances) {
      if (allowance.limit === null) continue
      // Nearly always both have the same allowances in the same order.
      const granted = under[next++]
      if (!(granted && isSameAllowance(granted, allowance)) && !under.some((each) => isSameAllowance(each, allowance))) return true
    }
    return false
  }

  /** Nano-dollars that are missing for `amount` more. */
  missing(amount: number): number {
    return Math.max(0, this.held + amount - this.left)
  }

  /** @param allowances under all of which the record has granted it. */
  grant(amount: number, allowances: readonly Allowance[]): void {
    this.add(amount)
    this.under = allowances
  }

  /** The same where the record is beyond some allowance. */
  add(amount: number): void {
    // The record may have taken the charges that this pays for before, when there was no lease that they left.
    if (this.left < 0 && amount > 0) this.doubtful = true
    this.left += amount
  }

  /** Takes the idle part out, to be given back. @param most nano-dollars. @returns how much that is. */
  takeIdle(most: number = Number.MAX_SAFE_INTEGER): number {
    const amount = Math.min(most, this.idle)
    this.left -= amount
    return amount
  }

  /** Nothing of it may be spent any more. */
  void(): void {
    this.left = Math.min(this.left, 0)
    this.doubtful = true
  }

  /** @throws RangeError where more is given back than was held. */
  release(held: number): void {
    if (held > this.held) throw new RangeError('more is given back than was held')
    this.held -= held
  }

  charge(cost: number): void {
    this.left = Math.max(this.left - cost, -Number.MAX_SAFE_INTEGER)
    // What is leased from here on may pay for it, or the record may have written it off before.
    if (this.left < 0 && this.under.length > 0) this.doubtful = true
  }

  /** True where charges that passed their lease count against it although they are forwarded. */
  get overdue(): boolean {
    return this.left < -this.untaken
  }

  /** Charges that passed their lease end to count against it once they are forwarded. */
  forgive(): void {
    if (this.overdue) this.left = -this.untaken
  }
}

/** True for the same limit, in the same window of the same account. */
export function isSameAllowance(one: Allowance, other: Allowance): boolean {
  return one.limit === other.limit && (one.limitReset ?? null) === (other.limitReset ?? null) && (one.level ?? 0) === (other.level ?? 0)
}
