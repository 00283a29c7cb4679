/** The cost rule: which candidates the price scale leaves. */
import type { Model, RouterView } from '../../src/plugin-api/index.ts'
import { type AutoConfig, TIERS } from './config.ts'

/** Percentile of the price scale that a trade-off reaches: 90 at 0, less 8 for each step, 10 at 10. */
const TOP_PERCENTILE = 90
const STEP = 8

/** USD per million prompt tokens and per million completion tokens together, as the order of endpoints has it. */
export function modelPrice(model: Model, view: Pick<RouterView, 'price'>): number | undefined {
  const price = view.price(model)
  return price === undefined ? undefined : price.prompt + price.completion
}

/**
 * Candidates whose price is in the band of the tier, or at most the ceiling of the trade-off.
 * Each of N candidates stands for an Nth of the price scale, the cheapest for the first; the rule takes every one
 * whose part it touches and whatever costs the same, so that it never leaves nothing.
 * Models of unknown price are left out, unless no price is known.
 */
export function withinCost(models: readonly Model[], config: Pick<AutoConfig, 'tradeoff' | 'tier'>, view: RouterView): Model[] {
  const priced = models.flatMap((model) => {
    const price = modelPrice(model, view)
    return price === undefined ? [] : [{ model, price }]
  })
  if (priced.length === 0) return [...models]
  const scale = priced.map(({ price }) => price).sort((a, b) => a - b)
  const [from, to] = config.tier === undefined ? [0, TOP_PERCENTILE - STEP * config.tradeoff] : TIERS[config.tier]
  const lowest = config.tier === undefined ? 0 : scale[Math.floor((from * scale.length) / 100)]
  const highest = scale[Math.ceil((to * scale.length) / 100) - 1]
  if (lowest === undefined || highest === undefined) return []
  return priced.filter(({ price }) => price >= lowest && price <= highest).map(({ model }) => model)
}
