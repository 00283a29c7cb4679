/**
 * JSON without halves of characters. Clients cut texts in the middle of an emoji; the half goes through JSON as an escape, and no server
 * takes it: llama.cpp and vLLM answer 400, transformers serve and infinity 500 (docs/behaviour/model-servers.md), so such a conversation
 * would be dead. The arguments of a call are JSON within a text, which servers parse (llama.cpp, "Failed to parse tool call arguments").
 */
import { type Json, type JsonObject, withoutHalves } from './json.ts'

/** Beginning of the escape that `JSON.stringify` writes for half a surrogate pair, and for nothing else (ECMA-262, QuoteJSONString). */
const HALF = '\\ud'
const HALVES = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g

function withWholeArguments(this: JsonObject, name: string, value: Json): Json {
  return name === 'arguments' && typeof value === 'string' && typeof this.name === 'string' ? withoutHalves(value) : value
}

/** The JSON text of a body, with U+FFFD in the place of each half. */
export function wellFormedJson(body: JsonObject): string {
  const plain = JSON.stringify(body)
  // Escapes of a surrogate in JSON that stands as a text within this.
  const mayHold = plain.includes('\\\\ud') || plain.includes('\\\\uD')
  const text = mayHold ? JSON.stringify(body, withWholeArguments) : plain
  return text.includes(HALF) ? text.replace(HALVES, '$1\ufffd') : text
}
