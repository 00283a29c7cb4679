/** Errors between this wire and the fault table. */

import { Fault, type FaultCode, upstreamFault } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject, stringOf } from '../../core/json.ts'
import type { End, EndReason } from '../canon/events.ts'
import { isAboutRights } from '../canon/refused-credential.ts'
import { noteTier, tierBesideUsage } from '../canon/served-tier.ts'

/** Codes that say more than the status does; the first expression that matches wins. */
const BY_CODE: readonly (readonly [RegExp, FaultCode])[] = [
  [/context_length|max_tokens_exceeded|token_limit|string_too_long|string_above_max_length/, 'upstream_context'],
  [/content_policy|content_filter|moderation|bio_policy|cyber_policy/, 'upstream_policy'],
  [/insufficient_quota|billing|invalid_api_key|authentication|permission/, 'upstream_auth'],
  [/overloaded|slow_down/, 'upstream_overloaded'],
  [/rate_limit/, 'upstream_limited'],
  [/model_not_found/, 'upstream_missing'],
  [/timeout/, 'upstream_silent'],
  [/invalid_|unsupported_|unknown_parameter|missing_required|image_|empty_image|failed_to_download/, 'upstream_rejected'],
]

/** Statuses that decide the fault, whatever the code is. */
const FIRM = new Set([401, 402, 403, 404, 413])

function codeOf(status: number, code: string, inBand: boolean): FaultCode {
  const byStatus = upstreamFault(status)
  if (FIRM.has(status)) return byStatus
  for (const [pattern, fault] of BY_CODE) {
    // A server error that calls itself invalid is still a server error: another endpoint may do better.
    if (pattern.test(code)) return status > 400 && !inBand && fault === 'upstream_rejected' ? byStatus : fault
  }
  return byStatus
}

/**
 * Refusals of reasoning that is sent back. OpenAI: `invalid_encrypted_content` (github.com/openai/codex/issues/8119); a reasoning item
 * without its successor (recorded: test_openai_responses_thinking_with_modified_history), or the other way round; one whose encrypted
 * content is missing. xAI: github.com/Wei-Shaw/sub2api/issues/4535 and github.com/chenyme/grok2api/issues/688.
 */
const REFUSES_REASONING = [
  /encrypted[ _]content\b.{0,200}(?:could not be (?:verified|decrypted)|did not match)/is,
  /could not (?:decrypt the provided encrypted_content|decode the compaction blob)/i,
  /of type 'reasoning' was provided without/i,
  /without its required 'reasoning' item/i,
  /item with id 'rs_[^']*' not found/i,
]

function refusesReasoning(code: string | undefined, message: string): boolean {
  return code === 'invalid_encrypted_content' || REFUSES_REASONING.some((pattern) => pattern.test(message))
}

/** An identifier that a provider sent and that is safe to show: no sentence, no key. */
function plainWord(value: Json | undefined): string | undefined {
  return typeof value === 'string' && /^[a-z][a-z0-9_.[\]]{0,63}$/i.test(value) ? value : undefined
}

/**
 * A failure as an upstream of this wire reports it.
 * @param status the HTTP status; 200 for an error inside a reply that began well.
 * @param body `{error: {code, message, type, param}}`, a Response object whose `error` is set, or an `error` event.
 * @returns a fault whose own text names the refused parameter and the provider's code.
 */
export function decodeFault(status: number, body: Json | undefined): Fault {
  const outer: JsonObject = isObject(body) ? body : {}
  const error = isObject(outer.error) ? outer.error : outer
  const inner =
    typeof error.code === 'number' ? error.code : Number(typeof error.code === 'string' && /^[45]\d\d$/.test(error.code) ? error.code : 0)
  const real = status >= 400 ? status : inner >= 400 && inner < 600 ? inner : 500
  const word = plainWord(error.code) ?? (plainWord(error.type) === 'error' ? undefined : plainWord(error.type))
  const code = codeOf(real, (word ?? '').toLowerCase(), status < 400)
  const metadata: JsonObject = {}
  const providerStatus = status < 400 && real === inner ? inner : undefined
  if (word !== undefined) metadata.provider_code = word
  else if (status >= 400) metadata.provider_code = status
  const param = plainWord(error.param)
  const sentence = stringOf(error.message) ?? stringOf(outer.error)
  const lacksRights = code === 'upstream_auth' && isAboutRights(real, word ?? '', sentence ?? '')
  const given = { metadata, providerStatus, sentence, lacksRights, refusesReasoning: refusesReasoning(word, sentence ?? '') }
  if ((code !== 'upstream_rejected' && code !== 'upstream_unprocessable') || param === undefined) return new Fault(code, given)
  metadata.field = param
  return new Fault(code, {
    ...given,
    message: `Provider rejected the request: ${word === undefined ? param : `${param} (${word})`}`,
  })
}

/**
 * `error.code` of a Response that failed, in words that clients act on: Codex 0.169 compacts on `context_length_exceeded`, gives up on
 * `insufficient_quota` and waits on `rate_limit_exceeded` (codex-rs/codex-api/src/sse/responses.rs). The others are those of
 * `ResponseError` in npm openai 7.57.0.
 */
const CODES: ReadonlyMap<string, string> = new Map([
  ['context_length_exceeded', 'context_length_exceeded'],
  ['invalid_request', 'invalid_prompt'],
  ['content_policy_violation', 'image_content_policy_violation'],
  ['rate_limit_exceeded', 'rate_limit_exceeded'],
  ['payment_required', 'insufficient_quota'],
])

/** `error` of a Response that failed. */
export function responseError({ type, message, retryAfter, availability }: Fault): {
  code: string
  message: string
  availability?: JsonObject
} {
  // Codex reads the wait from these words.
  const wait = type === 'rate_limit_exceeded' && retryAfter !== undefined && !/try again in/i.test(message)
  const error = { code: CODES.get(type) ?? 'server_error', message: wait ? `${message}. Please try again in ${retryAfter}s.` : message }
  return availability ? { ...error, availability } : error
}

/** Unified end of a Response object that did not fail. */
export function endOf(response: JsonObject, sawCall: boolean): End {
  const details = isObject(response.incomplete_details) ? response.incomplete_details : undefined
  const raw = typeof details?.reason === 'string' ? details.reason : typeof response.status === 'string' ? response.status : undefined
  let reason: EndReason = sawCall ? 'tool_calls' : 'stop'
  if (response.status === 'incomplete') reason = raw === 'content_filter' ? 'content_filter' : 'length'
  const end: End = { reason }
  if (raw !== undefined) end.raw = raw
  noteTier(end, tierBesideUsage(response))
  return end
}
