/** Keys as the API shows them, and what their figures say of the budget: its window, its pace, its end. */

export type Reset = 'daily' | 'weekly' | 'monthly'

export interface Key {
  readonly hash: string
  readonly name: string
  readonly label: string
  readonly disabled: boolean
  readonly limit: number | null
  readonly limit_remaining: number | null
  readonly limit_reset: Reset | null
  readonly usage: number
  readonly usage_daily: number
  readonly usage_weekly: number
  readonly usage_monthly: number
  readonly created_at: string
  readonly expires_at: string | null
  readonly creator_user_id: string | null
  readonly is_management_key: boolean
  readonly source: 'configuration' | 'store'
  readonly parent_hash: string | null
}

/** One row of GET /v1/activity. */
export interface Activity {
  /** UTC. */
  readonly date: string
  readonly model: string
  readonly provider_name: string
  readonly usage: number
  readonly requests: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly reasoning_tokens: number
}

export const DAY = 86_400_000

export const hasExpired = ({ expires_at: at }: Key, now = Date.now()): boolean => at !== null && Date.parse(at) <= now

/** Spent of the limit, from 0; undefined without one. */
export function shareSpent({ limit, limit_remaining: left }: Key): number | undefined {
  if (limit === null || left === null) return undefined
  return limit === 0 ? 1 : (limit - left) / limit
}

/** Of what is spent, what counts in the window of the limit. */
export function spentInWindow(key: Key): number {
  const { limit_reset: reset } = key
  return reset === null ? key.usage : { daily: key.usage_daily, weekly: key.usage_weekly, monthly: key.usage_monthly }[reset]
}

interface Window {
  readonly from: number
  /** Undefined: the limit never begins anew. */
  readonly until: number | undefined
}

/** Windows begin at 00:00 UTC: every day, on Monday, on the first of the month. */
export function windowOf({ limit_reset: reset, created_at: created }: Key, now: number): Window {
  const today = Math.floor(now / DAY) * DAY
  if (reset === 'daily') return { from: today, until: today + DAY }
  const date = new Date(today)
  if (reset === 'weekly') {
    const from = today - ((date.getUTCDay() + 6) % 7) * DAY
    return { from, until: from + 7 * DAY }
  }
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  if (reset === 'monthly') return { from: Date.UTC(year, month), until: Date.UTC(year, month + 1) }
  // What was spent is known by day for 30 days. A key of the file has no time of its making.
  return { from: Math.max(today - 30 * DAY, Math.floor(Date.parse(created) / DAY) * DAY), until: undefined }
}

/** Less of a window says nothing of how the rest will be. */
const LEAST_MS = 3_600_000
/** A forecast further ahead is a guess. */
const FURTHEST = 365 * DAY

export type Forecast =
  /** Unknown: the window is too young. */
  | { readonly kind: 'no-limit' | 'idle' | 'spent' | 'unknown' }
  | { readonly kind: 'lasts'; readonly perDay: number; readonly left: number | undefined }
  | { readonly kind: 'runs-out'; readonly perDay: number; readonly at: number }

/** When the limit is reached if spending goes on as in the window up to now. */
export function forecastOf(key: Key, now: number): Forecast {
  const { limit, limit_remaining: left } = key
  if (limit === null || left === null) return { kind: 'no-limit' }
  if (left <= 0) return { kind: 'spent' }
  const { from, until } = windowOf(key, now)
  const spent = until === undefined ? key.usage_monthly : spentInWindow(key)
  const begun = until === undefined ? Math.max(windowOf({ ...key, limit_reset: 'monthly' }, now).from, Date.parse(key.created_at)) : from
  if (spent <= 0) return { kind: 'idle' }
  if (now - begun < LEAST_MS) return { kind: 'unknown' }
  const perMs = spent / (now - begun)
  const at = now + left / perMs
  const perDay = perMs * DAY
  if (until !== undefined && at >= until) return { kind: 'lasts', perDay, left: left - perMs * (until - now) }
  return at - now > FURTHEST ? { kind: 'lasts', perDay, left: undefined } : { kind: 'runs-out', perDay, at }
}

export interface BurnDown {
  /** Seconds since the epoch. */
  readonly times: readonly number[]
  /** USD that were left at these times; null in the future. */
  readonly left: readonly (number | null)[]
  /** USD that will be left; null in the past. */
  readonly ahead: readonly (number | null)[]
}

/**
 * What was left of the limit at the end of each day of the window, what is left now, and the forecast.
 * @param activity of this key: full days alone.
 */
export function burnDown(key: Key, activity: readonly Activity[], now: number): BurnDown | undefined {
  const { limit_remaining: remaining } = key
  if (remaining === null) return undefined
  const { from, until } = windowOf(key, now)
  const days = Math.floor(now / DAY) - from / DAY
  const byDay = new Map<number, number>()
  for (const { date, usage } of activity) byDay.set(Date.parse(date), (byDay.get(Date.parse(date)) ?? 0) + usage)
  const known = Array.from({ length: days }, (_, day) => byDay.get(from + day * DAY) ?? 0)
  // Counted back from now: what was spent before the first day that is known, and what a raised limit added, is in there.
  let left = remaining + key.usage_daily
  const past: [number, number][] = [[now, remaining]]
  for (let day = days; day >= 0; day--) {
    if (from + day * DAY !== now) past.unshift([from + day * DAY, left])
    left += known[day - 1] ?? 0
  }
  const forecast = forecastOf(key, now)
  const future: [number, number][] = []
  if (forecast.kind === 'runs-out') future.push([forecast.at, 0])
  if (forecast.kind === 'lasts' && until !== undefined) future.push([until, forecast.left ?? 0])
  if (forecast.kind === 'runs-out' && until !== undefined && until - forecast.at > 60_000) future.push([until, 0])
  return {
    times: [...past, ...future].map(([at]) => at / 1000),
    left: [...past.map(([, usd]) => Math.max(0, usd)), ...future.map(() => null)],
    ahead: [...past.map(([at, usd]) => (at === now && future.length > 0 ? usd : null)), ...future.map(([, usd]) => usd)],
  }
}
