/** What some providers put into messages and deltas that callers do not read: put right in place. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

/** Marks of both kinds: a frame that is relayed unread must not have them. */
export const THINKING = '"thinking"'
export const FUNCTION_CALL = '"function_call"'

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

function thoughtsIn({ thinking }: JsonObject): string {
  if (!Array.isArray(thinking)) return text(thinking)
  return thinking.map((piece) => (isObject(piece) ? text(piece.text) : '')).join('')
}

/**
 * Content in parts as callers read it of every provider: the text in `content`, the thoughts in `reasoning`. Mistral's reasoning
 * models send `ThinkChunk` and `TextChunk` there, whole and in deltas.
 * @returns true where there were any: content with any other part stays a list.
 */
export function joinParts(message: JsonObject): boolean {
  const parts = Array.isArray(message.content) ? message.content.filter(isObject) : []
  if (parts.length === 0 || !parts.every(({ type }) => type === 'text' || type === 'thinking')) return false
  const thoughts = parts.map((part) => (part.type === 'thinking' ? thoughtsIn(part) : '')).join('')
  message.content = parts.map((part) => (part.type === 'text' ? text(part.text) : '')).join('')
  if (thoughts !== '') message.reasoning = text(message.reasoning) + thoughts
  return true
}

const isEmpty = (value: Json | undefined): boolean => value === undefined || value === null || value === '' || value === 0

/**
 * Takes members out that hold nothing: servers that answer with the structs of OpenAI's Go SDK (github.com/openai/openai-go,
 * `ChatCompletionMessage`, which has no `omitempty`) send `function_call: {"name": "", "arguments": ""}` and an empty `audio` with every
 * reply, and clients take them for a call without a name and for sound.
 * @returns true where there were any.
 */
export function dropEmptyMembers(message: JsonObject): boolean {
  const { function_call: call, audio } = message
  let isChanged = false
  if (isObject(call) && Object.values(call).every(isEmpty)) {
    delete message.function_call
    isChanged = true
  }
  if (isObject(audio) && Object.values(audio).every(isEmpty)) {
    delete message.audio
    isChanged = true
  }
  return isChanged
}
