/** Messages as canonical items, block by block in the order in which they came. */
import { asObjects, asString, isObject, type Json, type JsonObject, present } from '../../core/json.ts'
import { CALL_EXTRA, signedReasoning } from '../canon/call-signature.ts'
import type { Item, Part, Role } from '../canon/request.ts'
import { unwrapReasoning, type WrappedReasoning } from '../canon/wrapped-reasoning.ts'
import { cacheMark, fullMark } from './cache-mark.ts'
import { isForeignCitation } from './foreign-blocks.ts'
import { isGatewayTool } from './gateway-tools.ts'
import { beside, FORMAT, WIRE, withNative } from './wire.ts'

const MESSAGE: ReadonlySet<string> = new Set(['role', 'content'])
const CALL: ReadonlySet<string> = new Set(['type', 'id', 'name', 'input', 'cache_control', 'caller', CALL_EXTRA])
const RESULT: ReadonlySet<string> = new Set(['type', 'tool_use_id', 'content', 'is_error', 'cache_control'])

function callItem(block: JsonObject): Item {
  const item: Item = {
    kind: 'call',
    callId: String(block.id),
    name: String(block.name),
    args: JSON.stringify(block.input ?? {}),
  }
  const cache = cacheMark(block)
  if (cache) item.cache = cache
  const { caller } = block as { caller?: JsonObject | null }
  // A call without `caller` was made by the model itself.
  const special = caller && caller.type !== 'direct' ? { caller } : {}
  return withNative(item, 'tool_use', { ...beside(block, CALL), ...special, ...fullMark(block) })
}

function resultItem(block: JsonObject): Item {
  const item: Item = { kind: 'result', callId: String(block.tool_use_id), parts: decodeParts(block.content) }
  if (block.is_error === true) item.error = true
  const cache = cacheMark(block)
  if (cache) item.cache = cache
  return withNative(item, 'tool_result', { ...beside(block, RESULT), ...fullMark(block) })
}

/** Blocks that are items of their own; undefined for one that is a part of the message. */
function ownItem(block: JsonObject): Item | undefined {
  switch (block.type) {
    case 'thinking':
      return thinkingItem(block)
    case 'redacted_thinking':
      return redactedItem(asString(block.data) ?? '')
    case 'tool_use':
      return callItem(block)
    case 'tool_result':
      return resultItem(block)
  }
}

function decodeMessage(message: JsonObject, items: Item[]): void {
  const role = message.role as Role
  const { content } = message
  if (typeof content === 'string') {
    items.push({ kind: 'message', role, parts: decodeParts(content) })
    return
  }
  const first = items.length
  let parts: Part[] | undefined
  for (const block of asObjects(content)) {
    const item = ownItem(block)
    if (item === undefined) {
      const signed = role === 'assistant' && block.type === 'text' ? signedReasoning(block) : undefined
      if (signed) {
        items.push(signed)
        parts = undefined
      }
      if (parts === undefined) {
        parts = []
        items.push({ kind: 'message', role, parts })
      }
      parts.push(decodePart(block))
      continue
    }
    parts = undefined
    const signed = block.type === 'tool_use' ? signedReasoning(block) : undefined
    if (signed) items.push(signed)
    const before = items.length > first ? items.at(-1) : undefined
    if (!joinReasoning(before, item)) items.push(item)
  }
  if (items.length === first) items.push({ kind: 'message', role, parts: [] })
}

/** Instructions that come within the conversation may say more than text: when they are cleared, and settings. */
function decodeSystem(message: JsonObject, items: Item[]): void {
  const item: Item = { kind: 'message', role: 'system', parts: decodeParts(message.content) }
  items.push(withNative(item, 'message', beside(message, MESSAGE)))
}

/** @param system the `system` field of the body: a string, text blocks or nothing. */
export function decodeMessages(system: Json | undefined, messages: readonly JsonObject[]): Item[] {
  const items: Item[] = []
  const instructions = decodeParts(system)
  if (instructions.length > 0) items.push({ kind: 'message', role: 'system', parts: instructions })
  for (const message of messages) {
    if (message.role === 'system') decodeSystem(message, items)
    else decodeMessage(message, items)
  }
  return items
}

type ReasoningItem = Extract<Item, { kind: 'reasoning' }>

const THINKING: ReadonlySet<string> = new Set(['type', 'thinking', 'signature', 'cache_control'])

function foreignItem(envelope: WrappedReasoning, shown: string): ReasoningItem {
  const text = envelope.text ?? shown
  const { format, id, encrypted, signature, summary } = envelope
  // Encrypted reasoning of an unknown family must never pass for this wire's own.
  const maker = format ?? (encrypted === undefined && signature === undefined ? undefined : 'unknown')
  const item: ReasoningItem = { kind: 'reasoning', id, encrypted, signature, format: maker }
  if (summary) item.summary = [text]
  else if (text !== '') item.text = text
  return present(item)
}

/**
 * Thinking that a caller sends back, as canonical reasoning: this wire's own, or another's out of its envelope.
 * A `thinking` block; one without a signature is plain text that no provider of this wire takes back.
 */
function thinkingItem(block: JsonObject): Item {
  const thinking = asString(block.thinking) ?? ''
  const signature = asString(block.signature) ?? ''
  const envelope = unwrapReasoning(signature)
  if (envelope) return foreignItem(envelope, thinking)
  const own: ReasoningItem =
    signature === '' ? { kind: 'reasoning', text: thinking } : { kind: 'reasoning', text: thinking, signature, format: FORMAT }
  return withNative(own, 'thinking', beside(block, THINKING))
}

/** @param data of a `redacted_thinking` block. */
function redactedItem(data: string): Item {
  const envelope = unwrapReasoning(data)
  return envelope ? foreignItem(envelope, '') : { kind: 'reasoning', encrypted: data, format: FORMAT }
}

/**
 * Several blocks may hold one reasoning item: its summaries one by one, its text, then its encrypted part.
 * @returns false where `item` is none of `before`'s.
 */
function joinReasoning(before: Item | undefined, item: Item): boolean {
  if (before?.kind !== 'reasoning' || item.kind !== 'reasoning' || item.id === undefined || item.id !== before.id) return false
  if (before.encrypted !== undefined || before.signature !== undefined) return false
  if (item.summary) {
    before.summary ??= []
    before.summary.push(...item.summary)
  }
  if (item.text !== undefined) before.text = (before.text ?? '') + item.text
  before.encrypted = item.encrypted
  before.signature = item.signature
  before.format = item.format ?? before.format
  present(before)
  return true
}

type Media = Extract<Part, { kind: 'media' }>

const TEXT: ReadonlySet<string> = new Set(['type', 'text', 'cache_control', 'citations', CALL_EXTRA])
const IMAGE: ReadonlySet<string> = new Set(['type', 'source', 'cache_control'])
const DOCUMENT: ReadonlySet<string> = new Set(['type', 'source', 'title', 'cache_control'])

/** Citations that a provider of this wire made; it would refuse those of another's. */
function ownCitations(block: JsonObject): JsonObject {
  const own = asObjects(block.citations).filter((citation) => !isForeignCitation(citation))
  return own.length > 0 ? { citations: own } : {}
}

function textPart(block: JsonObject): Part {
  const part: Part = present({ kind: 'text' as const, text: asString(block.text) ?? '', cache: cacheMark(block) })
  return withNative(part, 'text', { ...beside(block, TEXT), ...ownCitations(block), ...fullMark(block) })
}

function sourceUrl(source: JsonObject): string {
  return `data:${String(source.media_type)};base64,${String(source.data)}`
}

function imagePart(block: JsonObject, source: JsonObject): Part {
  const part: Media = present({
    kind: 'media' as const,
    media: 'image' as const,
    url: source.type === 'base64' ? sourceUrl(source) : asString(source.url),
    fileId: asString(source.file_id),
    cache: cacheMark(block),
  })
  return withNative(part, 'image', { ...beside(block, IMAGE), ...fullMark(block) })
}

/** Text of a document that is made of blocks; other wires get this much of it. */
function joinedText(content: Json | undefined): string {
  if (typeof content === 'string') return content
  return asObjects(content)
    .map((block) => asString(block.text))
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
    part.data = source.type === 'text' ? asString(source.data) : joinedText(source.content)
    part.format = 'text'
    if (source.type === 'content') native.source = source
  } else if (source.type === 'base64') part.url = sourceUrl(source)
  else if (source.type === 'file') part.fileId = asString(source.file_id)
  else part.url = asString(source.url)
  part.name = asString(block.title)
  part.cache = cacheMark(block)
  return withNative(present(part), 'document', native)
}

/**
 * Content blocks as canonical parts; what the canon cannot name of a block goes beside its part as `native`.
 * Any block that is neither reasoning nor a call nor a result of one.
 */
function decodePart(block: JsonObject): Part {
  const { type, source } = block
  if (type === 'text') return textPart(block)
  if (type === 'image' && isObject(source)) return imagePart(block, source)
  if (type === 'document' && isObject(source)) return documentPart(block, source)
  // No provider knows the gateway's own tools: their blocks are no wire's to write back.
  return { kind: 'opaque', of: { dialect: isGatewayTool(block) ? 'gateway' : WIRE, type: String(type), data: block } }
}

/** @param content a string, blocks, or nothing. */
function decodeParts(content: Json | undefined): Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  return asObjects(content).map(decodePart)
}
