/**
 * Meanings of the words with which providers end an answer. Each wire has one table of them, and no table has a default: an unknown word is
 * not a success.
 */
import { Fault } from '../../core/faults.ts'
import { asString, isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { End, EndReason } from './events.ts'

/** The words of one wire. `error` is a failure: decoders report it as a fault, `failedEnd`. */
export type EndWords = ReadonlyMap<string, EndReason>

export function reasonIn(words: EndWords, word: string): EndReason {
  return words.get(word) ?? 'unknown'
}

/**
 * The word of an end that may be more than a text: SGLang's own format has `{ "type": "abort", "message": … }` and
 * `{ "type": "stop", "matched": 2 }` (sglang, `managers/schedule_batch.py`, `to_json` of its finish reasons).
 * @returns undefined where there is none yet.
 */
export function endWord(reason: Json | undefined): string | undefined {
  if (reason === undefined || reason === null || reason === '' || reason === false) return undefined
  if (typeof reason === 'string') return reason
  if (isObject(reason)) return asString(reason.type) ?? asString(reason.reason) ?? 'object'
  // A list is no form of any service, whatever stands in it.
  return Array.isArray(reason) ? 'list' : String(reason)
}

const isSuccess = (reason: EndReason): boolean => reason === 'stop' || reason === 'tool_calls'

/** Of two ends of one answer the later one counts, but none of success undoes one that was none. */
export function laterEnd(before: End | undefined, later: End): End {
  return before && !isSuccess(before.reason) && isSuccess(later.reason) ? before : later
}

/** As `laterEnd`, of the words. */
export function laterWord(before: string | undefined, later: string, toReason: (word: string) => EndReason): string {
  if (before === undefined) return later
  return !isSuccess(toReason(before)) && isSuccess(toReason(later)) ? before : later
}

/** Characters of a provider's word that callers are shown. */
const SAFE_WORD = /^[A-Za-z][\w.:-]{0,63}$/

/** The provider ended its answer with a word for a failure. */
export function failedEnd(word: string | undefined): Fault {
  const metadata: JsonObject = word !== undefined && SAFE_WORD.test(word) ? { provider_code: word } : {}
  return new Fault('upstream_error', { metadata })
}

/** Text for a caller of an answer whose end is `unknown`. */
export function unknownEnd({ raw }: End): Fault {
  const shown = raw !== undefined && SAFE_WORD.test(raw) ? ` (${raw})` : ''
  const { metadata } = failedEnd(raw)
  return new Fault('upstream_error', { message: `Provider ended the answer in a way that is not known as a success${shown}`, metadata })
}

/**
 * Corrects an end where the arguments of a call are no JSON: a call that was cut, or that the model wrote wrongly, must not run. `stop` and
 * `tool_calls` become `unknown`, in place; an answer that was cut at a limit or by a filter keeps its end.
 * @returns the fault where nothing is known of the end either: the provider has broken off.
 */
export function endBroken(end: End): Fault | undefined {
  if (end.reason === 'unknown') return failedEnd(end.raw)
  if (end.reason === 'stop' || end.reason === 'tool_calls') end.reason = 'unknown'
  return undefined
}
