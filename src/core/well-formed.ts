/**
 * JSON without halves of characters. Clients cut texts in the middle of an emoji; the half goes through JSON as an escape, and no server
 * takes it: llama.cpp and vLLM answer 400, transformers serve and infinity 500 (docs/behaviour/model-servers.md), so such a conversation
 * would be dead. The arguments of a call are JSON within a text, which servers parse (llama.cpp, "Failed to parse tool call arguments").
 */
import type { Json, JsonObject } from './json.ts'

/** Escapes in a JSON text, a whole pair as one of them: it may be written so (Python, `json.dumps`). */
const SURROGATES = /\\(?:ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|ud[89a-f][\da-f]{2}|.)/gis
const HALF_LENGTH = '\\ud83d'.length

/** True where a text may hold an escape of a surrogate. @param before characters in front of each, where the text is written within another. */
export const holdsSurrogates = (text: string, before = ''): boolean => text.includes(`${before}\\ud`) || text.includes(`${before}\\uD`)

/** A JSON text with U+FFFD in the place of each escape of a half. */
export const withoutHalves = (text: string): string =>
  text.replace(SURROGATES, (found) => (found.length === HALF_LENGTH ? '\ufffd' : found))

/** True where a text, read as JSON, holds an escape of half a character. */
export const holdsHalfEscape = (text: string): boolean => holdsSurrogates(text) && withoutHalves(text) !== text

/** Beginning of the escape that `JSON.stringify` writes for half a surrogate pair, and for nothing else (ECMA-262, QuoteJSONString). */
const HALF = '\\ud'
const HALVES = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g

function withWholeArguments(this: JsonObject, name: string, value: Json): Json {
  return name === 'arguments' && typeof value === 'string' && typeof this.name === 'string' ? withoutHalves(value) : value
}

/** The JSON text of a body, with U+FFFD in the place of each half. */
export function wellFormedJson(body: JsonObject): string {
  const plain = JSON.stringify(body)
  const text = holdsSurrogates(plain, '\\') ? JSON.stringify(body, withWholeArguments) : plain
  return text.includes(HALF) ? text.replace(HALVES, '$1\ufffd') : text
}
