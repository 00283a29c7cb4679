/** The headers by which a provider's spans join the trace of a request, where the operator lets it know. */
import { randomHex } from '../../core/ids.ts'
import { type TraceScope, traceHeaders } from '../../services/telemetry/trace-context.ts'
import type { Planned } from '../exchange.ts'

/** Of the running attempt: its span is the parent of the provider's. */
export function traceOf({ head, trail }: Planned, scope: TraceScope): string[] {
  const { trace, attempts } = trail
  const attempt = attempts.at(-1)
  if (trace && attempt) attempt.span ??= randomHex(16)
  return traceHeaders(scope, { trace, span: attempt?.span, headers: head.headers })
}
