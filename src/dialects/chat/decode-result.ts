/** A whole reply as events: its message is read as one large delta, so it folds like the stream. */

import { Fault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { StreamEvent } from '../canon/events.ts'
import { onlyChoice } from '../canon/places.ts'
import type { Quirks } from '../quirks.ts'
import type { Sent } from '../types.ts'
import { ChatStreamDecoder } from './decode-stream.ts'
import { faultIn } from './ends.ts'
import { Sources } from './sources.ts'

/** The choice of a whole reply; a fault where there is none that can be read. */
export function firstChoice(body: JsonObject): JsonObject | Fault {
  const fault = faultIn(body)
  if (fault) return fault
  if (!Array.isArray(body.choices)) return new Fault('upstream_garbled')
  const choice = onlyChoice(body.choices)
  if (choice === undefined) return new Fault('upstream_empty')
  return isObject(choice.message) ? choice : new Fault('upstream_garbled')
}

export function decodeResult(body: JsonObject, out: StreamEvent[], quirks?: Quirks, sent?: Sent): void {
  const choice = firstChoice(body)
  if (choice instanceof Fault) {
    out.push({ type: 'fault', fault: choice })
    return
  }
  const decoder = new ChatStreamDecoder(new Sources(quirks, sent), { isWhole: true })
  decoder.chunk({ ...body, choices: [{ ...choice, index: 0, delta: numbered(choice.message as JsonObject) }] }, out)
  decoder.feed('[DONE]', undefined, out)
}

/** Each entry of a whole list is a call of its own, whatever index or id it has. */
function numbered(message: JsonObject): JsonObject {
  const { tool_calls: calls } = message
  if (!Array.isArray(calls)) return message
  return { ...message, tool_calls: calls.map((call, index) => (isObject(call) ? { ...call, index } : call)) }
}
