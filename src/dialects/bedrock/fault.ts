/** Errors of the service as our faults. */
import { Fault, type FaultCode, upstreamFault } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject, stringOf } from '../../core/json.ts'
import type { ReplyHeaders } from '../types.ts'

/** Exceptions of the service, in any case of letters: those of streams begin with a small one (`ConverseStreamOutput`). */
const BY_TYPE: ReadonlyMap<string, FaultCode> = new Map([
  ['validationexception', 'upstream_rejected'],
  ['accessdeniedexception', 'upstream_auth'],
  ['optinrequired', 'upstream_auth'],
  ['unrecognizedclientexception', 'upstream_auth'],
  ['expiredtokenexception', 'upstream_auth'],
  ['invalidsignatureexception', 'upstream_auth'],
  ['incompletesignatureexception', 'upstream_auth'],
  ['incompletesignature', 'upstream_auth'],
  ['missingauthenticationtokenexception', 'upstream_auth'],
  ['notauthorized', 'upstream_auth'],
  ['requestexpired', 'upstream_auth'],
  ['servicequotaexceededexception', 'upstream_limited'],
  ['resourcenotfoundexception', 'upstream_missing'],
  ['unknownoperationexception', 'upstream_missing'],
  ['conflictexception', 'upstream_conflict'],
  ['throttlingexception', 'upstream_limited'],
  ['modelnotreadyexception', 'upstream_overloaded'],
  ['modeltimeoutexception', 'upstream_silent'],
  ['modelerrorexception', 'upstream_error'],
  ['modelstreamerrorexception', 'upstream_error'],
  ['internalserverexception', 'upstream_error'],
  ['serviceunavailableexception', 'upstream_overloaded'],
])

const TOO_LONG =
  /input is too long|prompt is too long|too many input tokens|exceed(s|ed)? (the )?(maximum )?context|context (limit|window|length)/i
const TOO_LARGE = /request (body )?(is )?too large|payload.{0,20}too large|size.{0,30}exceeds the maximum/i
/** The operator's matter: a model that the region or the account does not have, or not on demand (github.com/aider-ai/aider/issues/2750). */
const NO_MODEL = /model identifier is invalid|on-demand throughput isn.t supported|model.{0,60}(end of its life|not found|isn.t available)/i
const NO_ACCESS =
  /don.t have access to the model|operation not allowed|access to this model is not available|not authorized to (?:perform|invoke)/i
/** Exceptions about what an account or an identity may do. */
const ABOUT_RIGHTS: ReadonlySet<string> = new Set(['accessdeniedexception', 'optinrequired'])
/** What they say where the key itself is wrong: one of Bedrock's own API keys (github.com/anomalyco/opencode/issues/47073), or a signature. */
const BAD_CREDENTIAL = /api key is valid|security token|bearer token|signature|authentication|authorization header/i
/** A request that the service answers with 403 (github.com/BerriAI/litellm/pull/39210). */
const UNSUPPORTED = /unsupported model or your request did not allow prompt caching/i
const POLICY = /content filter|blocked by|usage polic|safety polic/i

/** github.com/can1357/oh-my-pi/pull/9086; Claude's own words for thinking that another provider signed. */
const REFUSES_REASONING =
  /cannot contain reasoning content|reasoning_?content.{0,40}(not supported|is not allowed|not permitted)|invalid `?(?:signature|data)`? in `?(?:redacted_)?thinking`? block|`?thinking`? or `?redacted_thinking`? blocks\b.{0,80}cannot be modified/i

/** True for a refusal that another credential of the same identity would get as well: a model without access, a right that is missing. */
function lacksRights(type: string | undefined, message: string): boolean {
  if (NO_ACCESS.test(message)) return true
  return ABOUT_RIGHTS.has(type?.toLowerCase() ?? '') && !BAD_CREDENTIAL.test(message)
}

/** The place that a refusal names, as in `The text field … at messages.0.content.0 is blank` and `messages.2.content.2.document: …`. */
const FIELD = /(?:\bat |: |^)((?:messages|system|toolConfig|inferenceConfig)(?:\.[A-Za-z0-9_]{1,40}){1,8})(?=[ :.]|$)/

const SAFE_WORD = /^[A-Za-z]\w{0,63}$/

function wordedCode(code: FaultCode, message: string): FaultCode {
  if (code === 'upstream_auth' && UNSUPPORTED.test(message)) return 'upstream_rejected'
  if (code !== 'upstream_rejected') return code
  if (NO_MODEL.test(message)) return 'upstream_missing'
  if (NO_ACCESS.test(message)) return 'upstream_auth'
  if (TOO_LONG.test(message)) return 'upstream_context'
  if (TOO_LARGE.test(message)) return 'upstream_too_large'
  return POLICY.test(message) ? 'upstream_policy' : code
}

interface Stated {
  readonly code: FaultCode
  readonly type: string | undefined
  readonly body: JsonObject
  readonly status: number
}

function faultOf({ code, type, body, status }: Stated): Fault {
  const message = stringOf(body.message) ?? stringOf(body.Message) ?? stringOf(body.originalMessage) ?? ''
  const worded = wordedCode(code, message)
  const metadata: JsonObject = { provider_code: type !== undefined && SAFE_WORD.test(type) ? type : String(status) }
  const sentence = message === '' ? undefined : message
  const given = {
    metadata,
    sentence,
    refusesReasoning: REFUSES_REASONING.test(message),
    lacksRights: worded === 'upstream_auth' && lacksRights(type, message),
  }
  const field = worded === 'upstream_rejected' ? FIELD.exec(message)?.[1] : undefined
  if (field === undefined) return new Fault(worded, given)
  metadata.field = field
  return new Fault(worded, { ...given, message: `Provider rejected the request (${field})` })
}

const textOf = (header: string | readonly string[] | undefined): string | undefined => (typeof header === 'string' ? header : header?.[0])

/** `com.amazon.coral.service#UnknownOperationException` and `ValidationException:http://…` by their names alone. */
function typeIn(value: Json | undefined): string | undefined {
  return stringOf(value)?.replace(/^.*#/, '').replace(/:.*$/s, '')
}

/**
 * An exception within a stream: each is an event of its own.
 * @param type such as `throttlingException`.
 */
export function decodeException(type: string, body: JsonObject): Fault {
  const name = typeIn(type) ?? ''
  const code = BY_TYPE.get(name.toLowerCase()) ?? 'upstream_error'
  return faultOf({ code, type: name === '' ? undefined : name[0]?.toUpperCase() + name.slice(1), body, status: 500 })
}

/**
 * @param status the HTTP status; 200 for a reply that is none: a path that the service does not know is answered so
 * (github.com/vercel/ai/issues/17523).
 * @param body `{message}`, or nothing at all: an expired session is a 400 that its header alone explains.
 * @param headers the service has the type of the exception in `x-amzn-errortype`, with an address behind it
 * (github.com/aws-samples/amazon-bedrock-client-for-mac/issues/1); its SDK looks there first, then into the body
 * (`loadRestJsonErrorCode` of npm @smithy/core 3.41.1).
 */
export function decodeFault(status: number, body: Json | undefined, headers: ReplyHeaders = {}): Fault {
  const outer = isObject(body) ? body : {}
  const inner = isObject(outer.Output) ? outer.Output : outer
  const type = typeIn(textOf(headers['x-amzn-errortype'])) ?? typeIn(inner.code) ?? typeIn(inner.__type)
  const named = BY_TYPE.get(type?.toLowerCase() ?? '')
  if (status < 400) return named === undefined ? new Fault('upstream_garbled') : faultOf({ code: named, type, body: inner, status: 404 })
  // ModelErrorException.
  const byStatus = status === 424 ? 'upstream_error' : status === 503 ? 'upstream_overloaded' : upstreamFault(status)
  return faultOf({ code: named ?? byStatus, type, body: inner, status })
}
