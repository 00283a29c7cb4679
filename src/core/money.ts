/**
 * Money as integers: balances and charges in nano-dollars, prices in attodollars (1e-18 USD) per token or unit. A price has rates by kind,
 * and overrides that hold for long prompts, at hours of the day, or from a day on.
 */
import { usdText } from './money-text.ts'
import { holds, type PriceWindow } from './price-window.ts'
import { TOKEN_KINDS, type TokenRates } from './token-kinds.ts'

/** Attodollars per token, or per unit where a price is per image, per request. */
export type Rate = bigint

const ATTO_PER_NANO = 1e9
const EXACT = Number.MAX_SAFE_INTEGER

/**
 * An exact sum of `count × rate` products, rounded once to nano-dollars.
 * Sums below 2^53 attodollars stay in a double, where they are exact; the rest goes to a BigInt.
 * A sum above 2^53 nano-dollars (9 million USD) is cut to it: a provider's absurd report must not stop the ledger.
 */
export class Bill {
  private small = 0
  private large = 0n

  /**
   * @param count non-negative; less than one whole unit, or not a number, adds nothing, a fraction is dropped.
   * @param _what is counted, for a bill that keeps its parts.
   */
  add(count: number, rate: Rate, _what = ''): void {
    if (!(count >= 1)) return
    const units = Math.floor(Math.min(count, EXACT))
    const product = units * Number(rate)
    if (this.small + product <= EXACT) this.small += product
    else this.large += BigInt(units) * rate
  }

  /** Takes in another bill's sum. */
  join(other: Bill): void {
    this.large += other.large
    if (this.small + other.small <= EXACT) this.small += other.small
    else this.large += BigInt(other.small)
  }

  /** Attodollars, exact. */
  exact(): bigint {
    return this.large + BigInt(this.small)
  }

  /** Nano-dollars, rounded half up. */
  nano(): number {
    if (this.large !== 0n) return cut((this.exact() + 500_000_000n) / 1_000_000_000n)
    const rest = restOf(this.small)
    return (this.small - rest) / ATTO_PER_NANO + (rest >= ATTO_PER_NANO / 2 ? 1 : 0)
  }

  /** Nano-dollars, rounded up: what must be reserved. */
  nanoUp(): number {
    if (this.large !== 0n) return cut((this.exact() + 999_999_999n) / 1_000_000_000n)
    const rest = restOf(this.small)
    return (this.small - rest) / ATTO_PER_NANO + (rest > 0 ? 1 : 0)
  }
}

/** `atto % ATTO_PER_NANO`, which on a double is a call into the C library. @param atto an integer below 2^53. */
function restOf(atto: number): number {
  const rest = atto - Math.floor(atto / ATTO_PER_NANO) * ATTO_PER_NANO
  // The division may have been rounded up to the next integer.
  return rest < 0 ? rest + ATTO_PER_NANO : rest
}

function cut(nano: bigint): number {
  return nano > BigInt(EXACT) ? EXACT : Number(nano)
}

/**
 * An exact running sum of nano-dollars: a double as long as that is exact, and a bigint beyond, so that no balance ever
 * sticks at 2^53 nano-dollars. May fall below 0.
 */
export class Total {
  private small = 0
  private large = 0n

  constructor(nano: number | bigint = 0) {
    this.add(nano)
  }

  /** @param nano an integer; below 0 it is taken away. */
  add(nano: number | bigint): void {
    const sum = this.small + Number(nano)
    if (typeof nano === 'number' && Math.abs(nano) <= EXACT && Math.abs(sum) <= EXACT) this.small = sum
    else {
      const exact = this.exact + BigInt(nano)
      this.large = exact - (exact % CARRY)
      this.small = Number(exact % CARRY)
    }
  }

  clear(): void {
    this.small = 0
    this.large = 0n
  }

  /** Nano-dollars. */
  get exact(): bigint {
    return this.large + BigInt(this.small)
  }

  /** Nano-dollars between -2^53 and 2^53: exact wherever a limit, which is never above 2^53, depends on it. */
  get cut(): number {
    return this.large === 0n ? this.small : cutNano(this.exact)
  }
}

/** Sums beyond 2^53 are kept as a multiple of this and a small rest. */
const CARRY = 2n ** 52n

/** An exact sum of nano-dollars as a number for comparisons, cut to ±2^53. */
export function cutNano(nano: bigint): number {
  return nano > BigInt(EXACT) ? EXACT : nano < -BigInt(EXACT) ? -EXACT : Number(nano)
}

/** Nano-dollars that a request wants to hold: `full` where the credit easily pays for it, never less than `floor`. */
export interface HoldAsk {
  readonly full: number
  /** At most `full`; the same where the amount cannot shrink. */
  readonly floor: number
}

/**
 * How much a request may hold: a hold never takes more than half of what is left, except where its
 * floor needs more. So many parallel requests share the last dollars.
 * @param left nano-dollars, the least under all allowances; Infinity where there is no limit.
 * @returns undefined where not even the floor fits.
 */
export function holdWithin(left: number, { full, floor }: HoldAsk): number | undefined {
  if (full <= left / 2) return full
  return floor <= left ? Math.min(left, Math.max(Math.floor(left / 2), floor)) : undefined
}

/** Nano-dollars as the USD number that replies carry: the nearest double to the exact amount. */
export function usd(nano: number | bigint): number {
  if (typeof nano === 'number') return nano / 1e9
  const whole = Number(nano)
  return Number.isSafeInteger(whole) ? whole / 1e9 : Number(usdText(nano))
}

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
}

/** Tools that providers run and take a fee for, beside their search of the web; each names its calls `<type>_call` in the output. */
export const PAID_TOOLS = ['code_interpreter', 'file_search', 'x_search'] as const
export type PaidTool = (typeof PAID_TOOLS)[number]

/** Kinds that are one rate each. */
export type RateKind = Exclude<keyof Rates, 'tools' | 'drawing'>

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
  /** At most `MOST_OVERRIDES`; absent where there are none. */
  readonly overrides?: readonly PriceOverride[] | undefined
  /** Factors on the rates per token by the region that a request names, in thousandths; absent where there are none. */
  readonly regions?: ReadonlyMap<string, bigint> | undefined
}

/** So many conditions fit the bits of one small integer. */
export const MOST_OVERRIDES = 16

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

/** What decides between the overrides of a price. */
export interface PriceMoment {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly promptTokens: number
}

/**
 * What an override does at a moment: nothing; replace what was there; or, where it may yet come to hold, raise what it is dearer than.
 * All of a price are the digits of one number.
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
const LONGEST = 86_400_000

/**
 * The price at its dearest hour, kind by kind: what a request may come to that counts when its answer ends, whenever that is.
 * @param at when it begins, in milliseconds since the epoch.
 */
export function dearestPrice(price: Price, at: number): PriceSnapshot {
  if (price.overrides === undefined) return price as PriceSnapshot
  return snapshotBy(price, ({ window, from = 0 }) => (at + LONGEST < from ? 0 : window === undefined && at >= from ? 1 : 2))
}

function snapshotBy(price: Price, effectOf: (override: PriceOverride) => Effect): PriceSnapshot {
  const { overrides = [], ...own } = price
  const key = overrides.reduce((digits, override) => digits * 3 + effectOf(override), 0)
  let known = snapshots.get(price)
  if (!known) {
    known = new Map()
    snapshots.set(price, known)
  }
  let snapshot = known.get(key)
  if (!snapshot) {
    snapshot = snapshotOf(
      own,
      overrides.map((override) => ({ ...override, effect: effectOf(override) })).filter(({ effect }) => effect > 0),
    )
    known.set(key, snapshot)
  }
  return snapshot
}

type Active = PriceOverride & { readonly effect: Effect }

function snapshotOf(own: Rates, active: readonly Active[]): PriceSnapshot {
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
