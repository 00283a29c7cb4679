/** How long an exchange may take from end to end: as configured, or less where the caller says so by header. */
import type { IncomingHttpHeaders } from 'node:http'
import { badField } from '../core/faults.ts'
import { brandHeaders } from './brand-headers.ts'

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
const SECONDS = /^\d{1,9}(?:\.\d{1,9})?$/
const DURATION = /^(\d{1,9})(ms|s|m|h)$/

/**
 * Milliseconds from the head of the request to its end. `X-<Brand>-Deadline` is a decimal number of seconds or a
 * duration as the configuration writes it (`1500ms`, `30s`, `2m`); it can only shorten.
 * @param configured milliseconds of `server.deadline`.
 * @throws Fault 400 naming the header.
 */
export function deadlineOf(headers: IncomingHttpHeaders, brand: string, configured: number): number {
  const name = brandHeaders(brand).deadline
  const value = headers[name]
  if (value === undefined) return configured
  const wanted = typeof value === 'string' ? milliseconds(value.trim()) : 0
  if (!(wanted > 0)) throw badField(name, 'expected seconds above 0 such as 2.5, or a duration such as 1500ms, 30s or 2m')
  return Math.min(wanted, configured)
}

/** Not a number where the text is neither. */
function milliseconds(text: string): number {
  if (SECONDS.test(text)) return Number(text) * 1000
  const match = DURATION.exec(text)
  return match ? Number(match[1]) * UNITS[match[2]] : Number.NaN
}
