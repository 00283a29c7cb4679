/** The rates of a charge as its row keeps them. */
import { LEDGER_COUNTS } from '../core/ledger-counts.ts'
import { rateFromUsdPerMillion, rateText } from '../core/money-text.ts'
import { type PriceSnapshot, type Rates, ratesFor } from '../core/price.ts'
import { TOKEN_KINDS, type TokenRate } from '../core/token-kinds.ts'
import type { Usage } from '../dialects/canon/usage.ts'
import type { Extras } from './pricing.ts'
import { hasOtherKinds } from './token-parts.ts'

/** Rates of the kinds whose counts have a column of their own in the ledger: with these the row says all. */
const COLUMNS: readonly TokenRate[] = LEDGER_COUNTS.map(({ count }) => {
  if (count === 'input') return 'prompt'
  return TOKEN_KINDS.find((kind) => 'count' in kind && kind.count === count)?.rate ?? 'completion'
})

const texts = new WeakMap<Rates, string>()

/**
 * The rates of a usage that the columns of its row hold as a whole, USD per million tokens; undefined where it is made up of more.
 * The text of a price is made once.
 */
export function plainRates(usage: Usage, tariff: PriceSnapshot, extras: Extras | undefined): string | undefined {
  if (!isPlain(usage) || (extras && (extras.images || extras.containers))) return undefined
  const rates = tariff.tiers === undefined ? tariff : ratesFor(tariff, usage.input)
  // The columns do not say which lifetime's price was taken.
  if (usage.cacheWrite > 0 && rates.cacheWrite === undefined && rates.cacheWriteLong !== undefined) return undefined
  if (rates.request !== undefined) return undefined
  let text = texts.get(rates)
  if (text === undefined) {
    const each = COLUMNS.map((kind) => rates[kind]).map((rate) => (rate === undefined ? '-' : rateText(rate * 1_000_000n)))
    text = each.join(' ').replace(/( -)+$/, '')
    texts.set(rates, text)
  }
  return text
}

function isPlain(usage: Usage): boolean {
  const { webSearches, toolCalls, others, fees } = usage
  return !fees && !hasOtherKinds(usage) && !webSearches && toolCalls === undefined && others === undefined
}

/** Parses rates that `plainRates` has written. */
export function readRates(text: string): PriceSnapshot {
  const read = text.split(' ').map((rate) => (rate === '-' ? undefined : rateFromUsdPerMillion(rate)))
  return { prompt: 0n, completion: 0n, ...Object.fromEntries(COLUMNS.map((kind, at) => [kind, read[at] ?? (at < 2 ? 0n : undefined)])) }
}
