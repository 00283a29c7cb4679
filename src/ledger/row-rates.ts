/** The rates of a charge as its row keeps them. */
import { type PriceSnapshot, type Rates, ratesFor } from '../core/money.ts'
import { rateFromUsdPerMillion, rateText } from '../core/money-text.ts'
import type { Usage } from '../dialects/canon/usage.ts'
import type { Extras } from './pricing.ts'

/** Kinds whose counts have a column of their own in the ledger: with the rates of these the row says all. */
const COLUMNS = ['prompt', 'completion', 'cached', 'cacheWrite', 'reasoning'] as const

const texts = new WeakMap<Rates, string>()

/**
 * The rates of a usage that the columns of its row hold as a whole, USD per million tokens; undefined where it is made up of more.
 * The text of a price is made once.
 */
export function plainRates(usage: Usage, tariff: PriceSnapshot, extras: Extras | undefined): string | undefined {
  const rates = ratesFor(tariff, usage.input)
  // The columns do not say which lifetime's price was taken.
  if (usage.cacheWrite > 0 && rates.cacheWrite === undefined && rates.cacheWriteLong !== undefined) return undefined
  if (!isPlain(usage) || rates.request !== undefined || (extras && (extras.images || extras.containers))) return undefined
  let text = texts.get(rates)
  if (text === undefined) {
    const each = COLUMNS.map((kind) => rates[kind]).map((rate) => (rate === undefined ? '-' : rateText(rate * 1_000_000n)))
    text = each.join(' ').replace(/( -)+$/, '')
    texts.set(rates, text)
  }
  return text
}

function isPlain({
  audioInput,
  audioOutput,
  imageOutput,
  cacheWriteLong,
  webSearches,
  toolCalls,
  others,
  inputSplit,
  fees,
}: Usage): boolean {
  if (fees || audioInput > 0 || audioOutput > 0 || imageOutput > 0) return false
  return !cacheWriteLong && !webSearches && toolCalls === undefined && others === undefined && !inputSplit?.image
}

/** What `plainRates` has written. */
export function readRates(text: string): PriceSnapshot {
  const read = text.split(' ').map((rate) => (rate === '-' ? undefined : rateFromUsdPerMillion(rate)))
  const [prompt = 0n, completion = 0n, cached, cacheWrite, reasoning] = read
  return { prompt, completion, cached, cacheWrite, reasoning }
}
