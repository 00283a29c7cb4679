/** A provider's error as one of our faults. */
import type { Fault } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject, objectsOf, stringOf } from '../../core/json.ts'
import { LONGEST_PAUSE } from '../../core/retry-after.ts'
import { faultOf } from '../faults/classify.ts'
import { errorIn } from '../faults/stated-error.ts'

/** The status object, wherever it stands: bare, in `error`, or in the array of a stream without frames. */
function statusObject(body: Json | undefined): JsonObject {
  const outer = Array.isArray(body) ? body[0] : body
  if (!isObject(outer)) return {}
  return isObject(outer.error) ? outer.error : outer
}

/** The detail of a type such as `RetryInfo`. */
function detailOf(error: JsonObject, type: string): JsonObject | undefined {
  return objectsOf(error.details).find((each) => stringOf(each['@type'])?.endsWith(`.${type}`))
}

/** `google.protobuf.Duration` as JSON has it: `41s`, `0.5s`. */
function pauseOf(error: JsonObject): number | undefined {
  const text = stringOf(detailOf(error, 'RetryInfo')?.retryDelay) ?? ''
  return /^\d{1,9}(\.\d{1,9})?s$/.test(text) ? Math.min(Math.ceil(Number.parseFloat(text)), LONGEST_PAUSE) : undefined
}

/**
 * @param status the HTTP status, or 200 for an error inside a good reply.
 * @param body a `google.rpc.Status` in `error`, perhaps in an array.
 */
export function decodeFault(status: number, body: Json | undefined): Fault {
  const details = statusObject(body)
  const reason = stringOf(detailOf(details, 'ErrorInfo')?.reason)
  const [violation] = objectsOf(detailOf(details, 'BadRequest')?.fieldViolations)
  const error = errorIn(body)
  return faultOf('gemini', status, {
    ...error,
    words: reason === undefined ? error.words : [reason, ...error.words],
    field: stringOf(violation?.field) ?? error.field,
    retryAfter: pauseOf(details),
  })
}
