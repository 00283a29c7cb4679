/** Amounts and times as other gateways write them, in the form of this one. */

/** USD for one token, as USD per million: `0.00000125` is `"1.25"`. */
export function perMillion(perToken: number): string {
  return plainDecimal(perToken * 1_000_000)
}

/** A number without an exponent, to twelve digits. */
export function plainDecimal(value: number): string {
  const text = Number(value.toPrecision(12)).toFixed(12)
  return text.replace(/\.?0+$/, '')
}

/** A weight as a whole number, of which others may be parts: `0.7` is 700. */
export const wholeWeight = (weight: number): number => (Number.isInteger(weight) ? weight : Math.max(1, Math.round(weight * 1000)))

/** Seconds as a duration of the configuration. */
export function seconds(value: number): string {
  return Number.isInteger(value) ? `${value}s` : `${Math.round(value * 1000)}ms`
}

/** `limit_reset` for a window such as `30d`, `1M` or `monthly`; undefined where there is none of that length. */
export function resetFor(window: string): 'daily' | 'weekly' | 'monthly' | undefined {
  const plain = window.toLowerCase() === window ? window : window.replace(/M$/, 'mo')
  if (/^(?:1d|24h|daily|day)$/.test(plain)) return 'daily'
  if (/^(?:1w|7d|weekly|week)$/.test(plain)) return 'weekly'
  if (/^(?:1mo|30d|31d|monthly|month)$/.test(plain)) return 'monthly'
  return undefined
}

/** Meaning of a time limit here, for reports. */
export const LIMITS = {
  attempt: 'timeouts.total of the provider: the time of one attempt, to the end of its stream',
  request: 'server.deadline: the time of a whole request, its attempts at other endpoints included',
  firstByte:
    'timeouts.first_byte of the provider, by hand: it would end replies that are not streamed as well, since their first byte comes when they are complete',
} as const
