/** Further attempts may be a fifth of what is active, and at least three: a provider's storm never becomes ours. */
const SHARE = 0.2
const LEAST = 3

export class RetryBudget {
  private active = 0
  private retrying = 0

  enter(): void {
    this.active++
  }

  leave(): void {
    this.active--
  }

  /** @returns false if too many exchanges are on a further attempt already. */
  take(): boolean {
    if (this.retrying >= Math.max(LEAST, this.active * SHARE)) return false
    this.retrying++
    return true
  }

  release(): void {
    this.retrying--
  }
}
