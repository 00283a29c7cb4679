/** A whole Response object of an upstream as canonical events. */

import { Fault } from '../../core/faults.ts'
import { asObjects, asString, isObject, type JsonObject } from '../../core/json.ts'
import type { StreamEvent } from '../canon/events.ts'
import { StreamWords } from '../canon/stream-words.ts'
import { isCallItem, itemEvents } from './decode-output-item.ts'
import { responseEnd } from './ends.ts'
import { decodeFault } from './fault.ts'
import { noteItems } from './known-words.ts'
import { restEvents } from './reply.ts'
import { decodeUsage } from './usage.ts'

/** True where an upstream says in a 200 that it failed. */
export function hasFailed(body: JsonObject): boolean {
  return isObject(body.error) || body.status === 'failed' || body.status === 'cancelled'
}

/** Events of a reply that is there at once, ending with `usage` and `end`, or with `fault`. */
export function decodeResult(body: JsonObject, out: StreamEvent[]): void {
  if (hasFailed(body)) {
    const usage = decodeUsage(body)
    if (usage) out.push({ type: 'usage', usage })
    out.push({ type: 'fault', fault: decodeFault(200, body) })
    return
  }
  if (!Array.isArray(body.output)) {
    out.push({ type: 'fault', fault: new Fault('upstream_garbled') })
    return
  }
  const model = asString(body.model)
  out.push(model === undefined ? { type: 'start' } : { type: 'start', model })
  const items = asObjects(body.output)
  const numbers = { next: 0 }
  for (const item of items) itemEvents(item, numbers, out)
  const usage = decodeUsage(body)
  if (usage) out.push({ type: 'usage', usage })
  restEvents(body, out)
  const end = responseEnd(body, items.some(isCallItem))
  const strange = new StreamWords()
  noteItems(strange, items)
  strange.addTo(end)
  out.push({ type: 'end', ...end })
}
