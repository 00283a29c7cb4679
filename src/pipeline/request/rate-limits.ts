/** Enforces the limits of a key: requests and tokens per minute, and bytes in flight. */
import type { Accepted, Authenticated } from '../exchange.ts'
import type { Layer, Service } from '../layer.ts'
import type { Admission } from './admission.ts'
import { inputEstimate } from './client-request.ts'
import { shownRates } from './shown-rates.ts'

/** Open work that a key may have: request rate and bytes in flight. */
export function admitLayer(admission: Admission): Layer<Authenticated> {
  return (next) => {
    const enter = weighed(admission, next)
    return function handle(exchange) {
      const { key } = exchange.auth
      const { requests, tokens, bytes } = key.limits
      if (requests === undefined && tokens === undefined && bytes === undefined && key.levels === undefined) return next(exchange)
      // A promise only where several processes share the counters.
      exchange.history.rates = shownRates(key)
      const counted = admission.request(key, exchange.history.rates)
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
    const declared = exchange.head.connection.contentLength ?? 0
    admission.takeBytes(key, declared)
    exchange.head.costs.rateBytes = declared
    return next(exchange).finally(() => admission.giveBytes(key, exchange.head.costs.rateBytes))
  }
}

/**
 * Tokens of the minute of a key with such a limit: taken by estimate before the call, put right when the usage is known.
 * Takes the estimate of the input plus the caller's output cap; nothing for the output where the caller set no cap.
 * Call once for each turn: only the first can be refused.
 * @returns a promise only where the counters are shared.
 * @throws Fault 429.
 */
export function takeTokens(exchange: Accepted, admission: Admission): Promise<void> | undefined {
  const {
    auth: { key },
    head: { costs },
    history,
  } = exchange
  const count = Math.ceil(inputEstimate(exchange) + Math.max(0, exchange.request.need.cap ?? 0))
  const waiting = admission.tokens(key, count, costs.turns.length > 0, history.rates)
  if (!waiting) costs.rateTokens += count
  return waiting?.then(() => {
    costs.rateTokens += count
  })
}
