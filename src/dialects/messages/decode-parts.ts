/** Content blocks as canonical parts; what the canon cannot name of a block goes beside its part as `native`. */

import { isObject, type Json, type JsonObject, objectsOf, present, stringOf } from '../../core/json.ts'
import type { Part } from '../canon/request.ts'
import { cacheMark, fullMark } from './cache-mark.ts'
import { isForeignCitation } from './foreign-blocks.ts'
import { isGatewayTool } from './gateway-tools.ts'
import { beside, WIRE, withNative } from './wire.ts'

type Media = Extract<Part, { kind: 'media' }>

const TEXT: ReadonlySet<string> = new Set(['type', 'text', 'cache_control', 'citations'])
const IMAGE: ReadonlySet<string> = new Set(['type', 'source', 'cache_control'])
const DOCUMENT: ReadonlySet<string> = new Set(['type', 'source', 'title', 'cache_control'])

/** Citations that a provider of this wire made; it would refuse those of another's. */
function ownCitations(block: JsonObject): JsonObject {
  const own = objectsOf(block.citations).filter((citation) => !isForeignCitation(citation))
  return own.length > 0 ? { citations: own } : {}
}

function textPart(block: JsonObject): Part {
  const part: Part = present({ kind: 'text', text: stringOf(block.text) ?? '', cache: cacheMark(block) })
  return withNative(part, 'text', { ...beside(block, TEXT), ...ownCitations(block), ...fullMark(block) })
}

function sourceUrl(source: JsonObject): string {
  return `data:${String(source.media_type)};base64,${String(source.data)}`
}

function imagePart(block: JsonObject, source: JsonObject): Part {
  const part: Media = present({
    kind: 'media',
    media: 'image',
    url: source.type === 'base64' ? sourceUrl(source) : stringOf(source.url),
    fileId: stringOf(source.file_id),
    cache: cacheMark(block),
  })
  return withNative(part, 'image', { ...beside(block, IMAGE), ...fullMark(block) })
}

/** Text of a document that is made of blocks; other wires get this much of it. */
function joinedText(content: Json | undefined): string {
  if (typeof content === 'string') return content
  return objectsOf(content)
    .map((block) => stringOf(block.text))
    .filter((text) => text !== undefined)
    .join('\n\n')
}

/**
 * A document is a file whose name is its title. The canon has no words for `context`, `citations` and a source of blocks:
 * they stay beside the part, so that this wire gets the same document and every other one its text.
 */
function documentPart(block: JsonObject, source: JsonObject): Part {
  const native: JsonObject = { ...beside(block, DOCUMENT), ...fullMark(block) }
  const part: Media = { kind: 'media', media: 'file' }
  if (source.type === 'text' || source.type === 'content') {
    part.data = source.type === 'text' ? stringOf(source.data) : joinedText(source.content)
    part.format = 'text'
    if (source.type === 'content') native.source = source
  } else if (source.type === 'base64') part.url = sourceUrl(source)
  else if (source.type === 'file') part.fileId = stringOf(source.file_id)
  else part.url = stringOf(source.url)
  part.name = stringOf(block.title)
  part.cache = cacheMark(block)
  return withNative(present(part), 'document', native)
}

/** Any block that is neither reasoning nor a call nor a result of one. */
export function decodePart(block: JsonObject): Part {
  const { type, source } = block
  if (type === 'text') return textPart(block)
  if (type === 'image' && isObject(source)) return imagePart(block, source)
  if (type === 'document' && isObject(source)) return documentPart(block, source)
  // No provider knows the gateway's own tools: their blocks are no wire's to write back.
  return { kind: 'opaque', of: { dialect: isGatewayTool(block) ? 'gateway' : WIRE, type: String(type), data: block } }
}

/** @param content a string, blocks, or nothing. */
export function decodeParts(content: Json | undefined): Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  return objectsOf(content).map(decodePart)
}
