/** Numbers of price lists as the decimal strings of our prices, without the noise of binary fractions. */

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
