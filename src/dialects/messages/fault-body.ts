/** Errors as this wire reports them: as the body of a plain reply and as the last event of a stream (contract section 3). */
import type { Fault, FaultFacts } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'

const TYPES: ReadonlyMap<string, string> = new Map([
  ['authentication', 'authentication_error'],
  ['permission_denied', 'permission_error'],
  ['payment_required', 'billing_error'],
  ['not_found', 'not_found_error'],
  ['image_not_found', 'not_found_error'],
  ['rate_limit_exceeded', 'rate_limit_error'],
  ['provider_overloaded', 'overloaded_error'],
  ['timeout', 'timeout_error'],
  ['provider_unavailable', 'api_error'],
  ['server', 'api_error'],
  ['unmapped', 'api_error'],
])

/** `error`: type and message of this wire, then the members that every wire of the gateway has. */
export function errorOf(fault: Fault): JsonObject {
  const error: JsonObject = {
    type: TYPES.get(fault.type) ?? 'invalid_request_error',
    message: fault.message,
    error_type: fault.type,
    code: fault.status,
  }
  if (fault.availability) error.availability = fault.availability
  return error
}

/** `{ type: error, error, request_id, metadata?, router_metadata? }`; `request_id` is null where no exchange was opened. */
export function faultBody(fault: Fault, { id, routerMetadata }: FaultFacts): JsonObject {
  const body: JsonObject = { type: 'error', error: errorOf(fault), request_id: id ?? null }
  if (fault.metadata) body.metadata = fault.metadata
  if (routerMetadata) body[routerMetadata.key] = routerMetadata.value
  return body
}
