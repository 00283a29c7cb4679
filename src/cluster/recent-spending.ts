/** How much a key spends in about ten seconds: the size of the slices in which its credit is leased. */

/** Milliseconds over which a charge fades to a third. */
const FADE = 10_000
/** No slice is larger than this part of the limit: the other processes need some as well. */
const SHARE = 8

export class RecentSpending {
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
