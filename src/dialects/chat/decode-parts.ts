/** Content of chat messages as canonical parts. */

import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { fileUrl } from '../canon/file-url.ts'
import { otherMembers, withNative } from '../canon/native.ts'
import type { CacheMark, Part } from '../canon/request.ts'
import { withoutBinary } from './binary-parts.ts'
import { fileIn } from './file-parts.ts'
import { WIRE } from './wire.ts'

const text = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined)

/** Members that every part may have, beside the one that holds its content. */
const SHARED = ['type', 'cache_control', 'prompt_cache_breakpoint']

/** Fields that are read of each part; anything else stays beside it. */
const KNOWN: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    text: ['text'],
    refusal: ['refusal'],
    image_url: ['image_url'],
    input_audio: ['input_audio'],
    video_url: ['video_url'],
    input_video: ['video_url'],
    file: ['file'],
    document_url: ['document_url', 'document_name'],
  }).map(([type, fields]) => [type, new Set([...SHARED, ...fields])]),
)

/** The mark of a part or a tool, in either of its two forms. */
export function cacheMark(marked: JsonObject): CacheMark | undefined {
  const { cache_control: control, prompt_cache_breakpoint: breakpoint } = marked
  if (control && isObject(control)) return typeof control.ttl === 'string' ? { ttl: control.ttl } : {}
  return breakpoint && isObject(breakpoint) ? {} : undefined
}

type Media = Extract<Part, { kind: 'media' }>

/** Sets only what is there, so that parts compare and print cleanly. */
function media(kind: Media['media'], fields: Omit<Media, 'kind' | 'media'>): Media {
  const part: Media = { kind: 'media', media: kind }
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) Object.assign(part, { [key]: value })
  return part
}

function known(part: JsonObject): Part | undefined {
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
  const file = fileIn(part)
  if (file !== undefined) {
    const { data, fileId, name } = file
    return media('file', { url: data === undefined ? undefined : fileUrl(data, name), fileId, name, cache })
  }
  return undefined
}

/** @param beside receives the names of members that the canon has no word for. */
function decodePart(written: JsonObject, beside: Set<string>): Part {
  const part = withoutBinary(written)
  const type = String(part.type)
  const decoded = known(part)
  if (decoded === undefined) return { kind: 'opaque', of: { dialect: WIRE, type, data: part } }
  const others = otherMembers(part, KNOWN.get(type) ?? new Set())
  if (others === undefined) return decoded
  for (const key in others) beside.add(`messages.${type}.${key}`)
  return withNative(decoded, { dialect: WIRE, type, data: others })
}

export function decodeContent(content: Json | undefined, beside: Set<string>): Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  return Array.isArray(content) ? (content as JsonObject[]).map((part) => decodePart(part, beside)) : []
}
