/** Canonical parts as content of chat messages. */

import type { JsonObject } from '../../core/json.ts'
import { TEXT_NAME, textUrl } from '../canon/file-url.ts'
import { nativeObject } from '../canon/native.ts'
import type { CacheMark, Part } from '../canon/request.ts'
import { WIRE } from './wire.ts'

type Media = Extract<Part, { kind: 'media' }>

/** The mark as the canon has it; `fit-messages.ts` turns it into the provider's own form. */
export function cacheControl(mark: CacheMark): JsonObject {
  return mark.ttl === undefined ? { type: 'ephemeral' } : { type: 'ephemeral', ttl: mark.ttl }
}

function encodeFile(part: Media): JsonObject {
  const file: JsonObject = {}
  const plain = part.format === 'text' && part.data !== undefined
  const data = plain ? textUrl(part.data ?? '') : (part.url ?? part.data)
  const name = part.name ?? (plain ? TEXT_NAME : undefined)
  if (data !== undefined) file.file_data = data
  if (part.fileId !== undefined) file.file_id = part.fileId
  if (name !== undefined) file.filename = name
  return { type: 'file', file }
}

/** @returns the name of what is lost where this wire has no form for the part. */
function encodeMedia(part: Media): JsonObject | string {
  switch (part.media) {
    case 'image': {
      // An image that only another provider holds has no form here.
      if (part.url === undefined) return 'input_image.file_id'
      const image: JsonObject = { url: part.url }
      // `auto`, which Responses callers must name, is the default, and not every provider's word (MiniMax: low, default, high).
      if (part.detail !== undefined && part.detail !== 'auto') image.detail = part.detail
      return { type: 'image_url', image_url: image }
    }
    case 'audio':
      return part.data === undefined ? 'input_audio.url' : { type: 'input_audio', input_audio: { data: part.data, format: part.format } }
    case 'video':
      return part.url === undefined ? 'input_video.file_id' : { type: 'video_url', video_url: { url: part.url } }
    case 'file':
      return encodeFile(part)
  }
}

function encodePart(part: Part, dropped: string[]): JsonObject | undefined {
  if (part.kind === 'opaque') {
    if (part.of.dialect === WIRE) return part.of.data
    dropped.push(part.of.type)
    return undefined
  }
  if (part.kind === 'refusal') return { type: 'refusal', refusal: part.text }
  const encoded = part.kind === 'text' ? { type: 'text', text: part.text } : encodeMedia(part)
  if (typeof encoded === 'string') {
    dropped.push(encoded)
    return undefined
  }
  if (part.cache) encoded.cache_control = cacheControl(part.cache)
  return Object.assign(encoded, nativeObject(part, WIRE))
}

/** A lone text as a string, anything else as parts; undefined where there is nothing. */
export function encodeContent(parts: readonly Part[], dropped: string[]): string | JsonObject[] | undefined {
  const [first] = parts
  if (first === undefined) return undefined
  const plain = parts.length === 1 && first.kind === 'text' && first.cache === undefined && nativeObject(first, WIRE) === undefined
  if (!plain) return parts.map((part) => encodePart(part, dropped)).filter((part) => part !== undefined)
  return first.text
}

/** Two contents of one turn as one; a list that is there already grows. */
export function joinedContent(before: unknown, after: string | JsonObject[]): string | JsonObject[] {
  if (typeof before === 'string' && typeof after === 'string') return before + after
  const parts = (content: unknown): JsonObject[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : (content as JsonObject[])
  const joined = parts(before)
  for (const part of parts(after)) joined.push(part)
  return joined
}

/** Content whose last part is marked for the cache; undefined where there is no part. */
export function markedContent(content: string | JsonObject[], mark: CacheMark): JsonObject[] | undefined {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content } as JsonObject] : content
  const last = parts.at(-1)
  if (last === undefined) return undefined
  last.cache_control ??= cacheControl(mark)
  return parts
}
