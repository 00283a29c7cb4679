/** A provider's error as one of our faults. */
import { Fault, type FaultCode, upstreamFault } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject, objectsOf, stringOf } from '../../core/json.ts'
import { isAboutRights } from '../canon/refused-credential.ts'

/** `google.rpc.Code` by name. */
const BY_WORD: ReadonlyMap<string, FaultCode> = new Map([
  ['INVALID_ARGUMENT', 'upstream_rejected'],
  ['OUT_OF_RANGE', 'upstream_rejected'],
  ['ALREADY_EXISTS', 'upstream_conflict'],
  // Billing that is missing, or a region that is not served: the operator's matter.
  ['FAILED_PRECONDITION', 'upstream_auth'],
  ['UNAUTHENTICATED', 'upstream_auth'],
  ['PERMISSION_DENIED', 'upstream_auth'],
  ['NOT_FOUND', 'upstream_missing'],
  ['RESOURCE_EXHAUSTED', 'upstream_limited'],
  ['UNAVAILABLE', 'upstream_overloaded'],
  ['DEADLINE_EXCEEDED', 'upstream_silent'],
  ['ABORTED', 'upstream_error'],
  ['CANCELLED', 'upstream_error'],
  ['INTERNAL', 'upstream_error'],
  ['UNKNOWN', 'upstream_error'],
  ['DATA_LOSS', 'upstream_error'],
  ['UNIMPLEMENTED', 'upstream_error'],
])

const SAFE_WORD = /^[A-Za-z]\w{0,63}$/
const SAFE_FIELD = /^[A-Za-z_][\w.[\]-]{0,79}$/
const TOO_LONG = /token count|(exceeds?|over) the maximum number of (input )?tokens|input (is )?too long/i
const TOO_LARGE = /payload size exceeds/i
const OVERLOAD = /overload/i

/** github.com/google-gemini/gemini-cli/issues/13467, github.com/decolua/9router/issues/301. */
const REFUSES_REASONING = /(?:corrupted|invalid) thought[ _]?signature|thought[ _]?signature is (?:not valid|invalid)/i

/** Longest pause in seconds that is taken over from a provider. */
const MAX_PAUSE = 60

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
  return /^\d{1,9}(\.\d{1,9})?s$/.test(text) ? Math.min(Math.ceil(Number.parseFloat(text)), MAX_PAUSE) : undefined
}

/** This API reports a bad key as an invalid argument; only the reason shows the difference. */
function isKeyReason(reason: string | undefined): boolean {
  return reason !== undefined && /API_KEY|ACCESS_TOKEN|CREDENTIALS|BILLING|SERVICE_DISABLED|CONSUMER/.test(reason)
}

function codeOf(status: number, error: JsonObject, reason: string | undefined): FaultCode {
  const message = stringOf(error.message) ?? ''
  const code = BY_WORD.get(stringOf(error.status) ?? '') ?? (status === 503 ? 'upstream_overloaded' : upstreamFault(status))
  if (code === 'upstream_rejected') {
    if (isKeyReason(reason) || /api key (not valid|expired)/i.test(message)) return 'upstream_auth'
    if (TOO_LARGE.test(message)) return 'upstream_too_large'
    return TOO_LONG.test(message) ? 'upstream_context' : code
  }
  return code === 'upstream_error' && OVERLOAD.test(message) ? 'upstream_overloaded' : code
}

/** 400 to 599, the HTTP status or the one inside a good reply. */
function realStatus(status: number, error: JsonObject): number {
  if (status >= 400) return status
  const { code } = error
  return typeof code === 'number' && code >= 400 && code < 600 ? code : 500
}

/**
 * @param status the HTTP status, or 200 for an error inside a good reply.
 * @param body a `google.rpc.Status` in `error`, perhaps in an array.
 * @returns a fault whose own text names the refused field.
 */
export function decodeFault(status: number, body: Json | undefined): Fault {
  const error = statusObject(body)
  const real = realStatus(status, error)
  const reason = stringOf(detailOf(error, 'ErrorInfo')?.reason)
  const code = codeOf(real, error, reason)
  const word = [reason, stringOf(error.status)].find((each) => each !== undefined && SAFE_WORD.test(each))
  const metadata: JsonObject = { provider_code: word ?? String(real) }
  const retryAfter = pauseOf(error)
  const providerStatus = status < 400 && real === error.code ? real : undefined
  const sentence = stringOf(error.message)
  const lacksRights = code === 'upstream_auth' && isAboutRights(real, `${reason ?? ''} ${stringOf(error.status) ?? ''}`, sentence ?? '')
  const given = { metadata, retryAfter, providerStatus, sentence, lacksRights, refusesReasoning: REFUSES_REASONING.test(sentence ?? '') }
  if (code !== 'upstream_rejected') return new Fault(code, given)
  const [violation] = objectsOf(detailOf(error, 'BadRequest')?.fieldViolations)
  const field = stringOf(violation?.field)
  if (field === undefined || !SAFE_FIELD.test(field)) return new Fault(code, given)
  metadata.field = field
  return new Fault(code, { ...given, message: `Provider rejected the request (${field})` })
}
