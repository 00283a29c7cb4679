/** Media of a request as parts of the wire: bytes inline, addresses as file data. */

import type { JsonObject } from '../../core/json.ts'
import { parseDataUrl } from '../canon/file-url.ts'
import type { Part } from '../canon/request.ts'
import { audioType, mimeTypeOf } from './mime-types.ts'

type Media = Extract<Part, { kind: 'media' }>

function fromUrl(part: Media, url: string, dropped: Set<string>): JsonObject {
  const inline = parseDataUrl(url)
  const byName = part.name === undefined ? undefined : mimeTypeOf(part.name)
  if (inline) {
    const known = inline.type !== '' && inline.type !== 'application/octet-stream'
    return { inlineData: { mimeType: known ? inline.type : (byName ?? (inline.type || 'text/plain')), data: inline.data } }
  }
  const mimeType = mimeTypeOf(url) ?? byName
  if (mimeType !== undefined) return { fileData: { fileUri: url, mimeType } }
  // The provider finds out by itself, or refuses.
  dropped.add(`input_${part.media}.mime_type`)
  return { fileData: { fileUri: url } }
}

function fromData(part: Media, data: string): JsonObject | undefined {
  if (part.media === 'audio') return { inlineData: { mimeType: audioType(part.format ?? 'wav'), data } }
  if (part.format === 'text') return { text: data }
  const named = part.name === undefined ? undefined : mimeTypeOf(part.name)
  const mimeType = named ?? (part.format === undefined ? undefined : mimeTypeOf(`.${part.format}`))
  return mimeType === undefined ? undefined : { inlineData: { mimeType, data } }
}

/**
 * @param dropped receives the names of what this wire cannot say.
 * @returns undefined where nothing of the part can be said.
 */
export function encodeMedia(part: Media, dropped: Set<string>): JsonObject | undefined {
  const name = `input_${part.media}`
  if (part.detail !== undefined && part.detail !== 'auto') dropped.add(`${name}.detail`)
  if (part.name !== undefined) dropped.add(`${name}.filename`)
  if (part.url !== undefined) return fromUrl(part, part.url, dropped)
  if (part.data !== undefined) {
    const encoded = fromData(part, part.data)
    if (!encoded) dropped.add(`${name}.data`)
    return encoded
  }
  dropped.add(part.fileId === undefined ? name : `${name}.file_id`)
  return undefined
}
