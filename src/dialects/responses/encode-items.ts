/** Canonical items as input items of the wire. */
import type { Item, Part, Role } from '../../canon/request.ts'
import type { JsonObject } from '../../core/json.ts'
import { present, WIRE } from './wire.ts'

/** Where an item is written to: the same wire takes everything back, another caller's items lose what has no name here. */
export interface ItemContext {
  readonly sameWire: boolean
  readonly dropped: Set<string>
}

function encodeMedia(part: Extract<Part, { kind: 'media' }>): JsonObject | undefined {
  switch (part.media) {
    case 'image':
      return present({ type: 'input_image', detail: part.detail ?? 'auto', image_url: part.url ?? part.data, file_id: part.fileId })
    case 'audio':
      return part.data === undefined ? undefined : { type: 'input_audio', input_audio: { data: part.data, format: part.format ?? 'wav' } }
    case 'video':
      return part.url === undefined ? undefined : { type: 'input_video', video_url: part.url }
    case 'file': {
      const inline = part.url?.startsWith('data:') ? part.url : part.data
      return present({
        type: 'input_file',
        file_id: part.fileId,
        filename: part.name,
        file_data: inline,
        file_url: inline === undefined ? part.url : undefined,
      })
    }
  }
}

function encodePart(part: Part, role: Role, context: ItemContext): JsonObject | undefined {
  if (part.kind === 'text') {
    if (role === 'assistant') return { type: 'output_text', text: part.text, annotations: [] }
    const text: JsonObject = { type: 'input_text', text: part.text }
    if (part.cache && context.sameWire) text.prompt_cache_breakpoint = { mode: 'explicit' }
    return text
  }
  if (part.kind === 'refusal')
    return role === 'assistant' ? { type: 'refusal', refusal: part.text } : { type: 'input_text', text: part.text }
  if (part.kind === 'opaque') {
    if (part.of.dialect === WIRE) return part.of.data
    context.dropped.add(part.of.type)
    return undefined
  }
  const media = role === 'assistant' && !context.sameWire ? undefined : encodeMedia(part)
  if (media === undefined) context.dropped.add(part.media)
  return media
}

function encodeParts(parts: Part[], role: Role, context: ItemContext): JsonObject[] {
  return parts.map((part) => encodePart(part, role, context)).filter((part) => part !== undefined)
}

/** Providers of this wire refuse an identifier that lacks the prefix of its kind. */
function idOf(id: string | undefined, prefix: string): string | undefined {
  return id?.startsWith(prefix) ? id : undefined
}

function encodeMessage(item: Extract<Item, { kind: 'message' }>, context: ItemContext): JsonObject {
  const id = idOf(item.id, 'msg')
  return present({
    type: 'message',
    id,
    role: item.role,
    // An item with an id is one of the provider's own and has a status; an easy message has neither.
    status: id !== undefined && item.role === 'assistant' ? 'completed' : undefined,
    content: encodeParts(item.parts, item.role, context),
    phase: item.phase,
  })
}

function encodeReasoning(item: Extract<Item, { kind: 'reasoning' }>, context: ItemContext): JsonObject | undefined {
  const empty = item.id === undefined && item.sealed === undefined && item.text === undefined
  const foreign = item.format !== undefined && !item.format.includes('openai-responses')
  if (empty || (!context.sameWire && (item.sealed === undefined || foreign))) {
    context.dropped.add('reasoning')
    return undefined
  }
  return present({
    type: 'reasoning',
    id: idOf(item.id, 'rs'),
    summary: (item.summary ?? []).map((text) => ({ type: 'summary_text', text })),
    content: item.text === undefined ? undefined : [{ type: 'reasoning_text', text: item.text }],
    encrypted_content: item.sealed,
    signature: item.signature,
    format: context.sameWire ? item.format : undefined,
  })
}

function encodeResult(item: Extract<Item, { kind: 'result' }>, context: ItemContext): JsonObject {
  const [only] = item.parts
  const output = item.parts.length === 1 && only.kind === 'text' && !only.cache ? only.text : encodeParts(item.parts, 'user', context)
  return present({ type: 'function_call_output', id: idOf(item.id, 'fc'), call_id: item.callId, output })
}

/** @returns undefined for an item that this wire cannot say; its name is then in `context.dropped`. */
export function encodeItem(item: Item, context: ItemContext): JsonObject | undefined {
  switch (item.kind) {
    case 'message':
      return encodeMessage(item, context)
    case 'reasoning':
      return encodeReasoning(item, context)
    case 'call':
      return present({ type: 'function_call', id: idOf(item.id, 'fc'), call_id: item.callId, name: item.name, arguments: item.args })
    case 'result':
      return encodeResult(item, context)
    case 'opaque':
      if (item.of.dialect === WIRE) return item.of.data
      context.dropped.add(item.of.type)
      return undefined
  }
}
