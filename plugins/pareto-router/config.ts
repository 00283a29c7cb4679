import { badField, type JsonObject } from '../../src/plugin-api/index.ts'

export type PriceSource = 'prompt' | 'weighted_avg'

export interface ParetoConfig {
  /** From 0 to 1; it names a tier, not a bound. */
  minCodingScore: number
  /** USD per million tokens. Set: the best model up to this price, and no tiers. */
  maxPrice: number | undefined
  /** Price that is compared with `maxPrice`. */
  priceSource: PriceSource
  /** Source of the settings, for messages. */
  path: string
}

/** Score that chooses the high tier. */
const DEFAULT_SCORE = 0.66

/** @throws Fault 400 naming the field under `path`. */
export function parseConfig(settings: JsonObject, path: string): ParetoConfig {
  const { enabled = true, min_coding_score: score = DEFAULT_SCORE, max_price: price, price_source: source = 'prompt' } = settings
  if (typeof enabled !== 'boolean') throw badField(`${path}.enabled`, 'expected true or false')
  if (typeof score !== 'number' || !(score >= 0 && score <= 1)) throw badField(`${path}.min_coding_score`, 'expected a number from 0 to 1')
  if (price !== undefined && (typeof price !== 'number' || !Number.isFinite(price) || price < 0))
    throw badField(`${path}.max_price`, 'expected a number of at least 0, in USD per million input tokens')
  if (source !== 'prompt' && source !== 'weighted_avg') throw badField(`${path}.price_source`, "expected 'prompt' or 'weighted_avg'")
  return { minCodingScore: score, maxPrice: price, priceSource: source, path }
}
