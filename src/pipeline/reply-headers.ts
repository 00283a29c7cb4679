/** Headers of every reply of the chain, errors and heads of streams too. */
import type { Exchange } from './exchange.ts'
import { addRateHeaders } from './rate-headers.ts'

/**
 * Headers with the id of the generation, which the SDKs of the caller's format show as the id of the request, that of the trace, and what is
 * left of the limits of the key.
 */
export function idHeaders(exchange: Pick<Exchange, 'head' | 'run' | 'history'>): Record<string, string> {
  const { id } = exchange.head
  const client = exchange.run.client
  const headers: Record<string, string> = { 'X-Generation-Id': id, [client.requestIdHeader ?? 'X-Request-Id']: id }
  const { trace } = exchange.history
  if (trace) headers['X-Trace-Id'] = trace.traceId
  const { rates } = exchange.history
  if (rates) addRateHeaders(headers, rates, client.rateForm ?? 'durations', exchange.head.clock.now())
  return headers
}
