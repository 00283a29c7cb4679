/** A whole message of an upstream as events: it is read as a short stream, so it folds like one. */
import { Fault } from '../../core/faults.ts'
import { asObjects, type JsonObject } from '../../core/json.ts'
import { isErrorEvent } from '../canon/error-shape.ts'
import type { StreamEvent } from '../canon/events.ts'
import { MessagesStreamDecoder } from './decode-stream.ts'
import { decodeFault } from './fault.ts'

/** Events of a reply that is there at once, ending with `usage` and `end`, or with `fault`. */
export function decodeResult(body: JsonObject, out: StreamEvent[]): void {
  if (isErrorEvent(body, undefined)) {
    out.push({ type: 'fault', fault: decodeFault(200, body) })
    return
  }
  if (!Array.isArray(body.content)) {
    out.push({ type: 'fault', fault: new Fault('upstream_garbled') })
    return
  }
  const decoder = new MessagesStreamDecoder()
  const { content, usage, type: _, stop_reason, stop_sequence, ...message } = body
  decoder.message({ type: 'message_start', message }, undefined, out)
  asObjects(content).forEach((block, index) => {
    decoder.message({ type: 'content_block_start', index, content_block: block }, undefined, out)
    decoder.message({ type: 'content_block_stop', index }, undefined, out)
  })
  decoder.message({ type: 'message_delta', delta: { stop_reason, stop_sequence }, usage }, undefined, out)
  decoder.message({ type: 'message_stop' }, undefined, out)
}
