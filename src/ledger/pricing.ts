/** Usage × price: exact sums, rounded once; and how much output an amount pays for. */

import { Bill, type Rate } from '../core/money.ts'
import {
  dearestPrice,
  PAID_TOOLS,
  type PaidTool,
  type Price,
  type PriceSnapshot,
  priceAt,
  priceIn,
  type Rates,
  ratesFor,
  ratesWithin,
} from '../core/price.ts'
import { TOKEN_KINDS, type TokenRate } from '../core/token-kinds.ts'
import type { Usage } from '../dialects/canon/usage.ts'
import type { Endpoint } from '../routing/catalog/types.ts'
import type { HoldAsk } from './allowance.ts'
import { highest } from './highest-rate.ts'
import { addTokens, MAX_TOKENS, within } from './token-parts.ts'

/** A price as it was at admission; `free` and `unpriced` cost nothing (limited keys never get to `unpriced`). */
export type Tariff = PriceSnapshot | 'free' | 'unpriced'

/** True for nearly all prices: the same at every time, for a request that names no region. */
function isFixed(price: Price, region: string | undefined): price is Price & PriceSnapshot {
  return price.overrides === undefined && region === undefined
}

/**
 * Price of an endpoint for requests that count at this time. @param at milliseconds since the epoch.
 * @param region in which the model is to run, where the request names one.
 */
export function tariffAt({ price }: Pick<Endpoint, 'price'>, at: number, region?: string): Tariff {
  if (typeof price !== 'object' || isFixed(price, region)) return price
  const snapshot = priceAt(price, at)
  return region === undefined ? snapshot : priceIn(snapshot, region)
}

/** Highest price for a request that begins at this time. Where a provider charges by the end of the answer, the dearest until then. */
export function tariffFrom({ price, provider }: Pick<Endpoint, 'price' | 'provider'>, at: number, region?: string): Tariff {
  if (typeof price !== 'object' || isFixed(price, region)) return price
  if (provider.priceTime === 'start') return tariffAt({ price }, at, region)
  const snapshot = dearestPrice(price, at)
  return region === undefined ? snapshot : priceIn(snapshot, region)
}

/** Nano-dollars; `input + output = total` always. */
export interface Charge {
  total: number
  input: number
  output: number
}

/** Countable things of a request beside its tokens. */
export interface Extras {
  /** Images in the request, priced where the tariff has a price per image. */
  images?: number
  /** Searches that the provider may run, for the hold; a charge goes by what it reports. */
  webSearches?: number
  /** The same of its other tools. */
  toolCalls?: ToolCalls
  /** Gigabytes of memory of the containers that the provider starts for the request. */
  containers?: number | undefined
  /** Tokens of images that a tool of the provider may draw, for the hold. */
  drawn?: number
  /** Calls that a tool of the provider may make to other models, for the hold. */
  advice?: readonly { uses: number; tariff: Tariff }[]
  /** Price of another model that a tool of the provider has called, by the provider's name of that model. */
  modelTariff?: ((model: string) => Tariff | undefined) | undefined
}

/** Calls of tools that a provider has run, or may run. */
export type ToolCalls = Readonly<Partial<Record<PaidTool, number>>>

const NOTHING: Charge = Object.freeze({ total: 0, input: 0, output: 0 })

/**
 * Cost of a usage, in nano-dollars, at the rates for a prompt of its length.
 * Parts are clamped so that they never pass their whole: cached, then cache writes, then audio, then images within the input,
 * reasoning, then images, then audio within the output. The request's and the images' price belong to the input part.
 * `total` is the exact sum rounded once, half up; the output part is rounded, the input part is the rest.
 */
export function charge(usage: Usage, tariff: Tariff, extras?: Extras): Charge {
  if (tariff === 'free' || tariff === 'unpriced') return NOTHING
  const sum = new Bill()
  const completion = new Bill()
  addParts(usage, { price: tariff, extras }, sum, completion)
  sum.join(completion)
  const total = sum.nano()
  const ofOutput = completion.nano()
  const own = { total, input: total - ofOutput, output: ofOutput }
  return usage.others === undefined ? own : withOthers(own, usage.others, { tariff, extras })
}

/** Adds what a usage is priced by, part by part, but for the rounds of other models. @param sum of the input's part. */
export function addParts(
  usage: Usage,
  { price: snapshot, extras }: { price: PriceSnapshot; extras: Extras | undefined },
  sum: Bill,
  completion: Bill,
): void {
  const price = snapshot.tiers === undefined ? snapshot : ratesFor(snapshot, within(usage.input, MAX_TOKENS))
  addTokens(usage, price, sum, completion)
  if (extras || price.request !== undefined) addFixed(sum, price, extras)
  if (usage.webSearches && price.webSearch !== undefined) sum.add(within(usage.webSearches, MAX_TOKENS), price.webSearch, 'web_search')
  if (usage.toolCalls) addTools(sum, price, usage.toolCalls)
  if (usage.fees) addFees(sum, price, usage)
}

/** True where a usage has cache writes of a lifetime without a price of its own, while the other lifetime has one, or only one is known. */
export function assumesWrites({ input, cacheWrite, cacheWriteLong = 0 }: Usage, tariff: Tariff): boolean {
  if (typeof tariff === 'string' || cacheWrite === 0) return false
  const price = ratesFor(tariff, input)
  if (cacheWriteLong > 0 && price.cacheWriteLong === undefined) return true
  return cacheWrite > cacheWriteLong && price.cacheWrite === undefined && price.cacheWriteLong !== undefined
}

/** Adds the rounds of other models, each at its own price, or at that of the model that served where it has none here. */
function withOthers(
  own: Charge,
  others: NonNullable<Usage['others']>,
  { tariff, extras }: { tariff: Tariff; extras: Extras | undefined },
): Charge {
  const sum = { ...own }
  for (const { model, usage } of others) {
    const { total, input, output } = charge(usage, (model === undefined ? undefined : extras?.modelTariff?.(model)) ?? tariff)
    sum.total += total
    sum.input += input
    sum.output += output
  }
  return sum
}

/**
 * Nano-dollars that the cache of the provider has saved: what was read from it and written to it, at the price of other input, less what it
 * cost. Negative where writing costs more than reading has saved so far.
 * @param cost of the usage, where it is known.
 */
export function cacheDiscount(usage: Usage, tariff: Tariff, cost: number = charge(usage, tariff).total): number {
  return charge({ ...usage, cached: 0, cacheWrite: 0, cacheWriteLong: 0 }, tariff).total - cost
}

function addFixed(bill: Bill, price: Rates, extras: Extras | undefined): void {
  if (price.request !== undefined) bill.add(1, price.request, 'request')
  if (price.image !== undefined && extras?.images) bill.add(extras.images, price.image, 'image')
  if (price.webSearch !== undefined && extras?.webSearches) bill.add(extras.webSearches, price.webSearch, 'web_search')
  if (price.container !== undefined && extras?.containers) bill.add(extras.containers, price.container, 'container')
  if (extras?.toolCalls) addTools(bill, price, extras.toolCalls)
  if (extras?.drawn) bill.add(extras.drawn, price.drawing?.completion ?? price.imageOutput ?? price.completion)
}

/** For a hold: searches that the model runs unasked, beyond those that the request allows by itself. */
function addOwnSearches(bill: Bill, { ownSearches, webSearch }: PriceSnapshot, extras: Extras | undefined): void {
  if (ownSearches !== undefined && webSearch !== undefined) bill.add(Math.max(0, ownSearches - (extras?.webSearches ?? 0)), webSearch)
}

/** Adds fees that the provider states beside tokens, less those for which the endpoint has a price: per request, or per search. */
function addFees(bill: Bill, { request = 0n, webSearch = 0n, feeShare = 1_000_000n }: Rates, { fees = 0, webSearches = 0 }: Usage): void {
  const attoPerNano = 1_000_000_000n
  const priced = request + webSearch * BigInt(Math.floor(within(webSearches, MAX_TOKENS)))
  const rest = (BigInt(Math.floor(within(fees, MAX_TOKENS))) * feeShare) / 1_000_000n - priced / attoPerNano
  if (rest > 0n) bill.add(1, rest * attoPerNano, 'provider_fees')
}

function addTools(bill: Bill, { tools }: Rates, calls: ToolCalls): void {
  if (tools === undefined) return
  for (const tool of PAID_TOOLS) bill.add(within(calls[tool] ?? 0, MAX_TOKENS), tools[tool] ?? 0n, tool)
}

/** Tokens of one piece of advice with its reasoning: usually 1,400 to 1,800 (Anthropic, "Advisor tool"). */
const ADVICE_TOKENS = 4096

/** Each question shows the other model the whole conversation. */
function addAdvice(bill: Bill, inputTokens: number, advice: NonNullable<Extras['advice']>): void {
  for (const { uses, tariff } of advice) {
    if (tariff === 'free' || tariff === 'unpriced') continue
    const ceiling = ceilingWithin(tariff, inputTokens)
    bill.add(uses * Math.ceil(inputTokens), ceiling.input)
    bill.add(uses * ADVICE_TOKENS, ceiling.output)
  }
}

interface Ceiling {
  input: Rate
  output: Rate
}

const sideRates = (side: 'input' | 'output'): TokenRate[] => TOKEN_KINDS.filter((kind) => kind.side === side).map(({ rate }) => rate)
const INPUT_RATES = sideRates('input')
const OUTPUT_RATES = sideRates('output')

/** Dearest rate of each direction; a catalogue's price objects live long, so each is looked at once. */
const ceilings = new WeakMap<Rates, Ceiling>()

function ratesCeiling(rates: Rates): Ceiling {
  let found = ceilings.get(rates)
  if (!found) {
    found = {
      input: highest(...INPUT_RATES.map((kind) => rates[kind])),
      output: highest(...OUTPUT_RATES.map((kind) => rates[kind])),
    }
    ceilings.set(rates, found)
  }
  return found
}

/** The dearest of all rates that a prompt within the bound may get. */
function ceilingWithin(price: PriceSnapshot, inputTokens: number): Ceiling {
  if (price.tiers === undefined) return ratesCeiling(price)
  const each = ratesWithin(price, inputTokens).map(ratesCeiling)
  return { input: highest(...each.map(({ input }) => input)), output: highest(...each.map(({ output }) => output)) }
}

/** Nano-dollars to reserve, and the share of it that the input alone may cost. */
export interface Reserve {
  hold: number
  floor: number
}

const NO_RESERVE: Reserve = Object.freeze({ hold: 0, floor: 0 })

/**
 * Reserve for at most `inputTokens` and `outputCap` tokens, rounded up.
 * Every token counts at the dearest rate that it could get (a cache write, audio, reasoning, a longer prompt's),
 * so no charge within these bounds is higher.
 */
export function holdFor(price: Tariff, inputTokens: number, outputCap: number, extras?: Extras): Reserve {
  if (price === 'free' || price === 'unpriced') return NO_RESERVE
  const ceiling = ceilingWithin(price, inputTokens)
  const bill = inputBill(price, { tokens: inputTokens, extras }, ceiling)
  const floor = bill.nanoUp()
  bill.add(Math.ceil(outputCap), ceiling.output)
  return { hold: bill.nanoUp(), floor }
}

/** The most that is paid before the first output token. */
function inputBill(price: PriceSnapshot, { tokens, extras }: InputNeed, ceiling: Ceiling): Bill {
  const bill = new Bill()
  if (extras || price.request !== undefined) addFixed(bill, price, extras)
  if (price.ownSearches !== undefined) addOwnSearches(bill, price, extras)
  if (extras?.advice) addAdvice(bill, tokens, extras.advice)
  bill.add(Math.ceil(tokens), ceiling.input)
  return bill
}

/** True where output costs nothing, whatever kind of it an endpoint writes. */
export function writesFree(price: Tariff, inputTokens: number): boolean {
  return price === 'free' || price === 'unpriced' || ceilingWithin(price, inputTokens).output === 0n
}

/**
 * Output tokens that `left` nano-dollars still pay for after the input: what a 402 shows the caller.
 * @returns 0 where not even the input fits, Infinity where output costs nothing.
 */
export function affordableOutput(price: Tariff, inputTokens: number, left: number, extras?: Extras): number {
  if (price === 'free' || price === 'unpriced') return Number.POSITIVE_INFINITY
  const ceiling = ceilingWithin(price, inputTokens)
  const bill = inputBill(price, { tokens: inputTokens, extras }, ceiling)
  const rest = BigInt(Math.floor(Math.max(0, left))) * 1_000_000_000n - bill.exact()
  if (rest < 0n) return 0
  return ceiling.output === 0n ? Number.POSITIVE_INFINITY : Math.min(Number(rest / ceiling.output), Number.MAX_SAFE_INTEGER)
}

/** Output tokens assumed of an endpoint that does not declare its `max_output`. */
export const UNKNOWN_MAX_OUTPUT = 32_768

/** An answer that its hold would cut below this many tokens is not begun, unless the endpoint writes less anyway. */
const MIN_OUTPUT = 4096

/** Output that one endpoint may have to write, and its price. */
export interface OutputNeed {
  readonly tariff: Tariff
  /** Tokens that it may write where credit is plenty. */
  readonly most: number
  /** Tokens below which the endpoint is not used; equal to `most` where the cap was set by the caller or by hand. */
  readonly least: number
}

/** The part of a request that is paid before the first output token. */
export interface InputNeed {
  /** Upper bound of the input's tokens. */
  readonly tokens: number
  readonly extras: Extras | undefined
}

interface HoldNeed {
  readonly ask: HoldAsk
  /** Nano-dollars of the input alone, at the dearest endpoint: the charge where the outcome stays unknown. */
  readonly inputCost: number
}

/** @param most tokens without a cap. @returns the need of an endpoint whose cap follows the credit. */
export function openNeed(tariff: Tariff, most: number): OutputNeed {
  return { tariff, most, least: Math.min(MIN_OUTPUT, most) }
}

/** @param cap tokens; 0 for an operation that writes none. @returns the need of an endpoint whose cap is given. */
export function cappedNeed(tariff: Tariff, cap: number): OutputNeed {
  return { tariff, most: cap, least: cap }
}

/**
 * Hold with which any of the endpoints can serve: in full what the dearest may cost, at least what the cheapest needs.
 * Where every cap is given there is nothing to shorten, and the full amount is requested.
 */
export function holdNeed(needs: readonly OutputNeed[], { tokens, extras }: InputNeed): HoldNeed {
  let full = 0
  let inputCost = 0
  let floor = Number.POSITIVE_INFINITY
  let given = true
  for (const { tariff, most, least } of needs) {
    const reserve = holdFor(tariff, tokens, most, extras)
    full = Math.max(full, reserve.hold)
    inputCost = Math.max(inputCost, reserve.floor)
    if (least !== most) given = false
    floor = Math.min(floor, least === most ? reserve.hold : holdFor(tariff, tokens, least, extras).hold)
  }
  return { ask: { full, floor: given ? full : Math.min(floor, full) }, inputCost }
}

/** As `outputWithin`, where the hold pays for all that any of the endpoints may cost: without a division of large integers. */
export function outputInFull({ tariff, most }: OutputNeed, { tokens }: InputNeed): number {
  return writesFree(tariff, tokens) ? Number.POSITIVE_INFINITY : most
}

/**
 * @param held nano-dollars.
 * @returns output tokens that it pays for after the input, Infinity where output costs nothing; undefined where that is
 *   less than the least of the endpoint.
 */
export function outputWithin({ tariff, least }: OutputNeed, { tokens, extras }: InputNeed, held: number): number | undefined {
  const affordable = affordableOutput(tariff, tokens, held, extras)
  // `affordableOutput` answers 0 both where nothing but the input fits and where not even that does.
  return affordable < least || (least === 0 && holdFor(tariff, tokens, 0, extras).hold > held) ? undefined : affordable
}
