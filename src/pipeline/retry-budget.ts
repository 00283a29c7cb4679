import type { Model } from '../catalog/types.ts'

/** Share of a model's active turns that may wait for a retry at the same moment, and the least number of them. */
const SHARE = 0.2
const LEAST = 3
/** Failed retries that a model can spend at once, and what each turn adds. */
const STOCK = 20
const REFILL = 0.1

/**
 * Budget per model for retries and further fallbacks at endpoints that are not known to work, so that an outage of a
 * provider does not multiply the calls (issue 15 section 4). A retry waits within the share above and takes one from
 * the model's stock; a reply puts it back. So a lasting outage costs a tenth of a call per turn, however quickly the
 * endpoints fail, while retries that help are free. A model that is down spends only its own stock.
 */
export class RetryBudget {
  /** Models of an earlier configuration go with it. */
  private readonly budgets = new WeakMap<Model, ModelBudget>()

  /** A turn begins that may use these models. Several models share its refill, so that the sum stays a tenth of a call. */
  enter(models: readonly Model[]): void {
    for (const model of models) this.of(model).enter(REFILL / models.length)
  }

  /** The turn has ended. @param models the same as at its beginning. */
  leave(models: readonly Model[]): void {
    for (const model of models) this.of(model).leave()
  }

  /** @returns undefined if too many turns of the model wait for a retry already, or too many of its retries have failed. */
  take(model: Model): RetryPermit | undefined {
    return this.of(model).take()
  }

  private of(model: Model): ModelBudget {
    let budget = this.budgets.get(model)
    if (!budget) {
      budget = new ModelBudget()
      this.budgets.set(model, budget)
    }
    return budget
  }
}

class ModelBudget {
  private active = 0
  private waiting = 0
  private stock = STOCK

  enter(refill: number): void {
    this.active++
    this.stock = Math.min(STOCK, this.stock + refill)
  }

  leave(): void {
    this.active--
  }

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

/** Permission for one retry or further fallback. */
export interface RetryPermit {
  /**
   * Call it when the first content has come, or when the attempt has failed; only the first call counts.
   * @param harmless true where the endpoint was not in trouble after all: the stock gets its permit back.
   */
  end(harmless: boolean): void
}
