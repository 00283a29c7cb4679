/** Money as integers: balances and charges in nano-dollars, prices in attodollars (1e-18 USD) per token or unit. */

/** Attodollars per token, or per unit where a price is per image, per request. */
export type Rate = bigint

const NANO_DIGITS = 9
const ATTO_DIGITS = 18
const ATTO_PER_NANO = 1_000_000_000n

/**
 * A decimal string such as "0.25" as an integer of 10^-digits.
 * @returns undefined if it is not a non-negative decimal or has more digits than can be kept exactly.
 */
function decimal(text: string, digits: number): bigint | undefined {
  const match = /^(\d{1,12})(?:\.(\d{1,24}))?$/.exec(text)
  if (!match) return undefined
  const fraction = (match[2] ?? '').replace(/0+$/, '')
  if (fraction.length > digits) return undefined
  return BigInt(match[1] + fraction.padEnd(digits, '0'))
}

/** USD as nano-dollars; undefined where it is no such decimal or passes 2^53. */
export function nanoFromUsd(text: string): number | undefined {
  const value = decimal(text, NANO_DIGITS)
  return value === undefined || value > BigInt(Number.MAX_SAFE_INTEGER) ? undefined : Number(value)
}

/** USD per million tokens as a rate; up to 12 decimals. */
export function rateFromUsdPerMillion(text: string): Rate | undefined {
  return decimal(text, ATTO_DIGITS - 6)
}

/** USD per unit (image, request) as a rate. */
export function rateFromUsd(text: string): Rate | undefined {
  return decimal(text, ATTO_DIGITS)
}

/** An exact sum of `count × rate` products, rounded once, half up, to nano-dollars. */
export class Bill {
  private small = 0
  private large = 0n

  add(count: number, rate: Rate): void {
    const product = count * Number(rate)
    if (product <= Number.MAX_SAFE_INTEGER && this.small + product <= Number.MAX_SAFE_INTEGER) this.small += product
    else this.large += BigInt(count) * rate
  }

  /** Attodollars, exact. */
  exact(): bigint {
    return this.large + BigInt(this.small)
  }

  nano(): number {
    const nano = Number((this.exact() + ATTO_PER_NANO / 2n) / ATTO_PER_NANO)
    if (!Number.isSafeInteger(nano)) throw new RangeError('a charge passes 2^53 nano-dollars')
    return nano
  }
}

/** Nano-dollars as the USD number that replies carry. */
export function usd(nano: number): number {
  return nano / 1e9
}

/** Nano-dollars as an exact decimal string, for people and files. */
export function usdText(nano: number): string {
  const sign = nano < 0 ? '-' : ''
  const digits = String(Math.abs(nano)).padStart(NANO_DIGITS + 1, '0')
  const fraction = digits.slice(-NANO_DIGITS).replace(/0+$/, '')
  return `${sign}${digits.slice(0, -NANO_DIGITS)}.${fraction.padEnd(2, '0')}`
}

/** A rate as the decimal USD-per-token (or unit) string of the model lists. */
export function rateText(rate: Rate): string {
  const digits = rate.toString().padStart(ATTO_DIGITS + 1, '0')
  const fraction = digits.slice(-ATTO_DIGITS).replace(/0+$/, '')
  return fraction === '' ? digits.slice(0, -ATTO_DIGITS) : `${digits.slice(0, -ATTO_DIGITS)}.${fraction}`
}
