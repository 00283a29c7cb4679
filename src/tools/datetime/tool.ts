import { badField, type JsonObject, type ServerTool } from '../../plugin-api/index.ts'
import { isoInZone, isZone } from './zone.ts'

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
