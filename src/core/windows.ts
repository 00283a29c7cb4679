/** The UTC days, weeks and months in which limits count what was spent. */

/** Periods of limits, the shortest first. */
export const WINDOWS = ['daily', 'weekly', 'monthly'] as const

export type Window = (typeof WINDOWS)[number]

export const DAY_MS = 86_400_000
/** The epoch was a Thursday; weeks begin on Monday (docs/contract.md#keys). */
const THURSDAY = 3

/** Starts of the windows that a moment lies in, milliseconds since the epoch. */
export function windowStarts(at: number): Record<Window, number> {
  const days = Math.floor(at / DAY_MS)
  const date = new Date(at)
  return {
    daily: days * DAY_MS,
    weekly: (days - ((days + THURSDAY) % 7)) * DAY_MS,
    monthly: Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1),
  }
}

/** When the window that a moment lies in ends and the next one begins, milliseconds since the epoch. */
export function windowEnd(window: Window, at: number): number {
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
