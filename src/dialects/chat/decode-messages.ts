/** Chat messages as canonical items: reasoning, then the message, then its calls, in this order. */
import type { CacheMark, Item, Part, Role } from '../../canon/request.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { OPAQUE, WIRE } from './wire.ts'

const text = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined)

function cacheMark(part: JsonObject): CacheMark | undefined {
  if (isObject(part.cache_control)) return typeof part.cache_control.ttl === 'string' ? { ttl: part.cache_control.ttl } : {}
  return isObject(part.prompt_cache_breakpoint) ? {} : undefined
}

type Media = Extract<Part, { kind: 'media' }>

/** Sets only what is there, so that parts compare and print cleanly. */
function media(kind: Media['media'], fields: Omit<Media, 'kind' | 'media'>): Media {
  const part: Media = { kind: 'media', media: kind }
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) Object.assign(part, { [key]: value })
  return part
}

function decodePart(part: JsonObject): Part {
  const cache = cacheMark(part)
  const { type } = part
  if (type === 'text') return cache ? { kind: 'text', text: part.text as string, cache } : { kind: 'text', text: part.text as string }
  if (type === 'refusal' && typeof part.refusal === 'string') return { kind: 'refusal', text: part.refusal }
  if (type === 'image_url' && isObject(part.image_url))
    return media('image', { url: text(part.image_url.url), detail: text(part.image_url.detail), cache })
  if (type === 'input_audio' && isObject(part.input_audio))
    return media('audio', { data: text(part.input_audio.data), format: text(part.input_audio.format), cache })
  if ((type === 'video_url' || type === 'input_video') && isObject(part.video_url))
    return media('video', { url: text(part.video_url.url), cache })
  if (type === 'file' && isObject(part.file)) {
    const { file_data, file_id, filename } = part.file
    return media('file', { url: text(file_data), fileId: text(file_id), name: text(filename), cache })
  }
  return { kind: 'opaque', of: { dialect: WIRE, type: String(type), data: part } }
}

function decodeContent(content: Json | undefined): Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  return Array.isArray(content) ? (content as JsonObject[]).map(decodePart) : []
}

type ReasoningItem = Extract<Item, { kind: 'reasoning' }>

/** A detail joins the item before it where both tell parts of one piece of reasoning. */
function joins(before: ReasoningItem | undefined, detail: JsonObject): before is ReasoningItem {
  if (!before) return false
  const id = text(detail.id)
  if (id !== before.id || text(detail.format) !== before.format) return false
  if (detail.type === 'reasoning.encrypted') return before.sealed === undefined
  if (detail.type === 'reasoning.summary') return before.sealed === undefined && before.text === undefined
  return false
}

function decodeDetails(details: JsonObject[]): Item[] {
  const items: Item[] = []
  let last: ReasoningItem | undefined
  for (const detail of details) {
    const known = detail.type === 'reasoning.text' || detail.type === 'reasoning.summary' || detail.type === 'reasoning.encrypted'
    if (!known) {
      last = undefined
      items.push({ kind: 'opaque', of: { dialect: WIRE, type: OPAQUE.detail, data: detail } })
      continue
    }
    if (!joins(last, detail)) {
      last = { kind: 'reasoning' }
      if (typeof detail.id === 'string') last.id = detail.id
      if (typeof detail.format === 'string') last.format = detail.format
      items.push(last)
    }
    if (typeof detail.text === 'string') last.text = detail.text
    if (typeof detail.signature === 'string') last.signature = detail.signature
    if (typeof detail.summary === 'string') last.summary = [...(last.summary ?? []), detail.summary]
    if (typeof detail.data === 'string') last.sealed = detail.data
  }
  return items
}

function decodeReasoning(message: JsonObject): Item[] {
  const details = message.reasoning_details
  if (Array.isArray(details) && details.length > 0) return decodeDetails(details as JsonObject[])
  const plain = message.reasoning ?? message.reasoning_content
  return typeof plain === 'string' && plain !== '' ? [{ kind: 'reasoning', text: plain }] : []
}

function decodeCall(call: JsonObject): Item {
  if (isObject(call.function))
    return {
      kind: 'call',
      callId: call.id as string,
      name: call.function.name as string,
      args: text(call.function.arguments) ?? '{}',
    }
  return { kind: 'opaque', of: { dialect: WIRE, type: 'tool_call', data: call } }
}

/** Fields of a replayed assistant message that the canon has no word for; only the same wire takes them back. */
const REPLAYED = ['annotations', 'images', 'audio', 'model'] as const

function decodeAssistant(message: JsonObject): Item[] {
  const items = decodeReasoning(message)
  const parts = decodeContent(message.content)
  if (typeof message.refusal === 'string' && message.refusal !== '') parts.push({ kind: 'refusal', text: message.refusal })
  for (const name of REPLAYED) {
    const value = message[name]
    if (value !== undefined && value !== null)
      parts.push({ kind: 'opaque', of: { dialect: WIRE, type: OPAQUE.field, data: { [name]: value } } })
  }
  const calls = Array.isArray(message.tool_calls) ? (message.tool_calls as JsonObject[]).map(decodeCall) : []
  if (parts.length > 0 || (calls.length === 0 && items.length === 0)) items.push(named('assistant', parts, message.name))
  items.push(...calls)
  return items
}

function named(role: Role, parts: Part[], name: Json | undefined): Item {
  return typeof name === 'string' ? { kind: 'message', role, parts, name } : { kind: 'message', role, parts }
}

/** @param messages as the dialect's `check` has accepted them. */
export function decodeMessages(messages: JsonObject[]): Item[] {
  const items: Item[] = []
  for (const message of messages) {
    if (message.role === 'tool') {
      items.push({ kind: 'result', callId: message.tool_call_id as string, parts: decodeContent(message.content) })
    } else if (message.role === 'assistant') items.push(...decodeAssistant(message))
    else items.push(named(message.role as Role, decodeContent(message.content), message.name))
  }
  return items
}
