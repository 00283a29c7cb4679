/** When a delivery that failed is tried again, and when it is given up. */
import type { IncomingHttpHeaders } from 'node:http'

/** Milliseconds until the second attempt; each later wait is three times as long, up to the longest: 5 s, 15 s, 45 s … 6 h. */
const FIRST = 5_000
const FACTOR = 3
const LONGEST = 6 * 3_600_000
/** Each wait is shortened by up to this part, by chance, so that what failed together does not come again together. */
const JITTER = 0.2
/** A receiver that names a longer wait gets this one (`Retry-After`). */
const LONGEST_NAMED = 24 * 3_600_000

/** @param attempts that have failed, at least 1. @param chance in [0, 1). @returns milliseconds. */
export function retryWait(attempts: number, chance: number): number {
  return Math.min(FIRST * FACTOR ** (attempts - 1), LONGEST) * (1 - JITTER * chance)
}

/** Seconds, or a date (RFC 9110 section 10.2.3). @returns milliseconds; 0 where nothing is named. */
export function namedWait({ 'retry-after': header }: IncomingHttpHeaders, now: number): number {
  if (typeof header !== 'string') return 0
  const wait = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now
  return Number.isFinite(wait) && wait > 0 ? Math.min(wait, LONGEST_NAMED) : 0
}
