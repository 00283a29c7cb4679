/** A lease as its process sees it: what of it is left, what open requests hold, and under which limit it was taken. */
import type { Allowance } from '../ledger/credit.ts'

/**
 * The record knows of a lease of at least `left` plus what this process has charged and not handed in. It may know of
 * more, where a charge passed its hold or a call failed halfway; never of less. So nothing is spent that is not leased.
 */
export class Lease {
  /** Nano-dollars leased and not charged; below 0 while charges wait that no lease covers. */
  left = 0
  /** Nano-dollars of open holds. */
  held = 0
  /** Nano-dollars charged and not handed in. */
  untaken = 0
  /** True where the record may know of a larger lease than this process does. */
  doubtful = false
  private under: Allowance | undefined

  /** Nano-dollars that no open hold needs. */
  get idle(): number {
    return Math.max(0, this.left - this.held)
  }

  /** True where `amount` more can be held. A lease of a looser limit serves nobody under a tighter one. */
  covers(amount: number, allowance: Allowance): boolean {
    return this.held + amount <= this.left && !this.outgrown(allowance)
  }

  /** True where idle parts were leased under a limit that allowed more than this one. */
  outgrown(allowance: Allowance): boolean {
    const { under } = this
    if (!under || allowance.limit === null || this.left <= this.held) return false
    if (under.limit === null || allowance.limit < under.limit) return true
    return (allowance.limitReset ?? null) !== (under.limitReset ?? null)
  }

  /** Nano-dollars that are missing for `amount` more. */
  missing(amount: number): number {
    return Math.max(0, this.held + amount - this.left)
  }

  grant(amount: number, { limit, limitReset }: Allowance): void {
    this.left += amount
    this.under = { limit, limitReset }
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
    if (this.left < 0 && this.under) this.doubtful = true
  }

  /** True where charges that passed their lease count against it although they are handed in. */
  get overdue(): boolean {
    return this.left < -this.untaken
  }

  /** Charges that passed their lease end to count against it once they are handed in. */
  forgive(): void {
    if (this.overdue) this.left = -this.untaken
  }
}
