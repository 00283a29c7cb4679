/** `max_price`: price ceilings as exact rates, compared with an endpoint's own. Guardrails have such ceilings, too. */

import { badField } from '../../core/faults.ts'
import type { Rate } from '../../core/money.ts'
import { rateFromUsd, rateFromUsdPerMillion } from '../../core/money-text.ts'
import { type PriceMoment, type Rates, ratesAt } from '../../core/price.ts'
import type { Endpoint } from '../catalog/types.ts'
import { criterion } from './criterion.ts'

export const maxPrice = criterion({
  name: 'max_price',
  fields: {
    max_price: {
      kind: 'prices',
      perMillion: { prompt: 'USD per million input tokens.', completion: 'USD per million output tokens.' },
      perUnit: { request: 'USD per request.', image: 'USD per image.', audio: 'USD per audio token.' },
      text: 'Removes endpoints above these prices, and those without a known price. USD per million tokens for `prompt` and `completion`; per request, per image, per audio token. Compared exactly, without rounding.',
    },
  },
  refusal: { code: 'constraint_filtered', excludedBy: 'max_price' },
  removes: 'that costs more, or whose price is not known',
  demand({ max_price: prices }, { priceMoment: moment }) {
    const ceiling = prices && parseCeiling(prices)
    return ceiling?.length ? { ceiling, moment } : undefined
  },
  test: (endpoint, { ceiling, moment }) => overCeiling(endpoint, ceiling, moment) === undefined,
  explain: (endpoint, { ceiling, moment }) => overCeiling(endpoint, ceiling, moment) ?? '',
})

type Kind = 'prompt' | 'completion' | 'request' | 'image' | 'audio'
type Prices = { [kind in Kind]?: string | number }
export type Ceiling = readonly { readonly kind: Kind; readonly rate: Rate; readonly text: string }[]

const PER_MILLION: ReadonlySet<Kind> = new Set(['prompt', 'completion'])
const KINDS: readonly Kind[] = ['prompt', 'completion', 'request', 'image', 'audio']
/** Past so many digits before the point a ceiling holds back nothing. */
const MAX_DIGITS = 12
/** Decimals of a price, by its unit (`core/money.ts`). */
const PER_MILLION_DECIMALS = 12
const PER_UNIT_DECIMALS = 18
const DECIMAL = /^(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i

/**
 * USD per million tokens for prompt and completion, USD per unit for request, image and audio (a token of it); strings and numbers alike.
 * @throws Fault 400 naming the member that is no price.
 */
export function parseCeiling(prices: Prices | undefined): Ceiling {
  const ceiling: { kind: Kind; rate: Rate; text: string }[] = []
  for (const kind of KINDS) {
    const value = prices?.[kind]
    if (value === undefined || value === null) continue
    const rate = parseRate(value, PER_MILLION.has(kind))
    if (rate === undefined) throw badField(`provider.max_price.${kind}`, 'expected a price in USD, a number or string not below 0')
    if (rate !== 'unlimited') ceiling.push({ kind, rate, text: String(value) })
  }
  return ceiling
}

/** The first kind whose price at this moment passes its ceiling; an unknown price passes every ceiling. */
export function overCeiling(endpoint: Endpoint, ceiling: Ceiling, moment?: PriceMoment): string | undefined {
  if (ceiling.length === 0 || endpoint.price === 'free') return undefined
  if (endpoint.price === 'unpriced') return 'the endpoint has no known price'
  const rates = ratesAt(endpoint.price, moment)
  for (const { kind, rate, text } of ceiling) {
    if (kindRate(rates, kind) > rate) return `${kind} price is above ${text}`
  }
  return undefined
}

function kindRate(price: Rates, kind: Kind): Rate {
  if (kind === 'audio') return price.audio ?? price.prompt
  return price[kind] ?? 0n
}

function parseRate(value: string | number, perMillion: boolean): Rate | 'unlimited' | undefined {
  const [, whole, fraction = '', exponent = '0'] = DECIMAL.exec(String(value).trim()) ?? []
  if (whole === undefined) return undefined
  const digits = whole + fraction
  const point = whole.length + Number(exponent)
  const units =
    point > 0
      ? digits
          .slice(0, point)
          .padEnd(Math.min(point, digits.length + MAX_DIGITS + 1), '0')
          .replace(/^0+(?=.)/, '')
      : '0'
  if (units.length > MAX_DIGITS) return 'unlimited'
  const decimals = perMillion ? PER_MILLION_DECIMALS : PER_UNIT_DECIMALS
  const rest = '0'.repeat(Math.min(Math.max(0, -point), decimals)) + digits.slice(Math.max(0, point))
  // What is cut off is finer than any price: none lies between the ceiling and the shorter one.
  return (perMillion ? rateFromUsdPerMillion : rateFromUsd)(`${units}.${rest.slice(0, decimals)}0`)
}
