/** `max_price`: the caller's price ceilings as exact rates, compared with an endpoint's own. */
import type { ProviderPreferences } from '../canon/gateway-fields.ts'
import type { Endpoint, Price } from '../catalog/types.ts'
import { badField } from '../core/faults.ts'
import type { Rate } from '../core/money.ts'
import { rateFromUsd, rateFromUsdPerMillion } from '../core/money.ts'

type Kind = 'prompt' | 'completion' | 'request' | 'image' | 'audio'
export type Ceiling = readonly { readonly kind: Kind; readonly rate: Rate; readonly text: string }[]

const PER_MILLION: ReadonlySet<Kind> = new Set(['prompt', 'completion', 'audio'])
const KINDS: readonly Kind[] = ['prompt', 'completion', 'request', 'image', 'audio']
/** Past this many dollars a ceiling holds back nothing, and a decimal of it would no longer be exact. */
const NO_LIMIT = 1e12
const DECIMAL = /^\d+(\.\d+)?(e[+-]?\d+)?$/i

/**
 * USD per million tokens for prompt, completion and audio, USD per unit for request and image; strings and numbers alike.
 * @throws Fault 400 naming the member that is no price.
 */
export function parseCeiling(maxPrice: ProviderPreferences['max_price']): Ceiling {
  const ceiling: { kind: Kind; rate: Rate; text: string }[] = []
  for (const kind of KINDS) {
    const value = maxPrice?.[kind]
    if (value === undefined || value === null) continue
    const rate = parseRate(value, PER_MILLION.has(kind))
    if (rate === undefined) throw badField(`provider.max_price.${kind}`, 'expected a price in USD, a number or string not below 0')
    if (rate !== 'unlimited') ceiling.push({ kind, rate, text: String(value) })
  }
  return ceiling
}

/** The first kind whose price passes its ceiling; a price nobody knows passes every ceiling. */
export function overCeiling(endpoint: Endpoint, ceiling: Ceiling): string | undefined {
  if (ceiling.length === 0 || endpoint.price === 'free') return undefined
  if (endpoint.price === 'unpriced') return 'the endpoint has no known price'
  for (const { kind, rate, text } of ceiling) {
    if (priceOf(endpoint.price, kind) > rate) return `${kind} price is above ${text}`
  }
  return undefined
}

function priceOf(price: Price, kind: Kind): Rate {
  if (kind === 'audio') return price.audio ?? price.prompt
  return price[kind] ?? 0n
}

function parseRate(value: string | number, perMillion: boolean): Rate | 'unlimited' | undefined {
  const exact = perMillion ? rateFromUsdPerMillion : rateFromUsd
  const text = String(value).trim()
  const rate = exact(text)
  if (rate !== undefined) return rate
  if (!DECIMAL.test(text)) return undefined
  const number = Number(text)
  return number >= NO_LIMIT ? 'unlimited' : exact(number.toFixed(12))
}
