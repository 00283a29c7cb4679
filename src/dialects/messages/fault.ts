/** Errors of an upstream of this wire, by the fault table. */
import { Fault, type FaultCode, upstreamFault } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { isAboutRights } from '../canon/refused-credential.ts'

/** The provider's own types, whatever status they come with. */
const BY_TYPE: Readonly<Record<string, FaultCode>> = {
  invalid_request_error: 'upstream_rejected',
  authentication_error: 'upstream_auth',
  billing_error: 'upstream_auth',
  permission_error: 'upstream_auth',
  not_found_error: 'upstream_missing',
  request_too_large: 'upstream_too_large',
  rate_limit_error: 'upstream_limited',
  timeout_error: 'upstream_silent',
  overloaded_error: 'upstream_overloaded',
  api_error: 'upstream_error',
}

/** Statuses that decide the fault, whatever the type is. */
const FIRM: ReadonlySet<number> = new Set([401, 402, 403, 404, 409, 413, 422, 429, 529])

const TOO_LONG =
  /prompt is too long|context (limit|window|length)|input (is|length).{0,40}(too long|exceed)|maximum (allowed )?number of (input )?tokens/i
const POLICY = /content filter|usage polic|safety polic|blocked by/i
const NO_MONEY = /credit balance|billing|spend limit/i
const OVERLOAD = /overload|at capacity/i

/**
 * Thinking that another provider signed, or that has changed (github.com/anthropics/claude-code/issues/10627). A block that is bound to
 * another conversation is refused only where the caller sets `prefix_mismatch_behavior: error`.
 */
const REFUSES_REASONING =
  /invalid `?(?:signature|data)`? in `?(?:redacted_)?thinking`? block(?!.{0,40}\bbound to a different conversation)|`?thinking`? or `?redacted_thinking`? blocks\b.{0,80}cannot be modified/i

/** Fields of a request: what a refusal names in front of its sentence, as in `messages.0.content: …`. */
const FIELD =
  /^((?:messages|system|tools|tool_choice|max_tokens|temperature|top_p|top_k|stop_sequences|thinking|output_config|metadata|model|service_tier|container|context_management|mcp_servers|cache_control|speed)(?:\.[a-z0-9_]{1,40}){0,8}): /

const word = (value: Json | undefined): string => (typeof value === 'string' && /^[a-z][a-z0-9_]{0,63}$/i.test(value) ? value : '')

function errorOf(body: Json | undefined): JsonObject {
  if (typeof body === 'string') return { message: body }
  if (!isObject(body)) return {}
  if (isObject(body.error)) return body.error
  return typeof body.error === 'string' ? { message: body.error } : body
}

function isWrong(code: FaultCode): boolean {
  return code === 'upstream_rejected' || code === 'upstream_unprocessable'
}

function codeOf(status: number, type: string, message: string): FaultCode {
  const inBand = status < 400
  const named = BY_TYPE[type]
  if (status >= 500 && named === 'upstream_rejected') return 'upstream_error'
  let code: FaultCode = upstreamFault(status)
  if (named !== undefined && (inBand || !FIRM.has(status))) code = named
  if (isWrong(code)) {
    if (TOO_LONG.test(message)) return 'upstream_context'
    if (NO_MONEY.test(message)) return 'upstream_auth'
    if (POLICY.test(message)) return 'upstream_policy'
  }
  if (code === 'upstream_limited' && NO_MONEY.test(message)) return 'upstream_auth'
  if (code === 'upstream_error' && OVERLOAD.test(message)) return 'upstream_overloaded'
  return code
}

/**
 * A failure as an upstream of this wire reports it.
 * @param status the HTTP status; 200 for an `error` event or an error inside a reply that began well.
 * @param body `{type: 'error', error: {type, message, details?}, request_id}`, or whatever stands in its place.
 * @returns a fault whose own text names at most the refused field.
 */
export function decodeFault(status: number, body: Json | undefined): Fault {
  const error = errorOf(body)
  const type = word(error.type) === 'error' ? '' : word(error.type)
  const message = typeof error.message === 'string' ? error.message : ''
  const code = codeOf(status, type, message)
  const details = isObject(error.details) ? error.details : {}
  const metadata: JsonObject = {}
  const shown = word(details.error_code) || type
  if (shown !== '') metadata.provider_code = shown
  else if (status >= 400) metadata.provider_code = String(status)
  const field = isWrong(code) ? FIELD.exec(message)?.[1] : undefined
  const given = {
    metadata,
    sentence: message === '' ? undefined : message,
    lacksRights: code === 'upstream_auth' && isAboutRights(status, type, message),
    refusesReasoning: REFUSES_REASONING.test(message),
  }
  if (field === undefined) return new Fault(code, given)
  metadata.field = field
  return new Fault(code, { message: `Provider rejected the request (${field})`, ...given })
}
