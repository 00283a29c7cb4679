/** Content blocks of a reply as canonical blocks, whether they come whole or in pieces. */
import { asObjects, asString, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { argumentsText, NO_ARGUMENTS } from '../canon/call-arguments.ts'
import { type BlockKind, COMMON, type NoteKind, type StreamEvent } from '../canon/events.ts'
import type { Opaque } from '../canon/request.ts'
import { StreamWords } from '../canon/stream-words.ts'
import { toAnnotation } from './citations.ts'
import { CLAUDE_FORMAT, OWN_FORMAT } from './wire.ts'

interface OpenBlock {
  /** Canonical number. */
  readonly number: number
  readonly kind: BlockKind
  /** Units of text so far, arguments included. */
  length: number
  citations: JsonObject[]
}

/** An image of an answer: it comes in pieces and leaves as one. */
interface OpenImage {
  format: string
  pieces: Buffer[]
}

/** Of `toolUse` and `toolResult`: what the provider's own tools were called for and gave back has a type of its own. */
const isOwnTool = ({ type }: JsonObject): boolean => type === 'server_tool_use'

/** Base64 of the base64 that Claude itself writes (recording test_bedrock_model_thinking_part_redacted). */
function claudeData(redacted: string): string {
  return Buffer.from(redacted, 'base64').toString('utf8')
}

/** Kinds and contents of a block (npm @aws-sdk/client-bedrock-runtime 3.1164.0, `ContentBlock`, `ContentBlockStart`, `ContentBlockDelta`). */
const KNOWN_MEMBERS: ReadonlySet<string> = new Set([
  'audio',
  'cachePoint',
  'citation',
  'citationsContent',
  'document',
  'guardContent',
  'image',
  'reasoningContent',
  'searchResult',
  'text',
  'toolAddition',
  'toolRemoval',
  'toolResult',
  'toolUse',
  'video',
])

export class BlockReader {
  /** True once the model has called a tool of the caller's. */
  sawCall = false
  /** Members of blocks that nothing knows. */
  readonly strange = new StreamWords()
  private readonly signs: boolean
  private next = 0
  private readonly open = new Map<number, OpenBlock>()
  private readonly images = new Map<number, OpenImage>()
  /** Blocks of what ran at the provider: no caller has a place for them. */
  private readonly hidden = new Set<number>()

  /** @param signs true for an endpoint whose reasoning is Claude's. */
  constructor(signs: boolean) {
    this.signs = signs
  }

  /** `contentBlockStart`: of texts and reasoning there is none. */
  start(index: number, start: JsonObject, out: StreamEvent[]): void {
    this.stop(index, out)
    const { toolUse, toolResult, image } = start
    if (isObject(toolUse)) this.call(index, toolUse, out)
    else if (isObject(toolResult)) this.hidden.add(index)
    else if (isObject(image)) this.images.set(index, { format: asString(image.format) ?? 'png', pieces: [] })
    else this.noteMembers(start)
  }

  delta(index: number, delta: JsonObject, out: StreamEvent[]): void {
    if (this.hidden.has(index)) return
    const { text, toolUse, reasoningContent, citation, image } = delta
    if (typeof text === 'string') this.say(this.openBlock(index, 'text', out), text, out)
    else if (isObject(toolUse)) this.args(index, toolUse.input, out)
    else if (isObject(reasoningContent)) this.reason(index, reasoningContent, out)
    else if (isObject(citation)) this.openBlock(index, 'text', out).citations.push(citation)
    else if (isObject(image) && isObject(image.source)) this.imagePiece(index, image.source.bytes)
    else this.noteMembers(delta)
  }

  private noteMembers(members: JsonObject): void {
    for (const name in members) this.strange.note('part', name, KNOWN_MEMBERS)
  }

  stop(index: number, out: StreamEvent[]): void {
    this.hidden.delete(index)
    this.endImage(index, out)
    const block = this.open.get(index)
    if (block === undefined) return
    this.open.delete(index)
    const { number, kind, length, citations } = block
    // No arguments at all are an empty object.
    if (kind === 'call' && length === 0) out.push({ type: 'block-delta', block: number, text: NO_ARGUMENTS })
    for (const citation of citations) this.note(number, 'annotation', toAnnotation(citation, length), out)
    out.push({ type: 'block-end', block: number })
  }

  stopAll(out: StreamEvent[]): void {
    for (const index of [...this.open.keys(), ...this.images.keys()]) this.stop(index, out)
  }

  /** A block of a whole reply, read as the pieces of one. */
  whole(index: number, block: JsonObject, out: StreamEvent[]): void {
    const { toolUse, reasoningContent, citationsContent, image } = block
    if (isObject(toolUse)) {
      const { input, ...start } = toolUse
      this.start(index, { toolUse: start }, out)
      this.delta(index, { toolUse: { input: argumentsText(input) } }, out)
    } else if (isObject(reasoningContent)) {
      const { reasoningText, redactedContent } = reasoningContent
      this.delta(index, { reasoningContent: isObject(reasoningText) ? reasoningText : { redactedContent } }, out)
    } else if (isObject(citationsContent)) {
      for (const { text } of asObjects(citationsContent.content)) this.delta(index, { text }, out)
      for (const citation of asObjects(citationsContent.citations)) this.delta(index, { citation }, out)
    } else if (isObject(image)) {
      this.start(index, { image }, out)
      this.delta(index, { image }, out)
    } else this.delta(index, block, out)
    this.stop(index, out)
  }

  /** The open block at an index; one of another kind ends there. */
  private openBlock(index: number, kind: 'text' | 'reasoning', out: StreamEvent[]): OpenBlock {
    const found = this.open.get(index)
    if (found?.kind === kind) return found
    this.stop(index, out)
    const number = this.next++
    const block: OpenBlock = { number, kind, length: 0, citations: [] }
    this.open.set(index, block)
    const isThought = kind === 'reasoning'
    out.push({ type: 'block-start', block: number, kind, ...(isThought ? { item: `thinking_${number}` } : {}) })
    if (isThought && this.signs) this.note(number, 'format', { format: CLAUDE_FORMAT }, out)
    return block
  }

  private say(block: OpenBlock, text: string, out: StreamEvent[]): void {
    if (text === '') return
    block.length += text.length
    out.push({ type: 'block-delta', block: block.number, text })
  }

  private note(block: number, note: NoteKind, data: JsonObject, out: StreamEvent[]): void {
    out.push({ type: 'block-note', block, note, data })
  }

  /** `ReasoningContentBlockDelta`; a whole `reasoningText` has text and signature at once. */
  private reason(index: number, { text, signature, redactedContent }: JsonObject, out: StreamEvent[]): void {
    const block = this.openBlock(index, 'reasoning', out)
    if (typeof text === 'string') this.say(block, text, out)
    // Claude alone signs.
    if (typeof signature === 'string' && signature !== '') this.note(block.number, 'signature', { signature, format: CLAUDE_FORMAT }, out)
    if (typeof redactedContent !== 'string' || redactedContent === '') return
    const data = this.signs ? claudeData(redactedContent) : redactedContent
    this.note(block.number, 'encrypted', { data, format: this.signs ? CLAUDE_FORMAT : OWN_FORMAT }, out)
  }

  private call(index: number, toolUse: JsonObject, out: StreamEvent[]): void {
    if (isOwnTool(toolUse)) {
      this.hidden.add(index)
      return
    }
    this.sawCall = true
    const number = this.next++
    this.open.set(index, { number, kind: 'call', length: 0, citations: [] })
    const call = { id: asString(toolUse.toolUseId) || `tooluse_${number}`, name: asString(toolUse.name) ?? '' }
    out.push({ type: 'block-start', block: number, kind: 'call', call })
  }

  private args(index: number, input: Json | undefined, out: StreamEvent[]): void {
    const block = this.open.get(index)
    if (block?.kind === 'call') this.say(block, argumentsText(input), out)
  }

  private imagePiece(index: number, bytes: Json | undefined): void {
    const image = this.images.get(index)
    if (image && typeof bytes === 'string') image.pieces.push(Buffer.from(bytes, 'base64'))
  }

  private endImage(index: number, out: StreamEvent[]): void {
    const image = this.images.get(index)
    if (!image) return
    this.images.delete(index)
    const type = `image/${image.format}`
    const data = { url: `data:${type};base64,${Buffer.concat(image.pieces).toString('base64')}`, media_type: type }
    const of: Opaque = { dialect: COMMON, type: 'image', data }
    const block = this.next++
    out.push({ type: 'block-start', block, kind: 'media', of }, { type: 'block-end', block })
  }
}
