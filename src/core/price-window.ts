/** Hours of the day and days of the week at which a price holds, in UTC. */

const MINUTE = 60_000
const MINUTES_PER_DAY = 1440
const DAY = MINUTE * MINUTES_PER_DAY

/** Sunday first, as `Date` counts them. */
export const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const

export interface PriceWindow {
  /** Minutes since 00:00: from `start`, before `end`, over midnight where `end` comes first; absent for whole days. */
  readonly hours?: { readonly start: number; readonly end: number } | undefined
  /** Days of the week on which it begins, Sunday first; absent for all. */
  readonly days?: ReadonlySet<number> | undefined
  /** Days on which it does not begin, such as public holidays, counted from 1970-01-01. */
  readonly notOn?: ReadonlySet<number> | undefined
}

/** A window that passes midnight is of the day on which it began. */
export function holds(window: PriceWindow | undefined, at: number): boolean {
  if (window === undefined) return true
  const { hours, days, notOn } = window
  const today = Math.floor(at / DAY)
  let began = today
  if (hours !== undefined) {
    const minute = Math.floor(at / MINUTE) % MINUTES_PER_DAY
    const { start, end } = hours
    if (start < end ? minute < start || minute >= end : minute < start && minute >= end) return false
    if (minute < start) began = today - 1
  }
  return (days === undefined || days.has(weekday(began))) && !notOn?.has(began)
}

/** Sunday is 0; 1970-01-01 was a Thursday. @param day counted from 1970-01-01. */
const weekday = (day: number): number => (day + 4) % 7

/** Days since 1970-01-01. @param date such as `2027-01-01`. */
export function dayNumber(date: string): number {
  return Math.floor(Date.parse(date) / DAY)
}

/** @param day since 1970-01-01. */
export function dayDate(day: number): string {
  return new Date(day * DAY).toISOString().slice(0, 10)
}
