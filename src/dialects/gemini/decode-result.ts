/** A whole reply as events: it is read as the only frame of a stream, so that both fold alike. */
import type { JsonObject } from '../../core/json.ts'
import type { StreamEvent } from '../canon/events.ts'
import { GeminiStreamDecoder } from './decode-stream.ts'

export function decodeResult(body: JsonObject, out: StreamEvent[]): void {
  const decoder = new GeminiStreamDecoder()
  decoder.reply(body, out)
  decoder.endWhole(out)
}
