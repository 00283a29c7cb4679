/** Parts of messages and tool results as content blocks of this wire. */

import type { JsonObject } from '../../core/json.ts'
import { parseDataUrl } from '../canon/file-url.ts'
import { isStoredFile } from '../canon/provider-files.ts'
import type { CacheMark, Part } from '../canon/request.ts'
import { parsedInput } from './tool-input.ts'
import { messagesNative, WIRE } from './wire.ts'

type Media = Extract<Part, { kind: 'media' }>

/** Destination of blocks; models of this wire take media from the user and from tools alone. */
export type Place = 'system' | 'user' | 'assistant' | 'result'

export interface WriteContext {
  /** True where the caller speaks this wire too: what is of this wire means what it says. */
  readonly sameWire: boolean
  readonly dropped: Set<string>
  /** Features of the provider that what was written needs. */
  readonly betas: Set<string>
  /** The provider takes thinking without a signature. */
  readonly takesUnsigned: boolean
}

/** Files that a provider keeps need it where they are not yet part of the plain API. */
const FILES_BETA = 'files-api-2025-04-14'

export function cacheControl({ ttl }: CacheMark): JsonObject {
  return ttl === '5m' || ttl === '1h' ? { type: 'ephemeral', ttl } : { type: 'ephemeral' }
}

export function marked(block: JsonObject, { cache }: { cache?: CacheMark | undefined }): JsonObject {
  if (cache) block.cache_control = cacheControl(cache)
  return block
}

function fileSource(id: string, context: WriteContext): JsonObject {
  context.betas.add(FILES_BETA)
  return { type: 'file', file_id: id }
}

function imageSource(part: Media, context: WriteContext): JsonObject | undefined {
  if (isStoredFile(part)) return fileSource(part.fileId, context)
  const url = part.url ?? (part.data?.startsWith('data:') ? part.data : undefined)
  if (url === undefined)
    return part.data === undefined ? undefined : { type: 'base64', media_type: `image/${part.format ?? 'png'}`, data: part.data }
  const inline = parseDataUrl(url)
  if (inline) return { type: 'base64', media_type: inline.type || 'image/png', data: inline.data }
  return url.startsWith('data:') ? undefined : { type: 'url', url }
}

const TEXT_TYPES = /^(text\/|application\/(json|xml|yaml|x-yaml|javascript|typescript|x-sh|sql)|.*\+(json|xml)$)/

/** Member in which `parsedInput` puts a value that is no object. */
const INVALID = 'INVALID_JSON'

/** Base64 of `%PDF`: marks a PDF that came without a type. */
const PDF_HEAD = 'JVBERi'

function documentSource(part: Media, context: WriteContext): JsonObject | undefined {
  if (isStoredFile(part)) return fileSource(part.fileId, context)
  if (part.data !== undefined && part.format === 'text') return { type: 'text', media_type: 'text/plain', data: part.data }
  const address = part.url ?? part.data ?? ''
  if (/^https?:/.test(address)) return { type: 'url', url: address }
  const inline = parseDataUrl(address) ?? { type: '', data: address }
  if (inline.type === 'application/pdf' || inline.data.startsWith(PDF_HEAD))
    return { type: 'base64', media_type: 'application/pdf', data: inline.data }
  if (!TEXT_TYPES.test(inline.type)) return undefined
  return { type: 'text', media_type: 'text/plain', data: Buffer.from(inline.data, 'base64').toString('utf8') }
}

function encodeMedia(part: Media, context: WriteContext): JsonObject | undefined {
  if (part.media === 'audio' || part.media === 'video') return undefined
  if (part.media === 'image' || part.url?.startsWith('data:image/')) {
    const source = imageSource(part, context)
    if (part.detail !== undefined && part.detail !== 'auto') context.dropped.add('input_image.detail')
    return source && marked({ type: 'image', source }, part)
  }
  const source = documentSource(part, context)
  if (source === undefined) return undefined
  const block: JsonObject = { type: 'document', source }
  if (part.name !== undefined) block.title = part.name
  return marked(block, part)
}

function encodePart(part: Part, place: Place, context: WriteContext): JsonObject | undefined {
  if (part.kind === 'opaque') {
    if (part.of.dialect === WIRE) return { ...part.of.data, type: part.of.data.type ?? part.of.type }
    context.dropped.add(part.of.type)
    return undefined
  }
  if (part.kind !== 'media') {
    // The API refuses text without a letter in it.
    if (part.text.trim() !== '') return marked({ type: 'text', text: part.text }, part.kind === 'text' ? part : {})
    if (part.kind === 'text' && part.cache) context.dropped.add('cache_control')
    return undefined
  }
  const allowed = place === 'user' || place === 'result'
  const block = allowed ? encodeMedia(part, context) : undefined
  if (block === undefined) context.dropped.add(`${place === 'assistant' ? 'output' : 'input'}_${part.media}`)
  return block
}

/** Blocks of the parts that this wire can say; the names of others are then in `context.dropped`. */
export function encodeParts(parts: readonly Part[], place: Place, context: WriteContext): JsonObject[] {
  const blocks: JsonObject[] = []
  for (const part of parts) {
    const block = encodePart(part, place, context)
    if (block) blocks.push({ ...block, ...messagesNative(part) })
  }
  return blocks
}

/** A lone plain text as a string, as most callers write it. */
export function blockContent(blocks: JsonObject[]): string | JsonObject[] {
  const [only] = blocks
  const plain = blocks.length === 1 && only?.type === 'text' && typeof only.text === 'string' && Object.keys(only).length === 2
  return plain ? String(only.text) : blocks
}

/** Arguments as the object that this wire wants; text that is none is wrapped, and recorded. */
export function toolInput(args: string, context: WriteContext): JsonObject {
  const input = parsedInput(args.trim())
  if (input[INVALID] === args.trim()) context.dropped.add('function_call.arguments')
  return input
}
