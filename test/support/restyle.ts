/** The same events in other clothes: how providers of one dialect differ on the wire without meaning anything by it. */
import type { Json, JsonObject } from '../../src/core/json.ts'

export interface Style {
  /** Spaces after colons and commas, as some servers print JSON. */
  spaced: boolean
  /** Every character beyond ASCII written as an escape, and slashes too. */
  escaped: boolean
  /** Rotates the order of the keys of each event by so many. */
  rotate: number
  /** Fields added to every event at the top level. */
  extra: JsonObject
  /** Line before the data, such as a comment or an event name; '' for none. */
  before: string
  /** `data:` without a space after it. */
  tight: boolean
}

function print(value: Json | undefined, style: Style): string {
  const [colon, comma] = style.spaced ? [': ', ', '] : [':', ',']
  if (Array.isArray(value)) return `[${value.map((each) => print(each, style)).join(comma)}]`
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .filter(([, each]) => each !== undefined)
      .map(([key, each]) => `${JSON.stringify(key)}${colon}${print(each, style)}`)
      .join(comma)}}`
  const text = JSON.stringify(value)
  if (!style.escaped || typeof value !== 'string') return text
  return text.replaceAll('/', '\\/').replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function rotated(event: JsonObject, by: number): JsonObject {
  const entries = Object.entries(event)
  const cut = entries.length === 0 ? 0 : by % entries.length
  return Object.fromEntries([...entries.slice(cut), ...entries.slice(0, cut)])
}

/** One frame in the given style; the end mark stays as it is. */
export function restyle(frame: string, style: Style): string {
  const start = frame.indexOf('data: ')
  const data = frame.slice(start + 6, frame.lastIndexOf('\n\n'))
  if (data === '[DONE]') return frame
  const event = { ...(JSON.parse(data) as JsonObject), ...style.extra }
  const label = style.tight ? 'data:' : 'data: '
  const named = style.before === 'keep' ? frame.slice(0, start) : style.before
  return `${named}${label}${print(rotated(event, style.rotate), style)}\n\n`
}
