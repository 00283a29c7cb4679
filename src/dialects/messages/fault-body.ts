/** Errors as this wire reports them: as the body of a plain reply and as the last event of a stream (docs/contract.md#messages). */
import { type Fault, type FaultFacts, shownMetadata } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'

/** platform.claude.com, "Errors"; `ErrorType` of npm @anthropic-ai/sdk 1.12.0. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ['authentication', 'authentication_error'],
  ['permission_denied', 'permission_error'],
  ['payment_required', 'billing_error'],
  ['not_found', 'not_found_error'],
  ['image_not_found', 'not_found_error'],
  ['payload_too_large', 'request_too_large'],
  ['rate_limit_exceeded', 'rate_limit_error'],
  ['provider_overloaded', 'overloaded_error'],
  ['timeout', 'timeout_error'],
  ['provider_unavailable', 'api_error'],
  ['server', 'api_error'],
  ['unmapped', 'api_error'],
])

/**
 * Claude Code 2.1.330 compacts a conversation on the words `prompt is too long`, and reads both numbers where they follow as the API
 * writes them: `prompt is too long: 213462 tokens > 200000 maximum`.
 */
function faultMessage({ type, message, metadata }: Fault): string {
  if (type !== 'context_length_exceeded' || /prompt is too long/i.test(message)) return message
  const { tokens, context } = metadata ?? {}
  const numbers = typeof tokens === 'number' && typeof context === 'number' ? `${tokens} tokens > ${context} maximum. ` : ''
  return `prompt is too long: ${numbers}${message}`
}

/** `error`: type and message of this wire, then the members that every wire of the gateway has. */
export function encodeError(fault: Fault): JsonObject {
  const error: JsonObject = {
    type: TYPES.get(fault.type) ?? 'invalid_request_error',
    message: faultMessage(fault),
    error_type: fault.type,
    code: fault.status,
  }
  if (fault.availability) error.availability = fault.availability
  // The SDKs throw an error of its own for it, such as `ThreadNotFoundError` (npm @anthropic-ai/sdk 1.12.0).
  if (typeof fault.metadata?.error_code === 'string') error.details = { error_code: fault.metadata.error_code }
  return error
}

/** `{ type: error, error, request_id, metadata?, router_metadata? }`; `request_id` is null where no exchange was opened. */
export function faultBody(fault: Fault, { id, routerMetadata }: FaultFacts): JsonObject {
  const body: JsonObject = { type: 'error', error: encodeError(fault), request_id: id ?? null }
  const metadata = shownMetadata(fault)
  if (metadata) body.metadata = metadata
  if (routerMetadata) body[routerMetadata.key] = routerMetadata.value
  return body
}
