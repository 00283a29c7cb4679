/** The zone of all times of the control room: that of the browser, or UTC, in which the gateway counts days. */
const NAME = 'control-room-zone'

export type Zone = 'local' | 'utc'

/** Storage may be switched off. */
function stored(value?: Zone): string | null {
  try {
    if (value === undefined) return localStorage.getItem(NAME)
    localStorage.setItem(NAME, value)
  } catch {}
  return null
}

let zone: Zone = stored() === 'utc' ? 'utc' : 'local'

export const currentZone = (): Zone => zone

export function setZone(chosen: Zone): void {
  zone = chosen
  stored(chosen)
  dispatchEvent(new Event('zonechange'))
}

/** Options of the formatters of dates. */
export const zoneOptions = (): Intl.DateTimeFormatOptions => (zone === 'utc' ? { timeZone: 'UTC' } : {})

/** The start of the day of a moment. @param at milliseconds since the epoch. */
export function startOfDay(at: number): number {
  return zone === 'utc' ? Math.floor(at / 86_400_000) * 86_400_000 : new Date(at).setHours(0, 0, 0, 0)
}

/** Milliseconds since the epoch of a field of date and time, which has no zone; NaN where it has none. */
export const fieldMoment = (text: string): number => new Date(zone === 'utc' ? `${text}Z` : text).getTime()
