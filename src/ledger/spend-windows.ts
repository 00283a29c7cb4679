/** What one key has spent in the current UTC day, week and month: kept as charges come, so that no read walks the ledger. */
import { Total } from '../core/money.ts'
import type { LimitReset } from '../plugin-api/key.ts'
import type { OpenWindows } from './types.ts'

/** Nano-dollars, exact. */
export interface WindowUsage {
  readonly daily: bigint
  readonly weekly: bigint
  readonly monthly: bigint
}

const DAY_MS = 86_400_000
/** The epoch was a Thursday; weeks begin on Monday (contract section 8). */
const THURSDAY = 3

/** Starts of the windows that a moment lies in, milliseconds since the epoch. */
export function windowStarts(at: number): Record<LimitReset, number> {
  const days = Math.floor(at / DAY_MS)
  const date = new Date(at)
  return {
    daily: days * DAY_MS,
    weekly: (days - ((days + THURSDAY) % 7)) * DAY_MS,
    monthly: Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1),
  }
}

/** When the window that a moment lies in ends and the next one begins, milliseconds since the epoch. */
export function windowEnd(window: LimitReset, at: number): number {
  if (window === 'monthly') {
    const date = new Date(at)
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
  }
  return windowStarts(at)[window] + (window === 'weekly' ? 7 : 1) * DAY_MS
}

/** The earliest moment whose charges some window still counts. */
export function oldestCounted(now: number): number {
  const { weekly, monthly } = windowStarts(now)
  return Math.min(weekly, monthly)
}

export class SpendWindows {
  private day = -1
  private week = -1
  private month = -1
  private readonly daily = new Total()
  private readonly weekly = new Total()
  private readonly monthly = new Total()

  /**
   * Takes in a charge of the past, in no particular order.
   * @param at when, milliseconds since the epoch. @param now where it is before the open windows, a clock that was ahead
   *   has opened them too early: a charge in the window of `now` counts in them, or it would count in none.
   */
  add(nano: number | bigint, at: number, now: number = Number.POSITIVE_INFINITY): void {
    this.advance(at)
    const early = now < this.day ? windowStarts(now) : undefined
    if (at >= (early?.daily ?? this.day)) this.daily.add(nano)
    if (at >= (early?.weekly ?? this.week)) this.weekly.add(nano)
    if (at >= (early?.monthly ?? this.month)) this.monthly.add(nano)
  }

  /** Takes in a charge of this moment: where the clock went back it counts in the windows that are open, never in none. */
  charge(nano: number, at: number): void {
    this.add(nano, Math.max(at, this.day))
  }

  /** @param now milliseconds since the epoch. A clock that goes back opens no window again. */
  spent(window: LimitReset, now: number): bigint {
    this.advance(now)
    return this[window].exact
  }

  /** The same for a comparison with a limit: see `Total.cut`. */
  cut(window: LimitReset, now: number): number {
    this.advance(now)
    return this[window].cut
  }

  /** What is open, whether it has ended by now or not. */
  recorded(): OpenWindows {
    const { day, week, month, daily, weekly, monthly } = this
    return {
      starts: { daily: day, weekly: week, monthly: month },
      sums: { daily: daily.exact, weekly: weekly.exact, monthly: monthly.exact },
    }
  }

  usage(now: number): WindowUsage {
    this.advance(now)
    return { daily: this.daily.exact, weekly: this.weekly.exact, monthly: this.monthly.exact }
  }

  /** Windows that have ended by then begin anew. */
  private advance(at: number): void {
    if (at < this.day + DAY_MS && this.day >= 0) return
    const starts = windowStarts(at)
    if (starts.daily > this.day) {
      this.day = starts.daily
      this.daily.clear()
    }
    if (starts.weekly > this.week) {
      this.week = starts.weekly
      this.weekly.clear()
    }
    if (starts.monthly > this.month) {
      this.month = starts.monthly
      this.monthly.clear()
    }
  }
}
