/**
 * How many output tokens a hold pays for (issue 15, section 2): what a request wants to hold, and which output cap each
 * endpoint gets for the amount that was held. Pure sums; nothing is reserved here.
 */
import type { HoldAsk } from './credit.ts'
import { affordableOutput, type Extras, holdFor, type Tariff, writesFree } from './pricing.ts'

/** Output tokens assumed of an endpoint that does not declare its `max_output`. */
export const UNKNOWN_MAX_OUTPUT = 32_768

/** An answer that its hold would cut below this many tokens is not begun, unless the endpoint writes less anyway. */
const LEAST_OUTPUT = 4096

/** What one endpoint may have to write. */
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

export interface HoldNeed {
  readonly ask: HoldAsk
  /** Nano-dollars of the input alone, at the dearest endpoint: the charge where the outcome stays unknown. */
  readonly inputCost: number
}

/** @param most tokens without a cap. @returns the need of an endpoint whose cap follows the credit. */
export function openNeed(tariff: Tariff, most: number): OutputNeed {
  return { tariff, most, least: Math.min(LEAST_OUTPUT, most) }
}

/** @param cap tokens; 0 for an operation that writes none. @returns the need of an endpoint whose cap is given. */
export function cappedNeed(tariff: Tariff, cap: number): OutputNeed {
  return { tariff, most: cap, least: cap }
}

/**
 * What to ask for so that any of the endpoints can serve: in full what the dearest may cost, at least what the cheapest needs.
 * Where every cap is given there is nothing to shorten, and the full amount is requested.
 */
export function holdNeedOf(needs: readonly OutputNeed[], { tokens, extras }: InputNeed): HoldNeed {
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
