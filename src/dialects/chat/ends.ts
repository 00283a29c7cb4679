/** Ends and failures of answers of this wire: in a finish reason, or in a frame or body of any form. */
import type { Fault } from '../../core/faults.ts'
import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { type EndWords, endWord } from '../canon/ends.ts'
import { GOOD_CODES, isBadBase, isSet, looksFailed } from '../canon/error-shape.ts'
import type { EndReason } from '../canon/events.ts'
import { decodeFault } from './fault.ts'

/**
 * Finish reasons of the services that speak this wire, in lower case; those of Anthropic, Bedrock and Gemini come through services that
 * put this wire before them.
 */
const REASONS: EndWords = new Map<string, EndReason>([
  ['stop', 'stop'],
  // Together AI has `eos`; huggingface/text-generation-inference `eos_token` and `stop_sequence` (router/src/lib.rs, `FinishReason`).
  ['eos', 'stop'],
  ['eos_token', 'stop'],
  ['stop_sequence', 'stop'],
  // docs.x.ai and Anthropic; `complete` of Cohere (npm cohere-ai 8.1.0, `ChatFinishReason`); `normal` of Baidu Qianfan.
  ['end_turn', 'stop'],
  ['complete', 'stop'],
  ['completed', 'stop'],
  ['normal', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['max_output_tokens', 'length'],
  ['max_length', 'length'],
  ['max_output', 'length'],
  ['model_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  // `TextChatResultChoice` of IBM's watsonx-ai-node-sdk 1.6; its other words are here.
  ['time_limit', 'length'],
  // Cohere on Oracle's cloud (`CohereChatResponse.FinishReasonEnum` of Oracle's SDK for .NET 90.4).
  ['error_limit', 'length'],
  ['error_toxic', 'content_filter'],
  ['user_cancel', 'error'],
  ['tool_calls', 'tool_calls'],
  ['tool_call', 'tool_calls'],
  ['tool_use', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['content_filtered', 'content_filter'],
  ['guardrail_intervened', 'content_filter'],
  // docs.z.ai, "Chat Completion": the answer was held back by moderation.
  ['sensitive', 'content_filter'],
  ['safety', 'content_filter'],
  ['recitation', 'content_filter'],
  ['blocklist', 'content_filter'],
  ['prohibited_content', 'content_filter'],
  ['spii', 'content_filter'],
  ['model_armor', 'content_filter'],
  ['image_safety', 'content_filter'],
  ['refusal', 'content_filter'],
  ['error', 'error'],
  ['timeout', 'error'],
  // DeepSeek, "Create Chat Completion".
  ['insufficient_system_resource', 'error'],
  // docs.z.ai, "Chat Completion".
  ['network_error', 'error'],
  // `FINISH_REASON_STRINGS` of vLLM (vllm/v1/engine/__init__.py). A model that repeats itself is cut by a setting of the request.
  ['abort', 'error'],
  ['aborted', 'error'],
  ['repetition', 'unknown'],
  ['cancelled', 'error'],
  ['malformed_function_call', 'error'],
  ['malformed_response', 'error'],
  ['malformed_tool_use', 'error'],
  ['malformed_model_output', 'error'],
  ['unexpected_tool_call', 'error'],
  ['too_many_tool_calls', 'error'],
  ['missing_thought_signature', 'error'],
  ['language', 'error'],
  ['no_image', 'error'],
  ['other', 'error'],
])

/**
 * The stop text that ended the answer, which is no part of this wire: vLLM names it beside the end, or the number of a token in its place
 * (`ChatCompletionResponseChoice.stop_reason: int | str | None`, vLLM 0.32.0).
 */
export function stopText({ stop_reason: text }: JsonObject, word: string | undefined): string | undefined {
  return word === 'stop' && typeof text === 'string' && text !== '' ? text : undefined
}

/** Google's compatible endpoint writes `content_filter: RECITATION`, `function_call_filter: MALFORMED_FUNCTION_CALL`. */
const WITH_CAUSE = /^([a-z_]+): [a-z_]+$/
const FILTERED: EndWords = new Map<string, EndReason>([
  ['content_filter', 'content_filter'],
  ['function_call_filter', 'error'],
])

/** Why a turn ended, in the words of the canon. A stop behind calls is an end for them, since the caller must act. */
export function unify(raw: string, hasCalls: boolean): EndReason {
  const word = raw.toLowerCase()
  const before = WITH_CAUSE.exec(word)?.[1]
  if (before !== undefined) return FILTERED.get(before) ?? 'unknown'
  const reason = REASONS.get(word) ?? 'unknown'
  return reason === 'stop' && hasCalls ? 'tool_calls' : reason
}

const holdsNothing = (list: Json | undefined): boolean => !Array.isArray(list) || list.length === 0

/**
 * The error that a chunk or a whole reply carries, whatever its form; undefined where there is none.
 * @param event name of the server-sent event.
 */
export function faultIn(body: JsonObject, event?: string): Fault | undefined {
  const { error, base_resp: base } = body
  if (body.object === 'error' || body.type === 'error' || event?.trimEnd() === 'error') return decodeFault(200, body)
  // Most have neither.
  const mayFail = (error ?? base ?? null) !== null
  if (mayFail && ((isSet(error) && !(Array.isArray(error) && error.length === 0)) || isBadBase(body))) return decodeFault(200, body)
  // Beside an answer such members may be anything.
  if (!holdsNothing(body.choices) || isSet(body.usage)) return undefined
  const says = (isSet(body.message) || isSet(body.msg)) && !GOOD_CODES.has(body.code)
  return looksFailed(body) || says ? decodeFault(200, body) : undefined
}

/** The fault of an event that is named an error, where its data is no object. */
export function eventFault(data: string): Fault {
  return decodeFault(200, { message: data })
}

interface ChoiceEnd {
  readonly word: string | undefined
  /** Meaning of the word, where the choice has called nothing. */
  readonly reason: EndReason
  readonly fault: Fault | undefined
}

/** Of a choice that goes on. */
export const OPEN: ChoiceEnd = { word: undefined, reason: 'unknown', fault: undefined }

/** Reads how a choice has ended: the word, where there is one, and the fault of a failure. @param body the chunk or reply that it stands in. */
export function choiceEnd(choice: JsonObject, body: JsonObject): ChoiceEnd {
  const { error, finish_reason: reason } = choice
  if ((reason ?? error ?? null) === null) return OPEN
  const ended = typeof reason === 'string' && reason !== '' ? reason : endWord(reason)
  // DashScope writes `"null"` until the end.
  const word = ended === 'null' ? undefined : ended
  const meaning = word === undefined ? 'unknown' : unify(word, false)
  const isWell = error === undefined && meaning !== 'error' && meaning !== 'unknown'
  return { word, reason: meaning, fault: isWell ? undefined : choiceFault(choice, body, word, meaning) }
}

/** By its own error, by a word for one, or by a word that is not known beside members that report one. */
function choiceFault(choice: JsonObject, body: JsonObject, word: string | undefined, meaning: EndReason): Fault | undefined {
  const { error, finish_reason: reason } = choice
  if (error !== undefined && isSet(error)) return decodeFault(200, { error: error ?? null })
  if (word === undefined) return undefined
  if (meaning === 'error') return decodeFault(200, { ...(isObject(reason) ? reason : {}), code: word })
  if (meaning !== 'unknown') return undefined
  const companions = [body, choice, ...asObjects([reason ?? null])]
  const failing = companions.find((each) => looksFailed(each) || (each === reason && isSet(each.message)))
  return failing && decodeFault(200, failing)
}
