/** The final error of a request that no endpoint has answered (docs/contract.md#endpoint-choice, docs/contract.md#availability). */

import { Fault, isAccountFault, isRejection } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import { MAX_RETRY_AFTER_SECONDS, NO_RETRY } from '../../core/retry-after.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Received, Routed } from '../exchange.ts'

export interface Failure {
  readonly endpoint: Endpoint
  fault: Fault
  /** The provider's own status; null where it sent none. */
  readonly status: number | null
}

/** Seconds to wait where no provider has stated a time. */
const USUAL_WAIT = 1

/**
 * The last failure, with the earlier ones in `previous_errors`; where it was a limit, the shortest wait until one
 * of the endpoints may be called again. 503 only where nothing could be tried.
 */
export function finalFault(exchange: Routed, failures: readonly Failure[]): Fault {
  const last = failures.at(-1)
  if (!last)
    return new Fault('unavailable', { retryAfter: USUAL_WAIT, availability: availabilityMetadata('unavailable', exchange, failures) })
  const { fault } = last
  const retryAfter = waitAfter(last, failures)
  return new Fault(fault.code, {
    message: fault.message,
    metadata: { ...fault.metadata, ...limitOfProvider(exchange, last, retryAfter), ...previousErrors(failures.slice(0, -1)) },
    retryAfter,
    availability: fault.availability ?? availabilityMetadata(fault.code, exchange, failures, retryAfter),
    headers: isForTheOperator(failures) ? NO_RETRY : longPause(exchange, retryAfter),
    cause: fault,
  })
}

/** A limit of the gateway's account at a provider: what that has used of it is not shown. */
function limitOfProvider({ head: { clock } }: Received, { fault, endpoint }: Failure, retryAfter: number | undefined): JsonObject {
  if (fault.code !== 'upstream_limited') return {}
  const { provider, model } = endpoint
  // A wait that no provider has named says nothing of when the limit opens.
  const known = fault.retryAfter === undefined ? undefined : retryAfter
  const resetsAt = known === undefined ? null : new Date(Math.ceil(clock.now() + known * 1000)).toISOString()
  return { limit: { scope: 'provider', name: provider.name, model: model.slug, kind: null, per: null, resets_at: resetsAt } }
}

/** `Retry-After` has no more than a minute: the true end of a longer pause, in milliseconds since the epoch. */
function longPause({ head: { clock } }: Received, seconds: number | undefined): Record<string, string> | undefined {
  if (seconds === undefined || seconds <= MAX_RETRY_AFTER_SECONDS) return undefined
  return { 'X-RateLimit-Reset': String(Math.ceil(clock.now() + seconds * 1000)) }
}

/** True where every endpoint has failed for the sake of the gateway's account there: no retry helps. */
function isForTheOperator(failures: readonly Failure[]): boolean {
  return failures.length > 0 && failures.every(({ fault }) => isAccountFault(fault))
}

/** Statuses with which a provider may say how long to wait (RFC 9110, 10.2.3; Anthropic's 529). */
const WAITS: ReadonlySet<number | null> = new Set([429, 503, 529])

/** Seconds for the caller: the shortest wait that one of the providers states. An account is not mended by waiting. */
function waitAfter({ fault, status }: Failure, failures: readonly Failure[]): number | undefined {
  if (isAccountFault(fault) || !(WAITS.has(fault.status) || WAITS.has(status))) return undefined
  const hints = failures.map((failure) => failure.fault.retryAfter).filter((seconds) => seconds !== undefined)
  return hints.length > 0 ? Math.min(...hints) : fault.status === 429 ? USUAL_WAIT : undefined
}

/** The exchange has ended before its time: the caller left, or the deadline has passed. */
export function endedEarly(exchange: Received, failures: readonly Failure[]): Fault {
  const { reason } = exchange.head.cancel
  if (!reason) return new Fault('client_gone')
  if (failures.length === 0) return reason
  return new Fault(reason.code, { message: reason.message, metadata: { ...reason.metadata, ...previousErrors(failures) }, cause: reason })
}

/** Codes of `availability` for faults that the time does not heal by itself, or that have a word of their own (docs/contract.md#availability). */
const AVAILABILITY: ReadonlyMap<Fault['code'], string> = new Map([
  ['upstream_limited', 'capacity_exhausted'],
  ['upstream_missing', 'model_unavailable_upstream'],
])

function previousErrors(failures: readonly Failure[]): JsonObject {
  if (failures.length === 0) return {}
  return {
    previous_errors: failures.map(({ endpoint, fault, status }) => ({ provider: endpoint.provider.name, code: fault.code, status })),
  }
}

/** Undefined where the request itself was at fault: neither waiting nor another endpoint helps then. */
function availabilityMetadata(
  code: Fault['code'],
  exchange: Routed,
  failures: readonly Failure[],
  retryAfter?: number,
): JsonObject | undefined {
  const last = failures.at(-1)
  if (last && isRejection(last.fault)) return undefined
  const affected = new Set(failures.map(({ endpoint }) => endpoint.provider.slug))
  return {
    code: AVAILABILITY.get(code) ?? 'temporarily_unavailable',
    retryable: code !== 'upstream_missing' && !isForTheOperator(failures),
    requested_models: exchange.route.models.map((model) => model.slug),
    ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
    ...(affected.size > 0 ? { affected_providers: [...affected] } : {}),
  }
}
