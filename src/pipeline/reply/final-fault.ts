/** The final error of a request that no endpoint has answered (contract sections 5.2 and 8). */

import { Fault } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Received, Routed } from '../exchange.ts'

export interface Failure {
  readonly endpoint: Endpoint
  readonly fault: Fault
  /** The provider's own status; null where it sent none. */
  readonly status: number | null
}

const DOCS_URL = 'docs/routing.md#fallbacks-and-retries'
/** Seconds to wait where no provider has said how long. */
const USUAL_WAIT = 1

/**
 * The last failure, with the earlier ones in `previous_errors`; where it was a limit, the shortest wait until one
 * of the endpoints may be called again. 503 only where nothing could be tried.
 */
export function finalFault(exchange: Routed, failures: readonly Failure[]): Fault {
  const last = failures.at(-1)
  if (!last) return new Fault('unavailable', { retryAfter: USUAL_WAIT, availability: availabilityOf('unavailable', exchange, failures) })
  const { fault } = last
  const hints = failures.map((failure) => failure.fault.retryAfter).filter((seconds) => seconds !== undefined)
  const retryAfter = fault.status !== 429 ? undefined : hints.length > 0 ? Math.min(...hints) : USUAL_WAIT
  return new Fault(fault.code, {
    message: fault.message,
    metadata: { ...fault.metadata, ...previousErrors(failures.slice(0, -1)) },
    retryAfter,
    availability: fault.availability ?? availabilityOf(fault.code, exchange, failures, retryAfter),
    cause: fault,
  })
}

/** The exchange has ended before its time: the caller left, or the deadline has passed. */
export function endedEarly(exchange: Received, failures: readonly Failure[]): Fault {
  const { reason } = exchange.head.cancel
  if (!reason) return new Fault('client_gone')
  if (failures.length === 0) return reason
  return new Fault(reason.code, { message: reason.message, metadata: { ...reason.metadata, ...previousErrors(failures) }, cause: reason })
}

function previousErrors(failures: readonly Failure[]): JsonObject {
  if (failures.length === 0) return {}
  return {
    previous_errors: failures.map(({ endpoint, fault, status }) => ({ provider: endpoint.provider.name, code: fault.code, status })),
  }
}

/** Undefined where the request itself was at fault: waiting does not help then. */
function availabilityOf(code: Fault['code'], exchange: Routed, failures: readonly Failure[], retryAfter?: number): JsonObject | undefined {
  if (failures.at(-1)?.fault.retry === 'never') return undefined
  const affected = new Set(failures.map(({ endpoint }) => endpoint.provider.slug))
  return {
    code: code === 'upstream_limited' ? 'capacity_exhausted' : 'temporarily_unavailable',
    retryable: true,
    requested_models: exchange.route.models.map((model) => model.slug),
    docs_url: DOCS_URL,
    ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
    ...(affected.size > 0 ? { affected_providers: [...affected] } : {}),
  }
}
