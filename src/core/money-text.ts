/** Amounts and rates as decimal text, both ways; and numbers of price lists, without the noise of binary fractions. */

const NANO_DIGITS = 9
const ATTO_DIGITS = 18

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

/** USD as JSON and YAML write numbers, `1e-7` too, as nano-dollars; undefined as for `nanoFromUsd`. */
export function nanoFromUsdNumber(amount: number): number | undefined {
  const text = String(amount)
  return nanoFromUsd(text.includes('e') ? amount.toFixed(20) : text)
}

/** USD per million tokens as a rate in attodollars; up to 12 decimals. */
export function rateFromUsdPerMillion(text: string): bigint | undefined {
  return decimal(text, ATTO_DIGITS - 6)
}

/** USD per unit (image, request) as a rate in attodollars. */
export function rateFromUsd(text: string): bigint | undefined {
  return decimal(text, ATTO_DIGITS)
}

/** Nano-dollars as an exact decimal string, for people and files. */
export function usdText(nano: number | bigint): string {
  const sign = nano < 0 ? '-' : ''
  const digits = String(nano)
    .replace('-', '')
    .padStart(NANO_DIGITS + 1, '0')
  const fraction = digits.slice(-NANO_DIGITS).replace(/0+$/, '')
  return `${sign}${digits.slice(0, -NANO_DIGITS)}.${fraction.padEnd(2, '0')}`
}

/** A rate as the decimal USD-per-token (or unit) string of the model lists. */
export function rateText(rate: bigint): string {
  const digits = rate.toString().padStart(ATTO_DIGITS + 1, '0')
  const fraction = digits.slice(-ATTO_DIGITS).replace(/0+$/, '')
  return fraction === '' ? digits.slice(0, -ATTO_DIGITS) : `${digits.slice(0, -ATTO_DIGITS)}.${fraction}`
}

/** More significant digits than any price list writes by hand, fewer than a double holds: behind them is noise. */
const SIGNIFICANT = 12
/** Decimals that a rate keeps of USD per million tokens (`rateFromUsdPerMillion`): the rest is below a nano-dollar for 10^9 tokens. */
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
