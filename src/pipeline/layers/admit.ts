/** 3. How much a key may have going: request rate and bytes in flight, and what we shed when draining. */
import type { Authed } from '../../plugin-api/exchange.ts'
import type { Admission } from '../admission.ts'
import type { At, Layer } from '../reply.ts'

export function admit(admission: Admission): Layer<At<Authed>> {
  return (next) =>
    function admitted(exchange) {
      const { key } = exchange
      admission.request(key)
      if (key.limits.bytes === undefined) return next(exchange)
      // Without a declared length the bytes are counted when they have been read.
      const declared = exchange.door.contentLength
      admission.takeBytes(key, declared ?? 0)
      return next(exchange).finally(() => admission.giveBytes(key, declared ?? exchange.bodyBytes))
    }
}
