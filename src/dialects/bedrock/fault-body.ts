/** An error of the gateway's as the service reports errors: callers of the pass-through read it with the SDKs of AWS. */
import type { Fault } from '../../core/faults.ts'
import type { ErrorReply } from '../types.ts'

/** Exceptions by their HTTP status (`InvokeModel`, "Errors", in the API reference of Amazon Bedrock). */
const EXCEPTIONS: ReadonlyMap<number, string> = new Map([
  [403, 'AccessDeniedException'],
  [404, 'ResourceNotFoundException'],
  [408, 'ModelTimeoutException'],
  [429, 'ThrottlingException'],
  [500, 'InternalServerException'],
  [503, 'ServiceUnavailableException'],
])

/** Its SDKs read the name of the exception from the header (`loadRestJsonErrorCode` of npm @smithy/core 3.41.1). */
export function errorReply({ status, message, type, metadata }: Fault): ErrorReply {
  const exception = EXCEPTIONS.get(status) ?? (status < 500 ? 'ValidationException' : 'InternalServerException')
  return { body: { message, metadata: { error_type: type, ...metadata } }, headers: { 'x-amzn-errortype': exception } }
}
