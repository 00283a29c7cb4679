/** Embeddings are read from the body itself: what guardrails hide is hidden there, too. */
import { isObject, type Json } from '../core/json.ts'
import type { Exchange } from './exchange.ts'

/** @param replace what stands in place of a text; undefined where it stays. */
export function redactInputs(exchange: Exchange, replace: (text: string) => string | undefined): void {
  exchange.body = { ...exchange.body, input: withTexts(exchange.body.input ?? null, replace) }
}

/** An input is a text, a list of texts, or a list of objects with parts. */
function withTexts(value: Json, replace: (text: string) => string | undefined): Json {
  if (typeof value === 'string') return replace(value) ?? value
  if (Array.isArray(value)) return value.map((each) => withTexts(each, replace))
  if (!isObject(value)) return value
  if (Array.isArray(value.content)) return { ...value, content: value.content.map((each) => withTexts(each, replace)) }
  return typeof value.text === 'string' ? { ...value, text: replace(value.text) ?? value.text } : value
}
