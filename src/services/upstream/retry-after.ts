/** The `Retry-After` header of a provider (RFC 9110, 10.2.3), made harmless. */
import type { Clock } from '../../core/clock.ts'

/** Longest pause in seconds that is taken from a provider. */
const MAX_RETRY_AFTER = 60

/** @returns whole seconds, at most 60; undefined where the header is absent or no sense can be made of it. */
export function retryAfterSeconds(header: string | undefined, clock: Clock): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  if (/^\d{1,9}$/.test(text)) return Math.min(Number(text), MAX_RETRY_AFTER)
  if (!/^[A-Z][a-z]{2},? /.test(text)) return undefined
  const at = Date.parse(text)
  if (Number.isNaN(at)) return undefined
  const seconds = Math.ceil((at - clock.now()) / 1000)
  return seconds < 0 ? undefined : Math.min(seconds, MAX_RETRY_AFTER)
}
