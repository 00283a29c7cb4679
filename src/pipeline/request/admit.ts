/** How much a key may have going: request rate and bytes in flight. */

import type { Authenticated } from '../exchange.ts'
import type { Layer, Service } from '../layer.ts'
import type { Admission } from './admission.ts'

export function admit(admission: Admission): Layer<Authenticated> {
  return (next) => {
    const enter = weighed(admission, next)
    return function admitted(exchange) {
      // A promise only where several processes share the counters.
      const counted = admission.request(exchange.auth.key)
      return counted ? counted.then(() => enter(exchange)) : enter(exchange)
    }
  }
}

/** Lets a request on with its bytes counted, as far as its key has such a limit. */
function weighed(admission: Admission, next: Service<Authenticated>): Service<Authenticated> {
  return (exchange) => {
    const {
      auth: { key },
    } = exchange
    if (key.limits.bytes === undefined) return next(exchange)
    // Without a declared length the bytes are counted as they come (read).
    const declared = exchange.head.door.contentLength ?? 0
    admission.takeBytes(key, declared)
    exchange.head.books.rateBytes = declared
    return next(exchange).finally(() => admission.giveBytes(key, exchange.head.books.rateBytes))
  }
}
