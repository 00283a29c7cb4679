/** A provider's error as one of our faults. */
import type { Fault } from '../../core/faults.ts'
import { asObjects, asString, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { MAX_PAUSE_SECONDS } from '../../core/retry-after.ts'
import { classifyFault } from '../faults/classify.ts'
import { errorIn } from '../faults/stated-error.ts'

/** The status object, wherever it stands: bare, in `error`, or in the array of a stream without frames. */
function statusObject(body: Json | undefined): JsonObject {
  const outer = Array.isArray(body) ? body[0] : body
  if (!isObject(outer)) return {}
  return isObject(outer.error) ? outer.error : outer
}

/** The detail of a type such as `RetryInfo`. */
function errorDetail(error: JsonObject, type: string): JsonObject | undefined {
  return asObjects(error.details).find((each) => asString(each['@type'])?.endsWith(`.${type}`))
}

/** `google.protobuf.Duration` as JSON has it: `41s`, `0.5s`. */
function retryPause(error: JsonObject): number | undefined {
  const text = asString(errorDetail(error, 'RetryInfo')?.retryDelay) ?? ''
  return /^\d{1,9}(\.\d{1,9})?s$/.test(text) ? Math.min(Math.ceil(Number.parseFloat(text)), MAX_PAUSE_SECONDS) : undefined
}

/**
 * @param status the HTTP status, or 200 for an error inside a good reply.
 * @param body a `google.rpc.Status` in `error`, perhaps in an array.
 */
export function decodeFault(status: number, body: Json | undefined): Fault {
  const details = statusObject(body)
  const reason = asString(errorDetail(details, 'ErrorInfo')?.reason)
  const [violation] = asObjects(errorDetail(details, 'BadRequest')?.fieldViolations)
  const error = errorIn(body)
  return classifyFault('gemini', status, {
    ...error,
    words: reason === undefined ? error.words : [reason, ...error.words],
    field: asString(violation?.field) ?? error.field,
    retryAfter: retryPause(details),
  })
}
