/** An upstream's event stream of this wire as canonical events. */

import { Fault } from '../../core/faults.ts'
import { asObjects, asString, isObject, type Json, type JsonObject, parseJson } from '../../core/json.ts'
import { argumentsText } from '../canon/call-arguments.ts'
import { isErrorEvent } from '../canon/error-shape.ts'
import { type BlockKind, isAnother, type StreamEvent } from '../canon/events.ts'
import { StreamWords } from '../canon/stream-words.ts'
import { LikeFrames, type Varying } from '../sse/like-frames.ts'
import type { StreamDecoder } from '../types.ts'
import { FORMAT, formatNote, isCallItem, itemEvents, reasoningNotes } from './decode-output-item.ts'
import { responseEnd } from './ends.ts'
import { decodeFault } from './fault.ts'
import { ItemPlaces } from './item-places.ts'
import { noteEvent, noteItems, notePart } from './known-words.ts'
import { callMembers, canonicalAnnotation, phaseMessage } from './output-item-forms.ts'
import { restEvents } from './reply.ts'
import { decodeUsage, ShownItems } from './usage.ts'

interface OpenBlock {
  number: number
  /** True once text has come, so that a `.done` need not bring it. */
  fed: boolean
}

interface OpenItem {
  index: number
  id: string | undefined
  phase: Json | undefined
  /** The family that made the reasoning. */
  format: string
  /** By kind and index of the part. */
  blocks: Map<string, OpenBlock>
  /** True once any block of it has started. */
  begun: boolean
}

type Handler = (self: ResponsesStreamDecoder, message: JsonObject, out: StreamEvent[]) => void

/** Member of a `.done` event that holds the whole text. */
const WHOLE: Readonly<Partial<Record<BlockKind, string>>> = { refusal: 'refusal', call: 'arguments' }

const KIND_OF_PART: Readonly<Record<string, BlockKind>> = { output_text: 'text', refusal: 'refusal', reasoning_text: 'reasoning' }

/** Of a delta nothing else is read (types of openai 7.57.0, `ResponseTextDeltaEvent`). */
const VARYING: readonly Varying[] = [
  { name: 'sequence_number', last: false },
  { name: 'obfuscation', last: false },
]

/** Beginning of the event that follows `response.created`. */
const IN_PROGRESS = '{"type":"response.in_progress",'

export class ResponsesStreamDecoder implements StreamDecoder {
  private readonly items = new Map<number, OpenItem>()
  /** Of the last event: most belong to the same. */
  private current: OpenItem | undefined
  private readonly places = new ItemPlaces()
  private readonly like = new LikeFrames(VARYING)
  private readonly numbers = { next: 0 }
  private started = false
  replyId: string | undefined
  private ended = false
  private sawCall = false
  private sawItem = false
  private readonly shown = new ShownItems()
  private readonly strange = new StreamWords()
  private anything = false

  feed(data: string, event: string | undefined, out: StreamEvent[]): void {
    if (this.ended || data === '[DONE]') return
    // Once the response has begun, another event of its beginning says nothing that is read, and it may be 50 KB.
    if (this.started && !this.sawItem && data.startsWith(IN_PROGRESS)) return
    const like = this.like.hasLearnt ? this.like.read(data) : undefined
    if (like) {
      out.push(like)
      return
    }
    const message = parseJson(data)
    if (!isObject(message)) {
      this.fault(new Fault('upstream_garbled'), out)
      return
    }
    this.anything = true
    const before = out.length
    this.message(message, event, out)
    const text = message.type === 'response.output_text.delta' ? message.delta : undefined
    if (text !== undefined || this.like.hasLearnt) this.like.learn(data, text, out.length === before + 1 ? out[before] : undefined)
  }

  end(out: StreamEvent[]): void {
    if (!this.ended) this.fault(new Fault(this.anything ? 'upstream_cut' : 'upstream_empty'), out)
  }

  private message(message: JsonObject, event: string | undefined, out: StreamEvent[]): void {
    const type = typeof message.type === 'string' ? message.type : (event ?? '')
    const handler = ResponsesStreamDecoder.handlers.get(type)
    // An event of a known type reports a failure by nothing else.
    const mayFail = event === 'error' || message.object === 'error' || (message.error ?? null) !== null
    if ((!handler || mayFail) && isErrorEvent(message, event)) this.fault(decodeFault(200, message), out)
    else if (handler) handler(this, message, out)
    else noteEvent(this.strange, type)
  }

  private fault(fault: Fault, out: StreamEvent[]): void {
    this.ended = true
    out.push({ type: 'fault', fault })
  }

  private static readonly handlers: ReadonlyMap<string, Handler> = new Map<string, Handler>([
    ['response.output_text.delta', (self, message, out) => self.textDelta(message, out)],
    ['response.refusal.delta', (self, message, out) => self.delta('refusal', message, out)],
    ['response.reasoning_text.delta', (self, message, out) => self.delta('reasoning', message, out)],
    ['response.reasoning_summary_text.delta', (self, message, out) => self.delta('summary', message, out)],
    ['response.function_call_arguments.delta', (self, message, out) => self.delta('call', message, out)],
    ['response.output_text.done', (self, message, out) => self.done('text', message, out)],
    ['response.refusal.done', (self, message, out) => self.done('refusal', message, out)],
    ['response.reasoning_text.done', (self, message, out) => self.done('reasoning', message, out)],
    ['response.reasoning_summary_text.done', (self, message, out) => self.done('summary', message, out)],
    ['response.function_call_arguments.done', (self, message, out) => self.done('call', message, out)],
    ['response.output_text.annotation.added', (self, message, out) => self.annotation(message, out)],
    ['response.output_item.added', (self, message, out) => self.itemAdded(message, out)],
    ['response.output_item.done', (self, message, out) => self.itemDone(message, out)],
    ['response.content_part.added', (self, message, out) => self.partAdded(message, out)],
    ['response.content_part.done', (self, message, out) => self.partDone(message, out)],
    ['response.reasoning_summary_part.added', (self, message, out) => self.summaryAdded(message, out)],
    ['response.created', (self, message, out) => self.start(message, out)],
    ['response.queued', (self, message, out) => self.start(message, out)],
    ['response.in_progress', (self, message, out) => self.start(message, out)],
    ['response.completed', (self, message, out) => self.complete(message, out)],
    ['response.incomplete', (self, message, out) => self.complete(message, out)],
    ['response.failed', (self, message, out) => self.failed(message, out)],
    ['response.cancelled', (self, message, out) => self.failed(message, out)],
  ])

  /** True for an event whose type has a handler. */
  static reads(type: string): boolean {
    return ResponsesStreamDecoder.handlers.has(type)
  }

  private start(message: JsonObject, out: StreamEvent[]): void {
    const response = isObject(message.response) ? message.response : {}
    if (this.started) {
      if (this.sawItem && isAnother(response.id, this.replyId)) this.fault(new Fault('upstream_garbled'), out)
      return
    }
    this.started = true
    this.replyId = asString(response.id)
    const model = asString(response.model)
    out.push(model === undefined ? { type: 'start' } : { type: 'start', model })
  }

  private failed(message: JsonObject, out: StreamEvent[]): void {
    const response = isObject(message.response) ? message.response : message
    this.report(response, out)
    this.fault(decodeFault(200, response), out)
  }

  private report(response: JsonObject, out: StreamEvent[]): void {
    const usage = decodeUsage(response, this.shown)
    if (usage) out.push({ type: 'usage', usage })
  }

  private item(message: JsonObject): OpenItem {
    const { current } = this
    if (current?.id !== undefined && current.id === message.item_id) return current
    const index = this.places.of(message)
    let item = this.items.get(index)
    if (item === undefined) {
      item = { index, id: asString(message.item_id), phase: undefined, format: FORMAT, blocks: new Map(), begun: false }
      this.items.set(index, item)
    }
    this.current = item
    return item
  }

  /** The open block that a message speaks of; started here where the provider skipped the event that opens it. */
  private open(kind: BlockKind, message: JsonObject, out: StreamEvent[], item = this.item(message)): OpenBlock {
    const key = `${kind}${message.content_index ?? message.summary_index ?? 0}`
    const known = item.blocks.get(key)
    if (known) return known
    // Blocks of a reasoning item stay open until the next one or the item's end, which brings its encrypted content.
    if (kind === 'summary' || kind === 'reasoning') this.endBlocks(item, out)
    const block = { number: this.numbers.next++, fed: false }
    item.blocks.set(key, block)
    item.begun = true
    this.sawItem = true
    const of = item.phase !== undefined && (kind === 'text' || kind === 'refusal') ? phaseMessage(item.phase) : undefined
    out.push({ type: 'block-start', block: block.number, kind, item: item.id, ...(of ? { of } : {}) })
    if (kind === 'summary' || kind === 'reasoning') out.push(formatNote(block.number, item.format))
    return block
  }

  private delta(kind: BlockKind, message: JsonObject, out: StreamEvent[]): void {
    const { delta: text } = message
    // A call's name comes with its item: arguments of an item that was never added wait for its `done`.
    if (typeof text !== 'string' || text === '' || (kind === 'call' && !this.item(message).begun)) return
    const block = this.open(kind, message, out)
    block.fed = true
    out.push({ type: 'block-delta', block: block.number, text })
  }

  private textDelta(message: JsonObject, out: StreamEvent[]): void {
    const { logprobs } = message
    const content = logprobs === undefined ? [] : asObjects(logprobs)
    if (content.length > 0)
      out.push({ type: 'block-note', block: this.open('text', message, out).number, note: 'logprobs', data: { content } })
    this.delta('text', message, out)
  }

  private done(kind: BlockKind, message: JsonObject, out: StreamEvent[]): void {
    const stated = message[WHOLE[kind] ?? 'text']
    const text = kind === 'call' ? argumentsText(stated) : stated
    const item = this.item(message)
    if (typeof text !== 'string' || text === '' || (kind === 'call' && !item.begun)) return
    const block = this.open(kind, message, out, item)
    if (!block.fed) out.push({ type: 'block-delta', block: block.number, text })
    block.fed = true
  }

  private annotation(message: JsonObject, out: StreamEvent[]): void {
    if (!isObject(message.annotation)) return
    const data = canonicalAnnotation(message.annotation)
    out.push({ type: 'block-note', block: this.open('text', message, out).number, note: 'annotation', data })
  }

  private summaryAdded(message: JsonObject, out: StreamEvent[]): void {
    this.open('summary', message, out)
  }

  private partAdded(message: JsonObject, out: StreamEvent[]): void {
    const part = isObject(message.part) ? message.part : {}
    const kind = KIND_OF_PART[String(part.type)]
    if (kind === undefined) {
      notePart(this.strange, part.type)
      return
    }
    const block = this.open(kind, message, out)
    const text = typeof part.text === 'string' ? part.text : part.refusal
    if (typeof text !== 'string' || text === '') return
    block.fed = true
    out.push({ type: 'block-delta', block: block.number, text })
  }

  private partDone(message: JsonObject, out: StreamEvent[]): void {
    const item = this.item(message)
    for (const kind of ['text', 'refusal']) {
      const key = `${kind}${message.content_index ?? 0}`
      const block = item.blocks.get(key)
      if (block === undefined) continue
      item.blocks.delete(key)
      out.push({ type: 'block-end', block: block.number })
    }
  }

  private itemAdded(message: JsonObject, out: StreamEvent[]): void {
    const added = isObject(message.item) ? message.item : {}
    const item = this.item(message)
    item.id = asString(added.id) ?? item.id
    item.phase = added.phase
    item.format = asString(added.format) ?? FORMAT
    if (added.type !== 'function_call' || (added.namespace ?? null) !== null) return
    this.sawItem = true
    this.sawCall = true
    item.begun = true
    const block = { number: this.numbers.next++, fed: false }
    item.blocks.set('call0', block)
    const call = { id: asString(added.call_id) ?? item.id ?? '', name: asString(added.name) ?? '' }
    const of = callMembers(added)
    out.push({ type: 'block-start', block: block.number, kind: 'call', item: item.id, call, ...(of ? { of } : {}) })
    const text = asString(added.arguments)
    if (text) {
      block.fed = true
      out.push({ type: 'block-delta', block: block.number, text })
    }
  }

  private itemDone(message: JsonObject, out: StreamEvent[]): void {
    const done = isObject(message.item) ? message.item : {}
    const item = this.item(message)
    this.items.delete(item.index)
    this.current = undefined
    this.sawItem = true
    if (isCallItem(done)) this.sawCall = true
    const { searches, paid } = this.shown
    this.shown.done(done)
    if (this.shown.searches > searches || this.shown.paid !== paid) this.report({}, out)
    if (!item.begun) {
      noteItems(this.strange, [done])
      itemEvents(done, this.numbers, out)
      return
    }
    const [last] = [...item.blocks.values()].slice(-1)
    if (last !== undefined) {
      const text = argumentsText(done.arguments)
      if (!last.fed && done.type === 'function_call' && text) out.push({ type: 'block-delta', block: last.number, text })
      if (done.type === 'reasoning') reasoningNotes(done, last.number, out)
    }
    this.endBlocks(item, out)
  }

  private endBlocks(item: OpenItem, out: StreamEvent[]): void {
    for (const block of item.blocks.values()) out.push({ type: 'block-end', block: block.number })
    item.blocks.clear()
  }

  private complete(message: JsonObject, out: StreamEvent[]): void {
    const response = isObject(message.response) ? message.response : {}
    for (const item of this.items.values()) this.endBlocks(item, out)
    const output = asObjects(response.output)
    // Some providers send nothing but the finished object.
    if (!this.sawItem) {
      noteItems(this.strange, output)
      for (const item of output) itemEvents(item, this.numbers, out)
    }
    if (output.some(isCallItem)) this.sawCall = true
    this.report(response, out)
    restEvents(response, out)
    this.ended = true
    const end = responseEnd(response, this.sawCall)
    this.strange.addTo(end)
    out.push({ type: 'end', ...end })
  }
}
