/** The best models up to a price, those first that no other beats at the same money. */
import type { Model } from '../../src/plugin-api/index.ts'
import { codingScore } from './tiers.ts'

export interface Offer {
  readonly model: Model
  /** USD per million tokens. */
  readonly price: number
}

/**
 * Best coding score first, of equals the cheaper. The Pareto frontier (no model is as good for less, or better for as much)
 * leads; the models behind it follow.
 */
export function frontierFirst(offers: readonly Offer[]): Model[] {
  const best = offers.toSorted((a, b) => codingScore(b.model) - codingScore(a.model) || a.price - b.price)
  const frontier: Model[] = []
  const behind: Model[] = []
  let cheapest = Number.POSITIVE_INFINITY
  for (const { model, price } of best) {
    if (price < cheapest) frontier.push(model)
    else behind.push(model)
    cheapest = Math.min(cheapest, price)
  }
  return [...frontier, ...behind]
}
