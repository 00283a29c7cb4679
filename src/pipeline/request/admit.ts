/** How much a key may have going: request rate and bytes in flight. */
import type { Authed } from '../../plugin-api/exchange.ts'
import type { At, Layer, Service } from '../reply.ts'
import type { Admission } from './admission.ts'

export function admit(admission: Admission): Layer<At<Authed>> {
  return (next) => {
    const enter = weighed(admission, next)
    return function admitted(exchange) {
      // Only counters that several processes share make anybody wait.
      const counted = admission.request(exchange.key)
      return counted ? counted.then(() => enter(exchange)) : enter(exchange)
    }
  }
}

/** Lets a request on with its bytes counted, as far as its key has such a limit. */
function weighed(admission: Admission, next: Service<At<Authed>>): Service<At<Authed>> {
  return (exchange) => {
    const { key } = exchange
    if (key.limits.bytes === undefined) return next(exchange)
    // Without a declared length the bytes are counted as they come (read).
    const declared = exchange.door.contentLength ?? 0
    admission.takeBytes(key, declared)
    exchange.books.rateBytes = declared
    return next(exchange).finally(() => admission.giveBytes(key, exchange.books.rateBytes))
  }
}
