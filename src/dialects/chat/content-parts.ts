/**
 * Content in parts as callers read it of every provider: the text in `content`, the thoughts in `reasoning`. Mistral's reasoning
 * models send `ThinkChunk` and `TextChunk` there, whole and in deltas.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

/** A frame that is relayed unread must not have it. */
export const THINKING = '"thinking"'

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

function thoughtsIn({ thinking }: JsonObject): string {
  if (!Array.isArray(thinking)) return text(thinking)
  return thinking.map((piece) => (isObject(piece) ? text(piece.text) : '')).join('')
}

/** Puts a parsed delta or message right, in place. @returns true where it had to: content with any other part stays a list. */
export function joinParts(message: JsonObject): boolean {
  const parts = Array.isArray(message.content) ? message.content.filter(isObject) : []
  if (parts.length === 0 || !parts.every(({ type }) => type === 'text' || type === 'thinking')) return false
  const thoughts = parts.map((part) => (part.type === 'thinking' ? thoughtsIn(part) : '')).join('')
  message.content = parts.map((part) => (part.type === 'text' ? text(part.text) : '')).join('')
  if (thoughts !== '') message.reasoning = text(message.reasoning) + thoughts
  return true
}
