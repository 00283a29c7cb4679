/** Content parts of the wire as canonical parts. */

import { asObjects, asString, isObject, type Json, type JsonObject, present } from '../../core/json.ts'
import { fileUrl } from '../canon/file-url.ts'
import { otherMembers, withNative } from '../canon/native.ts'
import type { Part } from '../canon/request.ts'
import { WIRE } from './wire.ts'

type Media = Extract<Part, { kind: 'media' }>

const MARK = 'prompt_cache_breakpoint'

/** Fields that are read of each part; anything else stays beside it. */
const KNOWN: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    input_text: ['text', MARK],
    output_text: ['text', MARK],
    text: ['text', MARK],
    refusal: ['refusal'],
    input_image: ['image_url', 'file_id', 'detail', MARK],
    input_file: ['file_data', 'file_url', 'file_id', 'filename', 'detail', MARK],
    input_audio: ['input_audio'],
    input_video: ['video_url'],
  }).map(([type, fields]) => [type, new Set(['type', ...fields])]),
)

function media(fields: Media): Media {
  return present(fields as unknown as JsonObject) as unknown as Media
}

function known(part: JsonObject): Part | undefined {
  const cache = isObject(part.prompt_cache_breakpoint) ? {} : undefined
  const detail = asString(part.detail)
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      if (typeof part.text !== 'string') return undefined
      return cache ? { kind: 'text', text: part.text, cache } : { kind: 'text', text: part.text }
    case 'refusal':
      return { kind: 'refusal', text: asString(part.refusal) ?? '' }
    case 'input_image':
      return media({ kind: 'media', media: 'image', url: asString(part.image_url), fileId: asString(part.file_id), detail, cache })
    case 'input_file': {
      const name = asString(part.filename)
      const data = asString(part.file_data)
      const url = data === undefined ? asString(part.file_url) : fileUrl(data, name)
      return media({ kind: 'media', media: 'file', url, fileId: asString(part.file_id), name, detail, cache })
    }
    case 'input_audio':
      if (!isObject(part.input_audio)) return undefined
      return media({ kind: 'media', media: 'audio', data: asString(part.input_audio.data), format: asString(part.input_audio.format) })
    case 'input_video':
      return media({ kind: 'media', media: 'video', url: asString(part.video_url) })
  }
  return undefined
}

/** @param beside receives the names of members that the canon has no word for. */
function decodePart(part: JsonObject, beside: Set<string>): Part {
  const type = String(part.type)
  const decoded = known(part)
  if (decoded === undefined) return { kind: 'opaque', of: { dialect: WIRE, type, data: part } }
  const others = otherMembers(part, KNOWN.get(type) ?? new Set())
  if (others === undefined) return decoded
  for (const key in others) beside.add(`input.${type}.${key}`)
  return withNative(decoded, { dialect: WIRE, type, data: others })
}

export function decodeParts(content: Json | undefined, beside: Set<string>): Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  return asObjects(content).map((part) => decodePart(part, beside))
}
