/** Budget of a key by the figures that the API computes: its state, and its limit as it burns down. */
import type { Key, KeyBudgetReply } from '../api-types.ts'

export type Budget = KeyBudgetReply['data']
export type Forecast = Budget['forecast']

export const DAY = 86_400_000

export const hasExpired = ({ expires_at: at }: Key, now = Date.now()): boolean => at !== null && Date.parse(at) <= now

/** Spent of the limit, from 0; undefined without one. */
export function shareSpent({ limit, limit_remaining: left }: Key): number | undefined {
  if (limit === null || left === null) return undefined
  return limit === 0 ? 1 : (limit - left) / limit
}

export interface BurnDown {
  /** Seconds since the epoch. */
  readonly times: readonly number[]
  /** USD that were left at these times; null in the future. */
  readonly left: readonly (number | null)[]
  /** USD that will be left by the forecast of the API; null in the past. */
  readonly ahead: readonly (number | null)[]
}

/** Rest of the limit at the end of each day of the window, the rest now, and the forecast. */
export function burnDown({ limit, remaining, window, days, forecast }: Budget, created: string, now: number): BurnDown | undefined {
  if (limit === null || remaining === null) return undefined
  const begun = window.start === null ? Math.floor(Date.parse(created) / DAY) * DAY : Date.parse(window.start)
  // Counted back from now: what was spent before the first day that is known, and what a raised limit added, is in there.
  let left = remaining
  const past: [number, number][] = [[now, remaining]]
  for (const { date, usage } of days.toReversed()) {
    const from = Date.parse(date)
    if (from < begun) break
    left += usage
    if (from < now) past.unshift([from, left])
  }
  const future: [number, number][] = []
  const out = forecast.runs_out_at === null ? undefined : Date.parse(forecast.runs_out_at)
  const end = window.end === null ? undefined : Date.parse(window.end)
  if (out !== undefined && out > now) future.push([out, 0])
  if (end !== undefined && (out === undefined || end - out > 60_000))
    future.push([end, out === undefined ? Math.max(0, limit - (forecast.used_at_end ?? limit)) : 0])
  return {
    times: [...past, ...future].map(([at]) => at / 1000),
    left: [...past.map(([, usd]) => Math.max(0, usd)), ...future.map(() => null)],
    ahead: [...past.map(([at, usd]) => (at === now && future.length > 0 ? usd : null)), ...future.map(([, usd]) => usd)],
  }
}
