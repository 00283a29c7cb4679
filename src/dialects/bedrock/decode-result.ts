/** A whole reply of `Converse`: it is read as a short stream, so that both fold alike. */
import { unreadable } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { StreamEvent } from '../canon/events.ts'
import type { Quirks } from '../quirks.ts'
import { ConverseStreamDecoder } from './decode-stream.ts'
import { decodeFault } from './fault.ts'

export function decodeResult(body: JsonObject, out: StreamEvent[], quirks?: Quirks): void {
  const message = isObject(body.output) ? body.output.message : undefined
  if (!isObject(message) || !Array.isArray(message.content)) {
    out.push({ type: 'fault', fault: decodeFault(200, body) })
    return
  }
  const decoder = new ConverseStreamDecoder(quirks)
  decoder.event('messageStart', {}, out)
  try {
    for (const [index, block] of message.content.entries()) if (isObject(block)) decoder.whole(index, block, out)
  } catch (cause) {
    // Arguments that are nested deeper than can be written again.
    out.push({ type: 'fault', fault: unreadable(cause) })
    return
  }
  decoder.event('messageStop', body, out)
  decoder.event('metadata', body, out)
}
