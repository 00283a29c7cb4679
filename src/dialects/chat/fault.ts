/** A provider's error as one of our faults. */
import { Fault, type FaultCode } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject, stringOf } from '../../core/json.ts'
import { type ErrorDetail, errorDetail } from '../canon/error-detail.ts'
import { isAboutRights } from '../canon/refused-credential.ts'

const SAFE_WORD = /^[A-Za-z][\w.-]{0,63}$/
const SAFE_PARAM = /^[A-Za-z_][\w.[\]-]{0,79}$/
const TOO_LONG =
  /context[ _](length|window|size)|maximum (context|prompt|input)|prompt is too long|input is too long|too many (input )?tokens/i
const POLICY = /content[ _-]?(policy|filter|management)|moderation|safety|flagged/i
const OVERLOAD = /overload|no capacity|at capacity|insufficient_system_resource/i
/** `model_not_found` of OpenAI and Groq comes with 404 or 400, `invalid_model` of Mistral with 400, DeepSeek has a sentence alone. */
const NO_MODEL = /model_not_found|invalid_model\b|^\s*model not exist/i
const NO_MONEY = /insufficient[ _](quota|balance|credit|fund)|billing/i

/**
 * Reasoning that is sent back and refused, in the words of the providers behind an aggregator: OpenAI (github.com/openai/codex/issues/8119),
 * Anthropic (github.com/anthropics/claude-code/issues/10627), Google (github.com/google-gemini/gemini-cli/issues/13467).
 */
const REFUSES_REASONING =
  /invalid_encrypted_content|encrypted[ _]content.{0,200}could not be (?:verified|decrypted)|invalid .{0,4}signature.{0,4} in .{0,4}thinking|(?:corrupted|invalid) thought[ _]?signature|thought[ _]?signature is (?:not valid|invalid)/is

/** What the provider says, and what it quotes of the one behind it. */
function sentences(error: JsonObject): string {
  const { raw } = isObject(error.metadata) ? error.metadata : {}
  return `${word(error.code)} ${word(error.message)} ${word(raw)}`
}

/** The error object, wherever the provider put it. */
function errorOf(body: Json | undefined): JsonObject {
  const inner = Array.isArray(body) ? body[0] : body
  if (typeof inner === 'string') return { message: inner }
  if (!isObject(inner)) return {}
  if (isObject(inner.error)) return inner.error
  if (typeof inner.error === 'string') return { message: inner.error, code: inner.code, type: inner.type }
  return inner
}

const word = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/** 400 to 599, from an error inside a 200. */
function statusIn(error: JsonObject): number | undefined {
  for (const value of [error.code, error.status, error.status_code]) {
    const status = typeof value === 'number' ? value : Number(word(value) || Number.NaN)
    if (Number.isInteger(status) && status >= 400 && status <= 599) return status
  }
  return undefined
}

/** Types that stand for a status where an error inside a 200 has no number. */
const TYPED: readonly [RegExp, number][] = [
  [/rate_limit|too_many_requests|resource_exhausted/i, 429],
  [/authentication|invalid_api_key|unauthorized/i, 401],
  [/permission|forbidden/i, 403],
  [/not_found/i, 404],
  [/overloaded/i, 529],
  [/invalid_request|bad_?request|invalid_argument/i, 400],
]

function effectiveStatus(status: number, error: JsonObject, words: string): number {
  if (status >= 400) return status
  return statusIn(error) ?? TYPED.find(([pattern]) => pattern.test(words))?.[1] ?? 500
}

const NAMES_FIELD: ReadonlySet<FaultCode> = new Set(['upstream_rejected', 'upstream_unprocessable'])

/** Statuses below 500 whose cause is the connection to the provider: the operator's matter, not the caller's. */
const NOT_THE_CALLERS: ReadonlySet<number> = new Set([405, 407, 410, 421, 425, 426, 499])

function faultCode(status: number, words: string, message: string): FaultCode {
  const all = `${words} ${message}`
  if (status === 413) return 'upstream_too_large'
  if (status === 400 || status === 422) {
    if (NO_MODEL.test(words) || NO_MODEL.test(message)) return 'upstream_missing'
    if (TOO_LONG.test(all)) return 'upstream_context'
    if (POLICY.test(all)) return 'upstream_policy'
    return status === 422 ? 'upstream_unprocessable' : 'upstream_rejected'
  }
  if (status === 409) return 'upstream_conflict'
  if (status === 401 || status === 402) return 'upstream_auth'
  if (status === 403) return POLICY.test(all) ? 'upstream_policy' : 'upstream_auth'
  if (status === 404) return 'upstream_missing'
  // The provider reports a timeout of its own.
  if (status === 408 || status === 504 || status === 524) return 'upstream_silent'
  if (status === 429) return NO_MONEY.test(all) ? 'upstream_auth' : OVERLOAD.test(words) ? 'upstream_overloaded' : 'upstream_limited'
  if (status === 529 || OVERLOAD.test(all)) return 'upstream_overloaded'
  return status < 500 && !NOT_THE_CALLERS.has(status) ? 'upstream_rejected' : 'upstream_error'
}

/** `message`, in which Mistral may have the list of a validator; `detail` where the body is no error object. */
function sayingOf(error: JsonObject, body: Json | undefined): ErrorDetail {
  const { message } = error
  const detail = error === body ? error.detail : undefined
  const said = stringOf(message)
  if (said !== undefined) return { sentence: said, field: undefined }
  return errorDetail(isObject(message) ? message.detail : detail)
}

/**
 * @param status the HTTP status, or 200 for an error inside a good reply.
 * @param body what the provider sent, if it was JSON.
 */
export function decodeFault(status: number, body: Json | undefined): Fault {
  const error = errorOf(body)
  const words = `${word(error.type)} ${word(error.code)} ${word(error.status)}`
  const effective = effectiveStatus(status, error, words)
  const { sentence, field } = sayingOf(error, body)
  const code = faultCode(effective, words, sentence ?? '')
  const named = [error.code, error.type, error.status].find((value) => typeof value === 'string' && SAFE_WORD.test(value))
  const metadata: JsonObject = { provider_code: (named as string | undefined) ?? String(effective) }
  const providerStatus = status < 400 ? statusIn(error) : undefined
  const lacksRights = code === 'upstream_auth' && isAboutRights(effective, words, sentence ?? '')
  const given = { metadata, providerStatus, sentence, lacksRights, refusesReasoning: REFUSES_REASONING.test(sentences(error)) }
  const param = stringOf(error.param) ?? field
  if (!NAMES_FIELD.has(code) || param === undefined || !SAFE_PARAM.test(param)) return new Fault(code, given)
  metadata.field = param
  return new Fault(code, { ...given, message: `Provider rejected the request (${param})` })
}
