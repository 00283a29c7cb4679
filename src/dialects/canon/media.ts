/** Media of a request, wherever a wire lets them stand: parts, blocks inside documents and results, pictures sent again. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { CanonicalRequest, Item, Opaque, Part } from './request.ts'

export type Media = Extract<Part, { kind: 'media' }>

export interface FoundMedia {
  part: Media
  /** Media that a model or a tool of the provider made, and the caller sends again: no input that the model has to declare. */
  replayed: boolean
}

/** Words in the type of a block. The first that fits counts, so that `image_file` is an image. */
const KINDS: readonly [RegExp, Media['media']][] = [
  [/image|screenshot/, 'image'],
  [/audio/, 'audio'],
  [/video/, 'video'],
  [/document|file|pdf/, 'file'],
]

/** Members of a block that hold its medium as an object, and members of either that hold it as text. */
const HOLDERS = ['source', 'image_url', 'audio_url', 'video_url', 'input_audio', 'file']
const PAYLOADS = [
  'data',
  'url',
  'file_data',
  'file_url',
  'pdf_url',
  'document_url',
  'image_url',
  'audio_url',
  'video_url',
  'image_embeds',
  'result',
]

const TEXT_URL = /^data:(?:text\/|application\/(?:json|xml|x-yaml|javascript))/i

/** True for a file that is plain text: its tokens follow from its bytes. */
export function isTextFile({ media, url, format }: Media): boolean {
  return media === 'file' && (format === 'text' || (url !== undefined && TEXT_URL.test(url)))
}

/** The encoded bytes of a medium, in characters of the request; 0 where it stands elsewhere, or is text. */
export function payloadLength(part: Media): number {
  if (isTextFile(part)) return 0
  if (part.data !== undefined) return part.data.length
  const { url } = part
  // Base64 has no comma: whatever else a type may hold stays counted as text.
  return url?.startsWith('data:') ? url.length - url.lastIndexOf(',') - 1 : 0
}

export function* findMedia(request: CanonicalRequest): Generator<FoundMedia> {
  for (const item of request.items) yield* mediaOfItem(item)
}

export function* mediaOfItem(item: Item): Generator<FoundMedia> {
  if (item.kind === 'opaque') {
    const replayed = !item.of.type.endsWith('_output')
    for (const part of mediaInside(item.of)) yield { part, replayed }
    return
  }
  if (item.kind !== 'message' && item.kind !== 'result') return
  const isAnswer = item.kind === 'message' && item.role === 'assistant'
  for (const part of item.parts) {
    if (part.kind === 'media') {
      yield { part, replayed: false }
      const { native } = part as { native?: Opaque }
      if (native) for (const inner of mediaInside(native)) yield { part: inner, replayed: false }
    } else if (part.kind === 'opaque') {
      const replayed = isAnswer || part.of.type.endsWith('_tool_result')
      for (const inner of mediaInside(part.of)) yield { part: inner, replayed }
    }
  }
}

/** Media among the blocks that only one wire knows: by the type that a block names, since providers differ in their words for them. */
export function* mediaInside({ data }: Opaque): Generator<Media> {
  const rest: Json[] = [data]
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    if (Array.isArray(value)) {
      for (const child of value) if (typeof child === 'object') rest.push(child)
      continue
    }
    if (!isObject(value)) continue
    const found = mediaBlock(value)
    if (found) {
      // Nothing in it is looked at again: a payload that counted twice would hide as much text elsewhere.
      yield found
      continue
    }
    for (const key in value) {
      const child = value[key]
      if (typeof child === 'object') rest.push(child)
    }
  }
}

function mediaBlock(block: JsonObject): Media | undefined {
  const { type } = block
  // A source of the answer names a file that it does not hold.
  if (typeof type !== 'string' || type.endsWith('citation')) return undefined
  const kind = KINDS.find(([words]) => words.test(type))?.[1]
  if (kind === undefined) return undefined
  for (const name of ['', ...HOLDERS]) {
    const holder = name === '' ? block : block[name]
    if (!isObject(holder)) continue
    // A document that is made of blocks or is text has no bytes of its own.
    if (holder.type === 'content' || holder.type === 'text' || String(holder.media_type).startsWith('text/')) return undefined
    if (typeof holder.file_id === 'string') return { kind: 'media', media: kind, fileId: holder.file_id }
    for (const payload of PAYLOADS) {
      const text = holder[payload]
      if (typeof text !== 'string') continue
      return /^[a-z]+:/i.test(text.slice(0, 16)) ? { kind: 'media', media: kind, url: text } : { kind: 'media', media: kind, data: text }
    }
  }
  return undefined
}

/** The words of `KINDS`, and that of parts of bytes whose kind stands within. */
const MEDIUM = /image|screenshot|audio|video|document|file|pdf|binary/

/** Members by which a block may hold a medium, whatever its type. */
const MEDIA_MEMBERS: ReadonlySet<string> = new Set(
  [...HOLDERS, ...PAYLOADS, 'file_id', 'images', 'image', 'audio', 'video', 'document', 'binary'].filter((name) => MEDIUM.test(name)),
)

/**
 * False where nothing in a body of a conversation is an image, sound, film or file: each says so in its type or in the name of a member. The
 * tools of coding agents have paths of files, and their files have words of all kinds, so a search for words finds nearly always one.
 */
export function namesMedia(body: JsonObject): boolean {
  const rest: Json[] = [body]
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    if (Array.isArray(value)) {
      for (const child of value) if (typeof child === 'object' && child !== null) rest.push(child)
      continue
    }
    if (!isObject(value)) continue
    for (const name in value) {
      const child = value[name]
      if (MEDIA_MEMBERS.has(name) || (name === 'type' && typeof child === 'string' && MEDIUM.test(child))) return true
      if (typeof child === 'object' && child !== null) rest.push(child)
    }
  }
  return false
}

/** JSON text of what only one wire knows, without the encoded bytes of its media. */
export function opaqueText(of: Opaque): string {
  const payloads = new Set<string>()
  for (const { url, data } of mediaInside(of)) payloads.add(data ?? url ?? '')
  if (payloads.size === 0) return JSON.stringify(of.data)
  return JSON.stringify(of.data, (_key, value: unknown) => (typeof value === 'string' && payloads.has(value) ? '' : value))
}
