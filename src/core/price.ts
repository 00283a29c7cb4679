/** Prices in attodollars per token or unit: rates by kind, and overrides that hold for long prompts, at hours of the day, or from a day on. */

import type { Rate } from './money.ts'
import { holds, type PriceWindow } from './price-window.ts'
import { TOKEN_KINDS, type TokenRates } from './token-kinds.ts'

/** Rates in attodollars per token or per unit; absent kinds fall back as `ledger/pricing.ts` says. */
export interface Rates extends TokenRates {
  readonly image?: Rate | undefined
  readonly request?: Rate | undefined
  /** Per search that the provider itself ran. */
  readonly webSearch?: Rate | undefined
  /** Per gigabyte of memory of a container that the provider starts for a request. */
  readonly container?: Rate | undefined
  /** Per call of a tool that the provider runs. */
  readonly tools?: Readonly<Partial<Record<PaidTool, Rate>>> | undefined
  /** Per token that its tool for images reads and writes, whichever model draws. */
  readonly drawing?: Pick<Rates, 'prompt' | 'completion'> | undefined
  /** Part of fees that the provider states which is charged, in millionths; absent: all of it. */
  readonly feeShare?: bigint | undefined
}

/**
 * Tools that providers run and take a fee for, beside their search of the web; each names its calls `<type>_call` in the output. No caller
 * names `document_search`: xAI runs it over the files of a request.
 */
export const PAID_TOOLS = ['code_interpreter', 'file_search', 'x_search', 'document_search'] as const

export type PaidTool = (typeof PAID_TOOLS)[number]

/** Kinds that are one rate each. */
export type RateKind = Exclude<keyof Rates, 'tools' | 'drawing' | 'feeShare'>

/** Rates in place of the price's own where every condition holds; of several the later one wins, kind by kind. */
export interface PriceOverride {
  /** Holds for prompts of strictly more tokens. */
  readonly minPromptTokens?: number
  readonly window?: PriceWindow
  /** Holds from this moment on, in milliseconds since the epoch. */
  readonly from?: number
  readonly rates: Partial<Pick<Rates, RateKind>>
}

/** A price as the catalogue has it. */
export interface Price extends Rates {
  /** Searches that the model may run unasked; absent where it runs none. */
  readonly ownSearches?: number | undefined
  /** At most `MAX_OVERRIDES`; absent where there are none. */
  readonly overrides?: readonly PriceOverride[] | undefined
  /** Factors on the rates per token by the region that a request names, in thousandths; absent where there are none. */
  readonly regions?: ReadonlyMap<string, bigint> | undefined
}

/** So many conditions fit the bits of one small integer. */
export const MAX_OVERRIDES = 16

/** A price as it is at one moment: what is left to know is the length of the prompt. */
export interface PriceSnapshot extends Rates {
  readonly ownSearches?: number | undefined
  readonly overrides?: undefined | undefined
  readonly regions?: ReadonlyMap<string, bigint> | undefined
  /** By rising threshold; absent where the length changes nothing. */
  readonly tiers?: readonly PriceTier[] | undefined
}

interface PriceTier {
  /** Prompt tokens that must be passed. */
  readonly above: number
  readonly rates: Rates
}

/** Facts that select the overrides of a price. */
export interface PriceMoment {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly promptTokens: number
}

/**
 * Effect of an override at a moment. 0: none. 1: it replaces the price. 2: it may still come into force, and raises each rate that is lower
 * than its own.
 * The effects of all overrides of a price are the digits of one number.
 */
type Effect = 0 | 1 | 2

/** Snapshots by the effects of the overrides: a catalogue's price objects live long, so each is made once. */
const snapshots = new WeakMap<Price, Map<number, PriceSnapshot>>()

/** The price at this time. @param at milliseconds since the epoch. */
export function priceAt(price: Price, at: number): PriceSnapshot {
  if (price.overrides === undefined) return price as PriceSnapshot
  return snapshotBy(price, ({ window, from = 0 }) => (at >= from && holds(window, at) ? 1 : 0))
}

/** A request ends within this time, in milliseconds. */
const MAX_REQUEST_MS = 86_400_000

/**
 * The price at its dearest hour, kind by kind: what a request may come to that counts when its answer ends, whenever that is.
 * @param at when it begins, in milliseconds since the epoch.
 */
export function dearestPrice(price: Price, at: number): PriceSnapshot {
  if (price.overrides === undefined) return price as PriceSnapshot
  return snapshotBy(price, ({ window, from = 0 }) => (at + MAX_REQUEST_MS < from ? 0 : window === undefined && at >= from ? 1 : 2))
}

function snapshotBy(price: Price, readEffect: (override: PriceOverride) => Effect): PriceSnapshot {
  const { overrides = [], ...own } = price
  const key = overrides.reduce((digits, override) => digits * 3 + readEffect(override), 0)
  let known = snapshots.get(price)
  if (!known) {
    known = new Map()
    snapshots.set(price, known)
  }
  let snapshot = known.get(key)
  if (!snapshot) {
    snapshot = takeSnapshot(
      own,
      overrides.map((override) => ({ ...override, effect: readEffect(override) })).filter(({ effect }) => effect > 0),
    )
    known.set(key, snapshot)
  }
  return snapshot
}

type Active = PriceOverride & { readonly effect: Effect }

function takeSnapshot(own: Rates, active: readonly Active[]): PriceSnapshot {
  const thresholds = [...new Set(active.flatMap(({ minPromptTokens }) => minPromptTokens ?? []))].sort((a, b) => a - b)
  const base = laidOver(own, active, -1)
  if (thresholds.length === 0) return base
  return { ...base, tiers: thresholds.map((above) => ({ above, rates: laidOver(own, active, above) })) }
}

/** The rates for prompts just above this length. */
function laidOver(own: Rates, active: readonly Active[], above: number): Rates {
  const laid: { -readonly [kind in keyof Rates]: Rates[kind] } = { ...own }
  for (const { minPromptTokens = -1, effect, rates } of active) {
    if (minPromptTokens > above) continue
    for (const [kind, rate] of Object.entries(rates) as [RateKind, Rate][])
      if (effect === 1 || rate > (laid[kind] ?? -1n)) laid[kind] = rate
  }
  return laid
}

/** Snapshots by the region: each is made once. */
const regional = new WeakMap<PriceSnapshot, Map<string, PriceSnapshot>>()

/** The price where a request names a region; the same where the price has no factor for it. */
export function priceIn(snapshot: PriceSnapshot, region: string): PriceSnapshot {
  const factor = snapshot.regions?.get(region)
  if (factor === undefined) return snapshot
  let known = regional.get(snapshot)
  if (!known) {
    known = new Map()
    regional.set(snapshot, known)
  }
  let scaled = known.get(region)
  if (!scaled) {
    const { tiers } = snapshot
    const own = scaledBy(snapshot, factor)
    scaled = tiers === undefined ? own : { ...own, tiers: tiers.map(({ above, rates }) => ({ above, rates: scaledBy(rates, factor) })) }
    known.set(region, scaled)
  }
  return scaled
}

/** @param factor in thousandths. */
function scaledBy<Kind extends Rates>(rates: Kind, factor: bigint): Kind {
  const scaled: { -readonly [kind in keyof Rates]: Rates[kind] } = { ...rates }
  for (const { rate: kind } of TOKEN_KINDS) {
    const rate = rates[kind]
    if (rate !== undefined) scaled[kind] = (rate * factor + 999n) / 1000n
  }
  return scaled as Kind
}

/** A part of a price, or more than all of it: every rate rounded up, so that nothing costs less. @param millionths of it. */
export function shareOfPrice(price: Price, millionths: bigint): Price {
  const { ownSearches, overrides, regions, ...rates } = price
  const share = ratesShare(rates, millionths)
  return {
    ...share,
    feeShare: millionths,
    ...(ownSearches === undefined ? {} : { ownSearches }),
    ...(regions === undefined ? {} : { regions }),
    ...(overrides === undefined ? {} : { overrides: overrides.map((each) => ({ ...each, rates: ratesShare(each.rates, millionths) })) }),
  }
}

function ratesShare<Kind extends object>(rates: Kind, millionths: bigint): Kind {
  const shares = Object.entries(rates).map(([kind, rate]: [string, unknown]) => {
    if (typeof rate === 'bigint') return [kind, (rate * millionths + 999_999n) / 1_000_000n]
    return [kind, typeof rate === 'object' && rate !== null ? ratesShare(rate, millionths) : rate]
  })
  return Object.fromEntries(shares) as Kind
}

/** The rates for a prompt of this length. */
export function ratesFor(price: PriceSnapshot, promptTokens: number): Rates {
  const { tiers } = price
  let rates: Rates = price
  if (tiers !== undefined) for (const tier of tiers) if (promptTokens > tier.above) rates = tier.rates
  return rates
}

/** All rates that a prompt of at most this length may get. */
export function ratesWithin(price: PriceSnapshot, promptTokens: number): readonly Rates[] {
  const rates: Rates[] = [price]
  for (const tier of price.tiers ?? []) if (promptTokens > tier.above) rates.push(tier.rates)
  return rates
}

/** The rates at a moment; the price's own where none is given. */
export function ratesAt(price: Price, moment: PriceMoment | undefined): Rates {
  if (price.overrides === undefined || moment === undefined) return price
  return ratesFor(priceAt(price, moment.at), moment.promptTokens)
}
