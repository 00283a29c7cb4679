/**
 * Further attempts at endpoints that are not known to be sound: a provider's storm never becomes ours.
 * Those that wait for an answer may be a fifth of the active exchanges, and at least three. On top of that each takes
 * one from a stock that ten requests fill by one, and an answer puts it back: so a lasting storm costs a tenth of a
 * call per request, however quickly it fails, while trouble that a further attempt mends costs nothing.
 */
const SHARE = 0.2
const LEAST = 3
const STOCK = 20
const REFILL = 0.1

export class RetryBudget {
  private active = 0
  private waiting = 0
  private stock = STOCK

  enter(): void {
    this.active++
    this.stock = Math.min(STOCK, this.stock + REFILL)
  }

  leave(): void {
    this.active--
  }

  /** @returns undefined if too many exchanges are on a further attempt already, or too many such attempts have failed. */
  take(): RetryPermit | undefined {
    if (this.stock < 1 || this.waiting >= Math.max(LEAST, this.active * SHARE)) return undefined
    this.stock--
    this.waiting++
    let open = true
    return {
      end: (harmless) => {
        if (!open) return
        open = false
        this.waiting--
        if (harmless) this.stock = Math.min(STOCK, this.stock + 1)
      },
    }
  }
}

/** Leave for one further attempt. */
export interface RetryPermit {
  /**
   * Call it when the first content has come, or when the attempt has failed; only the first call counts.
   * @param harmless true where the endpoint was not in trouble after all: the attempt has cost nothing.
   */
  end(harmless: boolean): void
}
