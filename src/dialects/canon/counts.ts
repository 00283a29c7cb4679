/** The one reader of counts in what providers report. */

/** No report of more is believed, and sums of some of such counts stay exact. */
const MOST = 1e15

const NUMERAL = /^\d{1,40}(\.\d{0,40})?(e\+?\d{1,3})?$/i

/**
 * A count as providers send it: a number, or a number as text (servers that write 64-bit integers as protobuf JSON does: strings). A fraction
 * is rounded up. Undefined where no count is stated: below zero, no number, nothing.
 */
export function statedCount(value: unknown): number | undefined {
  const number = typeof value === 'string' && NUMERAL.test(value.trim()) ? Number(value) : value
  return typeof number === 'number' && number >= 0 ? Math.min(Math.ceil(number), MOST) : undefined
}

/** The same where it makes no difference whether a zero is stated. */
export function count(value: unknown): number {
  return typeof value === 'number' && value >= 0 ? Math.min(Math.ceil(value), MOST) : (statedCount(value) ?? 0)
}

/** The first count above zero, since some providers send several names of one count and fill one. */
export function firstCount(values: readonly unknown[]): number {
  for (const value of values) {
    const counted = count(value)
    if (counted > 0) return counted
  }
  return 0
}
