/** Content blocks of an upstream of this wire as canonical blocks, whether they come whole or in pieces. */

import { randomTag } from '../../core/ids.ts'
import { asObjects, asString, isObject, type JsonObject } from '../../core/json.ts'
import { argumentsText, NO_ARGUMENTS } from '../canon/call-arguments.ts'
import type { BlockKind, StreamEvent } from '../canon/events.ts'
import type { StreamWords } from '../canon/stream-words.ts'
import { toAnnotation } from './citations.ts'
import { KNOWN_BLOCKS, KNOWN_DELTAS } from './known-words.ts'
import { FORMAT, WIRE } from './wire.ts'

interface OpenBlock {
  /** Canonical number; -1 until a block that travels whole is complete. */
  number: number
  kind: BlockKind
  /** Units of text so far, arguments included. */
  length: number
  citations: JsonObject[]
  signature: string
  /** The block as it came: what an opaque is made of, and a call whose input came at once. */
  block: JsonObject
  /** Pieces of the input of an opaque block. */
  json: string
}

const KINDS: ReadonlyMap<string, BlockKind> = new Map([
  ['text', 'text'],
  ['thinking', 'reasoning'],
  ['redacted_thinking', 'reasoning'],
  ['tool_use', 'call'],
])

/** The kind of block that a delta speaks of, where the event that opens it was left out. */
const KIND_OF_DELTA: ReadonlyMap<string, string> = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
])

/** True for a call with members that the canon has no words for. */
function isSpecialCall(block: JsonObject): boolean {
  return (block.toolset_name ?? null) !== null || (isObject(block.caller) && block.caller.type !== 'direct')
}

function parsed(json: string, otherwise: JsonObject[string]): JsonObject[string] {
  try {
    return JSON.parse(json) as JsonObject
  } catch {
    return otherwise
  }
}

export class BlockDecoder {
  /** True once the model has called a tool of the caller's. */
  sawCall = false
  private readonly open = new Map<number, OpenBlock>()
  private readonly strange: StreamWords
  private next = 0
  /** The block that text came for last. */
  private spoken: OpenBlock | undefined

  constructor(strange: StreamWords) {
    this.strange = strange
  }

  start(index: number, block: JsonObject, out: StreamEvent[]): void {
    if (this.open.has(index)) this.stop(index, out)
    const type = asString(block.type) ?? ''
    const kind = KINDS.get(type) ?? 'opaque'
    const opened: OpenBlock = { number: -1, kind, length: 0, citations: [], signature: '', block, json: '' }
    this.open.set(index, opened)
    if (kind === 'opaque') {
      this.strange.note('item', type, KNOWN_BLOCKS)
      return
    }
    opened.number = this.next++
    if (kind === 'call') this.startCall(opened, out)
    else if (kind === 'reasoning') this.startReasoning(opened, index, out)
    else {
      out.push({ type: 'block-start', block: opened.number, kind })
      this.text(opened, asString(block.text), out)
      opened.citations.push(...asObjects(block.citations))
    }
  }

  delta(index: number, delta: JsonObject, out: StreamEvent[]): void {
    const type = asString(delta.type) ?? ''
    const implied = KIND_OF_DELTA.get(type)
    if (!this.open.has(index) && implied !== undefined) this.start(index, { type: implied }, out)
    const opened = this.open.get(index)
    if (opened === undefined) return
    switch (type) {
      case 'text_delta':
        this.text(opened, asString(delta.text), out)
        return
      case 'thinking_delta':
        this.text(opened, asString(delta.thinking), out)
        return
      case 'input_json_delta':
        if (opened.kind === 'opaque') opened.json += asString(delta.partial_json) ?? ''
        else this.text(opened, asString(delta.partial_json), out)
        return
      case 'signature_delta':
        opened.signature = asString(delta.signature) ?? opened.signature
        return
      case 'citations_delta':
        if (isObject(delta.citation)) opened.citations.push(delta.citation)
        return
      default:
        this.strange.note('part', type, KNOWN_DELTAS)
        // What a kind of its own adds to its block is final, not a piece: `compaction_delta` and its like.
        if (opened.kind === 'opaque') {
          const { type: _, ...members } = delta
          opened.block = { ...opened.block, ...members }
        }
    }
  }

  stop(index: number, out: StreamEvent[]): void {
    const opened = this.open.get(index)
    if (opened === undefined) return
    this.open.delete(index)
    const { block } = opened
    if (opened.kind === 'opaque') {
      const data = opened.json === '' ? block : { ...block, input: parsed(opened.json, block.input) }
      opened.number = this.next++
      const of = { dialect: WIRE, type: asString(block.type) ?? '', data }
      out.push({ type: 'block-start', block: opened.number, kind: 'opaque', of })
    } else if (opened.kind === 'call' && opened.length === 0) {
      // No arguments at all are an empty object, and some providers send the whole input at the start.
      this.text(opened, argumentsText(block.input).trim() || NO_ARGUMENTS, out)
    } else if (opened.kind === 'reasoning' && opened.signature !== '') {
      const data = { signature: opened.signature, format: FORMAT }
      out.push({ type: 'block-note', block: opened.number, note: 'signature', data })
    }
    for (const citation of opened.citations)
      out.push({ type: 'block-note', block: opened.number, note: 'annotation', data: toAnnotation(citation, opened.length) })
    out.push({ type: 'block-end', block: opened.number })
  }

  stopAll(out: StreamEvent[]): void {
    for (const index of [...this.open.keys()]) this.stop(index, out)
  }

  /** Counts further text of the block that had the last one. */
  more(text: string): void {
    if (this.spoken) this.spoken.length += text.length
  }

  private text(opened: OpenBlock, text: string | undefined, out: StreamEvent[]): void {
    if (text === undefined || text === '' || opened.number === -1) return
    this.spoken = opened
    opened.length += text.length
    out.push({ type: 'block-delta', block: opened.number, text })
  }

  private startCall({ number, block }: OpenBlock, out: StreamEvent[]): void {
    this.sawCall = true
    const call = { id: asString(block.id) || `toolu_${randomTag()}`, name: asString(block.name) ?? '' }
    if (!isSpecialCall(block)) {
      out.push({ type: 'block-start', block: number, kind: 'call', call })
      return
    }
    // The input is the block's text, as of every call.
    const of = { dialect: WIRE, type: 'tool_use', data: { ...block, input: {} } }
    out.push({ type: 'block-start', block: number, kind: 'call', call, of })
  }

  /** Every thinking block is an item of its own: its signature speaks for it alone. */
  private startReasoning(opened: OpenBlock, index: number, out: StreamEvent[]): void {
    const { number, block } = opened
    out.push({ type: 'block-start', block: number, kind: 'reasoning', item: `thinking_${index}` })
    out.push({ type: 'block-note', block: number, note: 'format', data: { format: FORMAT } })
    if (block.type === 'redacted_thinking') {
      const data = { data: asString(block.data) ?? '', format: FORMAT }
      out.push({ type: 'block-note', block: number, note: 'encrypted', data })
      return
    }
    this.text(opened, asString(block.thinking), out)
    opened.signature = asString(block.signature) ?? ''
  }
}
