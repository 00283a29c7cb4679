/** An error of the gateway's as this wire reports errors: callers of the pass-through read it with Google's SDKs. */
import type { Fault } from '../../core/faults.ts'
import type { ErrorReply } from '../types.ts'

/**
 * `google.rpc.Code` by the HTTP status (google/rpc/code.proto, "HTTP Mapping"); for 502 as gRPC reads it (doc/http-grpc-status-mapping.md
 * of github.com/grpc/grpc).
 */
const CODES: ReadonlyMap<number, string> = new Map([
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [408, 'DEADLINE_EXCEEDED'],
  [409, 'ABORTED'],
  [429, 'RESOURCE_EXHAUSTED'],
  [499, 'CANCELLED'],
  [500, 'INTERNAL'],
  [502, 'UNAVAILABLE'],
  [503, 'UNAVAILABLE'],
  [524, 'DEADLINE_EXCEEDED'],
  [529, 'UNAVAILABLE'],
])

export function errorReply({ status, message, type, metadata }: Fault): ErrorReply {
  const code = CODES.get(status) ?? (status < 500 ? 'INVALID_ARGUMENT' : 'UNKNOWN')
  return { body: { error: { code: status, message, status: code, metadata: { error_type: type, ...metadata } } } }
}
