/** Canonical parts as content parts of the wire. */

import { type JsonObject, present } from '../../core/json.ts'
import { TEXT_NAME, textUrl } from '../canon/file-url.ts'
import { nativeObject } from '../canon/native.ts'
import type { CacheMark, Part, Role } from '../canon/request.ts'
import type { Quirks } from '../quirks.ts'
import { WIRE } from './wire.ts'

/** Destination of an item: the same wire takes everything back, another caller's items lose what has no name here. */
export interface ItemContext {
  readonly sameWire: boolean
  readonly quirks: Quirks
  readonly dropped: Set<string>
}

type Media = Extract<Part, { kind: 'media' }>

function encodeFile(part: Media): JsonObject {
  const plain = part.format === 'text' && part.data !== undefined
  const inline = plain ? textUrl(part.data ?? '') : part.url?.startsWith('data:') ? part.url : part.data
  return present({
    type: 'input_file',
    file_id: part.fileId,
    filename: part.name ?? (plain ? TEXT_NAME : undefined),
    file_data: inline,
    file_url: inline === undefined ? part.url : undefined,
    detail: part.detail,
  })
}

function encodeMedia(part: Media): JsonObject | undefined {
  switch (part.media) {
    case 'image':
      return present({ type: 'input_image', detail: part.detail ?? 'auto', image_url: part.url ?? part.data, file_id: part.fileId })
    case 'audio':
      return part.data === undefined ? undefined : { type: 'input_audio', input_audio: { data: part.data, format: part.format ?? 'wav' } }
    case 'video':
      return part.url === undefined ? undefined : { type: 'input_video', video_url: part.url }
    case 'file':
      return encodeFile(part)
  }
}

/** Parts that the provider lets mark the end of what is worth caching. */
const MARKED: ReadonlySet<unknown> = new Set(['input_text', 'input_image', 'input_file'])

/** Marks a written part; what of the mark has no field here is recorded. */
export function markPart(part: JsonObject | undefined, mark: CacheMark, dropped: Set<string>): void {
  if (part === undefined || !MARKED.has(part.type)) {
    dropped.add('cache_control')
    return
  }
  if (mark.ttl !== undefined) dropped.add('cache_control.ttl')
  part.prompt_cache_breakpoint ??= { mode: 'explicit' }
}

function encodeText(part: Exclude<Part, { kind: 'media' | 'opaque' }>, role: Role): JsonObject {
  if (role !== 'assistant') return { type: 'input_text', text: part.text }
  return part.kind === 'text' ? { type: 'output_text', text: part.text, annotations: [] } : { type: 'refusal', refusal: part.text }
}

function encodePart(part: Part, role: Role, context: ItemContext): JsonObject | undefined {
  if (part.kind === 'opaque') {
    if (part.of.dialect === WIRE) return part.of.data
    context.dropped.add(part.of.type)
    return undefined
  }
  const shown = part.kind !== 'media' || role !== 'assistant' || context.sameWire
  const encoded = part.kind === 'media' ? (shown ? encodeMedia(part) : undefined) : encodeText(part, role)
  if (encoded === undefined) {
    if (part.kind === 'media') context.dropped.add(part.media)
    return undefined
  }
  if (part.kind !== 'refusal' && part.cache) markPart(encoded, part.cache, context.dropped)
  return Object.assign(encoded, nativeObject(part, WIRE))
}

export function encodeParts(parts: readonly Part[], role: Role, context: ItemContext): JsonObject[] {
  return parts.map((part) => encodePart(part, role, context)).filter((part) => part !== undefined)
}

/** Output of a tool: a lone text as a string, anything else as parts. */
export function encodeOutput(parts: readonly Part[], cache: CacheMark | undefined, context: ItemContext): string | JsonObject[] {
  const [only] = parts
  const plain = parts.length === 1 && only?.kind === 'text' && !only.cache && !cache && nativeObject(only, WIRE) === undefined
  if (plain) return only.text
  const encoded = encodeParts(parts, 'user', context)
  if (cache) markPart(encoded.at(-1), cache, context.dropped)
  return encoded
}
