/** Retries in an outage: the number that may run and fail for each model. */
import type { Model } from './catalog/types.ts'

/** Share of a model's active turns that may wait for a retry at the same moment, and the least number of them. */
const SHARE = 0.2
const LEAST = 3
/** Failed retries that a model can spend at once, and what each turn adds. */
const STOCK = 20
const REFILL = 0.1

/**
 * Budget per model for retries and further fallbacks at endpoints that are not known to work, so that an outage of a
 * provider does not multiply the calls. A retry waits within the share above and takes one from
 * the model's stock; a reply puts it back. So a lasting outage costs a tenth of a call per turn, however quickly the
 * endpoints fail, while retries that help are free. A model that is down spends only its own stock.
 */
export class RetryBudget {
  /**
   * By slug: a reload and a provider's new list make new objects of the same models. The names behind a wildcard share
   * one budget, since callers choose them.
   */
  private readonly budgets = new Map<string, ModelBudget>()

  /** A turn begins that may use these models. Several models share its refill, so that the sum stays a tenth of a call. */
  enter(models: readonly Model[]): void {
    for (const [i, model] of models.entries()) {
      const budget = this.of(model)
      budget.stock = Math.min(STOCK, budget.stock + REFILL / models.length)
      if (i === 0 || isFirst(model, i, models)) budget.active++
    }
  }

  /** The turn has ended. @param models the same as at its beginning. */
  leave(models: readonly Model[]): void {
    for (const [i, model] of models.entries()) if (i === 0 || isFirst(model, i, models)) this.of(model).active--
  }

  /** @returns undefined if too many turns of the model wait for a retry already, or too many of its retries have failed. */
  take(model: Model): RetryPermit | undefined {
    return this.of(model).take()
  }

  /** Forgets the budgets of other models, except where a turn is open. @param slugs of models and wildcards. */
  keep(slugs: ReadonlySet<string>): void {
    for (const [slug, budget] of this.budgets) if (!slugs.has(slug) && budget.active === 0) this.budgets.delete(slug)
  }

  private of(model: Model): ModelBudget {
    const key = budgetKey(model)
    let budget = this.budgets.get(key)
    if (!budget) {
      budget = new ModelBudget()
      this.budgets.set(key, budget)
    }
    return budget
  }
}

const budgetKey = ({ wildcard, slug }: Model): string => wildcard ?? slug

/** False where an earlier model of the turn has the same budget: the turn counts once. */
function isFirst(model: Model, at: number, models: readonly Model[]): boolean {
  const key = budgetKey(model)
  return models.findIndex((each) => budgetKey(each) === key) === at
}

class ModelBudget {
  /** Turns that may use the model now. */
  active = 0
  stock = STOCK
  private waiting = 0

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
   * @param harmless true where the endpoint was not failing after all: the stock gets its permit back.
   */
  end(harmless: boolean): void
}
