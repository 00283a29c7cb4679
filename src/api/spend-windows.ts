/** What each key has spent in the current UTC day, week and month: kept as settlements come, so that no read walks the ledger. */
import type { GenerationRecord } from '../ledger/types.ts'

/** Nano-dollars. */
export interface WindowUsage {
  readonly daily: number
  readonly weekly: number
  readonly monthly: number
}

interface Spending {
  /** Starts of the windows that the sums are of, milliseconds since the epoch. */
  day: number
  week: number
  month: number
  daily: number
  weekly: number
  monthly: number
}

const DAY_MS = 86_400_000
/** The epoch was a Thursday; weeks begin on Monday (contract section 8). */
const THURSDAY = 3

/** One small entry per key that ever spent. */
export class SpendWindows {
  private readonly byKey = new Map<string, Spending>()

  /** Counts what a journal already holds. Call it once, at the start. */
  seed(records: Iterable<GenerationRecord>): void {
    for (const { hold, settled, at } of records) if (settled && settled.cost > 0) this.add(hold.key, settled.cost, at)
  }

  /** @param nano of a settlement. @param at when, milliseconds since the epoch; in no particular order. */
  add(key: string, nano: number, at: number): void {
    let spending = this.byKey.get(key)
    if (spending === undefined) {
      spending = { day: -1, week: -1, month: -1, daily: 0, weekly: 0, monthly: 0 }
      this.byKey.set(key, spending)
    }
    advance(spending, at)
    if (at >= spending.day) spending.daily += nano
    if (at >= spending.week) spending.weekly += nano
    if (at >= spending.month) spending.monthly += nano
  }

  /** @param now milliseconds since the epoch. */
  usage(key: string, now: number): WindowUsage {
    const spending = this.byKey.get(key)
    if (spending === undefined) return { daily: 0, weekly: 0, monthly: 0 }
    advance(spending, now)
    return { daily: spending.daily, weekly: spending.weekly, monthly: spending.monthly }
  }
}

/** Windows that have ended by then begin anew. */
function advance(spending: Spending, at: number): void {
  const days = Math.floor(at / DAY_MS)
  const day = days * DAY_MS
  if (day <= spending.day) return
  spending.day = day
  spending.daily = 0
  const week = (days - ((days + THURSDAY) % 7)) * DAY_MS
  if (week > spending.week) {
    spending.week = week
    spending.weekly = 0
  }
  const date = new Date(at)
  const month = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
  if (month > spending.month) {
    spending.month = month
    spending.monthly = 0
  }
}
