/** Returns the date and time in the zone that the caller named in the tool's `parameters` (IANA name, UTC if absent). */
import { badField, type JsonObject, type ServerTool } from '../../plugin-api/index.ts'

/** Free, and takes no arguments from the model: the caller decides the zone. */
export const datetime: ServerTool = {
  name: 'datetime',
  description: 'Returns the current date and time as ISO 8601, with the name of the time zone.',
  parameters: { type: 'object', properties: {}, additionalProperties: false },

  parse(parameters: JsonObject, path: string): JsonObject {
    const zone = parameters.timezone ?? 'UTC'
    if (typeof zone !== 'string' || !isZone(zone)) {
      throw badField(`${path}.timezone`, 'expected an IANA time zone name such as Europe/Berlin')
    }
    return { timezone: zone }
  },

  run(_args, parameters, host) {
    const timezone = typeof parameters.timezone === 'string' ? parameters.timezone : 'UTC'
    const datetime = isoInZone(host.clock.now(), timezone)
    if (datetime === undefined) {
      return { output: JSON.stringify({ error: 'unknown time zone' }), item: { timezone }, status: 'failed' }
    }
    return { output: JSON.stringify({ datetime, timezone }), item: { datetime, timezone }, status: 'completed' }
  },
}

/** One formatter per zone; keyed in lower case, so it never holds more than the zones that exist. */
const formatters = new Map<string, Intl.DateTimeFormat>()

function formatter(zone: string): Intl.DateTimeFormat | undefined {
  const key = zone.toLowerCase()
  const known = formatters.get(key)
  if (known) return known
  // ICU takes `+02:00` as well, which names no zone.
  if (!/^[a-z]/.test(key)) return undefined
  try {
    const made = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
    formatters.set(key, made)
    return made
  } catch {
    return undefined
  }
}

/**
 * Offsets of IANA time zones, from the ICU data that Node carries.
 * True if `zone` is an IANA time zone name, in any letter case.
 */
function isZone(zone: string): boolean {
  return formatter(zone) !== undefined
}

/**
 * An instant as ISO 8601 with milliseconds and the zone's offset, `2026-01-31T09:30:00.000+01:00`.
 * @param ms milliseconds since the epoch.
 * @returns undefined if the zone does not exist.
 */
function isoInZone(ms: number, zone: string): string | undefined {
  const name = formatter(zone)
    ?.formatToParts(ms)
    .find((part) => part.type === 'timeZoneName')?.value
  if (name === undefined) return undefined
  const [, sign = '+', hours = '00', minutes = '00'] = /([+-])(\d{2}):(\d{2})/.exec(name) ?? []
  const offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
  return `${new Date(ms + offset * 60_000).toISOString().slice(0, -1)}${sign}${hours}:${minutes}`
}
