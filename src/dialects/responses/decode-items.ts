/** Input items of the wire as canonical items. */
import type { Item, Part, Role } from '../../canon/request.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { itemType } from './check.ts'
import { objectsOf, present, stringOf, WIRE } from './wire.ts'

type Media = Extract<Part, { kind: 'media' }>

function media(fields: Media): Media {
  return present(fields as unknown as JsonObject) as unknown as Media
}

function filePart(part: JsonObject): Part {
  const data = stringOf(part.file_data)
  const inline = data?.startsWith('data:')
  return media({
    kind: 'media',
    media: 'file',
    url: inline ? data : stringOf(part.file_url),
    data: inline ? undefined : data,
    fileId: stringOf(part.file_id),
    name: stringOf(part.filename),
  })
}

function decodePart(part: JsonObject): Part {
  const cache = isObject(part.prompt_cache_breakpoint) ? {} : undefined
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      if (typeof part.text !== 'string') break
      return cache ? { kind: 'text', text: part.text, cache } : { kind: 'text', text: part.text }
    case 'refusal':
      return { kind: 'refusal', text: stringOf(part.refusal) ?? '' }
    case 'input_image':
      return media({
        kind: 'media',
        media: 'image',
        url: stringOf(part.image_url),
        fileId: stringOf(part.file_id),
        detail: stringOf(part.detail),
        cache,
      })
    case 'input_file':
      return filePart(part)
    case 'input_audio':
      if (!isObject(part.input_audio)) break
      return media({ kind: 'media', media: 'audio', data: stringOf(part.input_audio.data), format: stringOf(part.input_audio.format) })
    case 'input_video':
      return media({ kind: 'media', media: 'video', url: stringOf(part.video_url) })
  }
  return { kind: 'opaque', of: { dialect: WIRE, type: String(part.type), data: part } }
}

function decodeParts(content: Json | undefined): Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  return objectsOf(content).map(decodePart)
}

function texts(parts: Json | undefined): string[] {
  return objectsOf(parts).map((part) => stringOf(part.text) ?? '')
}

function decodeMessage(item: JsonObject): Item {
  const message: Item = { kind: 'message', role: item.role as Role, parts: decodeParts(item.content) }
  if (typeof item.id === 'string') message.id = item.id
  if (typeof item.phase === 'string') message.phase = item.phase
  return message
}

function decodeReasoning(item: JsonObject): Item {
  const content = texts(item.content)
  return present({
    kind: 'reasoning',
    id: stringOf(item.id),
    text: content.length > 0 ? content.join('') : undefined,
    summary: texts(item.summary),
    sealed: stringOf(item.encrypted_content),
    signature: stringOf(item.signature),
    format: stringOf(item.format),
  }) as unknown as Item
}

/** A call within a namespace or of a sub-agent means something only to this wire, and so does its output. */
function isPlainCall(item: JsonObject): boolean {
  return (item.namespace ?? item.subagent_id ?? item.subagent_items ?? null) === null
}

/**
 * @param input a string (one user message) or input items that `checkRequest` has accepted.
 * @returns canonical items; what the canon cannot name is opaque, a reference to an item of the same input is left out.
 */
export function decodeItems(input: Json | undefined): Item[] {
  if (typeof input === 'string') return [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: input }] }]
  const items: Item[] = []
  const opaqueCalls = new Set<string>()
  for (const item of objectsOf(input)) {
    const type = itemType(item)
    const callId = String(item.call_id)
    if (type === 'message') items.push(decodeMessage(item))
    else if (type === 'reasoning') items.push(decodeReasoning(item))
    else if (type === 'function_call' && isPlainCall(item)) {
      const call: Item = { kind: 'call', callId, name: String(item.name), args: String(item.arguments) }
      if (typeof item.id === 'string') call.id = item.id
      items.push(call)
    } else if (type === 'function_call_output' && !opaqueCalls.has(callId)) {
      const result: Item = { kind: 'result', callId, parts: decodeParts(item.output) }
      if (typeof item.id === 'string') result.id = item.id
      items.push(result)
    } else if (type !== 'item_reference') {
      if (type === 'function_call') opaqueCalls.add(callId)
      items.push({ kind: 'opaque', of: { dialect: WIRE, type: String(type), data: item } })
    }
  }
  return items
}
