/** What one key has spent in the current UTC day, week and month: kept as charges come, so that no read walks the ledger. */
import type { LimitReset } from '../plugin-api/key.ts'

/** Nano-dollars. */
export interface WindowUsage {
  readonly daily: number
  readonly weekly: number
  readonly monthly: number
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
  private daily = 0
  private weekly = 0
  private monthly = 0

  /**
   * Takes in a charge of the past, in no particular order.
   * @param at when, milliseconds since the epoch. @param now where it is before the open windows, a clock that was ahead
   *   has opened them too early: a charge in the window of `now` counts in them, or it would count in none.
   */
  add(nano: number, at: number, now: number = Number.POSITIVE_INFINITY): void {
    this.advance(at)
    const early = now < this.day ? windowStarts(now) : undefined
    if (at >= (early?.daily ?? this.day)) this.daily = sum(this.daily, nano)
    if (at >= (early?.weekly ?? this.week)) this.weekly = sum(this.weekly, nano)
    if (at >= (early?.monthly ?? this.month)) this.monthly = sum(this.monthly, nano)
  }

  /** Takes in a charge of this moment: where the clock went back it counts in the windows that are open, never in none. */
  charge(nano: number, at: number): void {
    this.add(nano, Math.max(at, this.day))
  }

  /** @param now milliseconds since the epoch. A clock that goes back opens no window again. */
  spent(window: LimitReset, now: number): number {
    this.advance(now)
    return this[window]
  }

  usage(now: number): WindowUsage {
    this.advance(now)
    const { daily, weekly, monthly } = this
    return { daily, weekly, monthly }
  }

  /** Windows that have ended by then begin anew. */
  private advance(at: number): void {
    if (at < this.day + DAY_MS && this.day >= 0) return
    const starts = windowStarts(at)
    if (starts.daily > this.day) {
      this.day = starts.daily
      this.daily = 0
    }
    if (starts.weekly > this.week) {
      this.week = starts.weekly
      this.weekly = 0
    }
    if (starts.monthly > this.month) {
      this.month = starts.monthly
      this.monthly = 0
    }
  }
}

/** Cut instead of inexact: absurd charges must not stop the books. */
function sum(a: number, b: number): number {
  return Math.min(a + b, Number.MAX_SAFE_INTEGER)
}
