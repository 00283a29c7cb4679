/**
 * Prices: rates by kind, and the overrides that hold for long prompts, at hours of the day, or from a day on; and numbers of price lists
 * as decimal strings, without the noise of binary fractions.
 */
import type { Rate } from './money.ts'

/** Rates in attodollars per token or per unit; absent kinds fall back as `ledger/pricing.ts` says. */
export interface Rates {
  readonly prompt: Rate
  readonly completion: Rate
  readonly cached?: Rate | undefined
  readonly cacheWrite?: Rate | undefined
  /** Cache writes that are kept for an hour. */
  readonly cacheWriteLong?: Rate | undefined
  readonly reasoning?: Rate | undefined
  readonly imageOutput?: Rate | undefined
  readonly audioOutput?: Rate | undefined
  readonly image?: Rate | undefined
  readonly audio?: Rate | undefined
  /** Per token of an image that is read. */
  readonly imageInput?: Rate | undefined
  readonly request?: Rate | undefined
  /** Per search that the provider itself ran. */
  readonly webSearch?: Rate | undefined
  /** Per gigabyte of memory of a container that the provider starts for a request. */
  readonly container?: Rate | undefined
  /** Per call of a tool that the provider runs. */
  readonly tools?: Readonly<Partial<Record<PaidTool, Rate>>> | undefined
  /** Per token that its tool for images reads and writes, whichever model draws. */
  readonly drawing?: Pick<Rates, 'prompt' | 'completion'> | undefined
}

/** Tools that providers run and take a fee for, beside their search of the web; each names its calls `<type>_call` in the output. */
export const PAID_TOOLS = ['code_interpreter', 'file_search', 'x_search'] as const
export type PaidTool = (typeof PAID_TOOLS)[number]

/** Kinds that are one rate each. */
export type RateKind = Exclude<keyof Rates, 'tools' | 'drawing'>

/** Minutes since 00:00 UTC; from `start`, before `end`, over midnight where `end` comes first. */
export interface DayWindow {
  readonly start: number
  readonly end: number
}

/** Rates in place of the price's own where every condition holds; of several the later one wins, kind by kind. */
export interface PriceOverride {
  /** Holds for prompts of strictly more tokens. */
  readonly minPromptTokens?: number
  readonly window?: DayWindow
  /** Holds from this moment on, in milliseconds since the epoch. */
  readonly from?: number
  readonly rates: Partial<Pick<Rates, RateKind>>
}

/** A price as the catalogue has it. */
export interface Price extends Rates {
  /** At most `MOST_OVERRIDES`; absent where there are none. */
  readonly overrides?: readonly PriceOverride[] | undefined
  /** Factors on the rates per token by the region that a request names, in thousandths; absent where there are none. */
  readonly regions?: ReadonlyMap<string, bigint> | undefined
}

/** So many conditions fit the bits of one small integer. */
export const MOST_OVERRIDES = 16

/** A price as it is at one moment: what is left to know is the length of the prompt. */
export interface PriceSnapshot extends Rates {
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

/** What decides between the overrides of a price. */
export interface PriceMoment {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly promptTokens: number
}

const MINUTE = 60_000
const MINUTES_PER_DAY = 1440

/** Snapshots by the set of overrides whose time it is: a catalogue's price objects live long, so each is made once. */
const snapshots = new WeakMap<Price, Map<number, PriceSnapshot>>()

/** The price at this time. @param at milliseconds since the epoch. */
export function priceAt(price: Price, at: number): PriceSnapshot {
  const { overrides } = price
  if (overrides === undefined) return price as PriceSnapshot
  let open = 0
  for (const [i, { window, from = 0 }] of overrides.entries()) if (at >= from && holds(window, at)) open |= 1 << i
  let known = snapshots.get(price)
  if (!known) {
    known = new Map()
    snapshots.set(price, known)
  }
  let snapshot = known.get(open)
  if (!snapshot) {
    snapshot = snapshotOf(
      price,
      overrides.filter((_, i) => (open & (1 << i)) !== 0),
    )
    known.set(open, snapshot)
  }
  return snapshot
}

function holds(window: DayWindow | undefined, at: number): boolean {
  if (window === undefined) return true
  const minute = Math.floor(at / MINUTE) % MINUTES_PER_DAY
  const { start, end } = window
  return start < end ? minute >= start && minute < end : minute >= start || minute < end
}

function snapshotOf({ overrides: _, ...own }: Price, active: readonly PriceOverride[]): PriceSnapshot {
  const thresholds = [...new Set(active.flatMap(({ minPromptTokens }) => minPromptTokens ?? []))].sort((a, b) => a - b)
  const base = laidOver(own, active, -1)
  if (thresholds.length === 0) return base
  return { ...base, tiers: thresholds.map((above) => ({ above, rates: laidOver(own, active, above) })) }
}

/** The rates for prompts just above this length. */
function laidOver(own: Rates, active: readonly PriceOverride[], above: number): Rates {
  const applying = active.filter(({ minPromptTokens = -1 }) => minPromptTokens <= above)
  return Object.assign({}, own, ...applying.map(({ rates }) => rates)) as Rates
}

const PER_TOKEN = [
  'prompt',
  'completion',
  'cached',
  'cacheWrite',
  'cacheWriteLong',
  'reasoning',
  'imageOutput',
  'audioOutput',
  'audio',
  'imageInput',
] as const satisfies readonly RateKind[]

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
  for (const kind of PER_TOKEN) {
    const rate = rates[kind]
    if (rate !== undefined) scaled[kind] = (rate * factor + 999n) / 1000n
  }
  return scaled as Kind
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

/** More significant digits than any price list writes by hand, fewer than a double holds: behind them is noise. */
const SIGNIFICANT = 12
/** What a rate keeps of USD per million tokens (`rateFromUsdPerMillion`): the rest is below a nano-dollar for 10^9 tokens. */
const DECIMALS = 12

/**
 * `amount × 10^shift` as a decimal, computed on the digits: 1e-7 shifted by 6 is "0.10", and so is 1.0000000000000001e-7.
 * @returns undefined where the amount is no finite number of at least 0, or is too large for a price.
 */
export function decimalText(amount: number, shift = 0): string | undefined {
  if (!Number.isFinite(amount) || amount < 0 || amount >= 1e9) return undefined
  const [mantissa = '0', exponent = '0'] = amount.toExponential(SIGNIFICANT - 1).split('e')
  const digits = mantissa.replace('.', '')
  // The value is 0.DIGITS × 10^point.
  const point = Number(exponent) + 1 + shift
  if (point > SIGNIFICANT) return undefined
  const whole = point > 0 ? digits.slice(0, point).padEnd(point, '0') : '0'
  const fraction = point > 0 ? digits.slice(point) : '0'.repeat(-point) + digits
  return `${whole.replace(/^0+(?=\d)/, '')}.${fraction.slice(0, DECIMALS).replace(/0+$/, '').padEnd(2, '0')}`
}
