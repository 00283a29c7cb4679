/** Decodes the deltas of one chat reply to canonical blocks of every kind; a whole message is one large delta. */
import { entryAt } from '../../core/entry-at.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { isWholeObject } from '../canon/call-arguments.ts'
import type { BlockKind, NoteKind, StreamEvent } from '../canon/events.ts'
import { otherMembers } from '../canon/native.ts'
import type { Opaque } from '../canon/request.ts'
import { StreamWords } from '../canon/stream-words.ts'
import { flatAnnotation } from './annotations.ts'
import { type CallSlot, ToolCalls } from './call-fragments.ts'
import { audioAnswer, imageAnswer, joinAudio } from './media.ts'
import { dropEmptyMembers } from './reply.ts'
import type { Sources } from './sources.ts'
import { BUILTIN, BUILTIN_SEARCH } from './web-search.ts'
import { OPAQUE, WIRE } from './wire.ts'

const KNOWN: ReadonlySet<string> = new Set([
  'role',
  'content',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'refusal',
  'tool_calls',
  'function_call',
  'annotations',
  'images',
  'audio',
])

/** Parts of content; Mistral's references to sources are passed over (npm @mistralai/mistralai 2.7.0, `ContentChunk`). */
const KNOWN_PARTS: ReadonlySet<string> = new Set(['text', 'image_url', 'thinking', 'reference', 'document_url', 'input_audio', 'file'])

const NO_WORDS: ReadonlySet<string> = new Set()

/** The reasoning block that is open, as far as later details must know it. */
interface OpenReasoning {
  index: unknown
  id: unknown
  format: unknown
  /** A signature or encrypted data ends what may still join the block. */
  signed: boolean
  encrypted: boolean
}

interface CallBlock {
  /** -1 until its name is known. */
  block: number
  ended: boolean
  /** Members of its first fragment that the canon has no word for. */
  others: JsonObject | undefined
  /** A call that is none of a function, as far as it has come. */
  whole: JsonObject | undefined
}

const CALL_KNOWN: ReadonlySet<string> = new Set(['index', 'id', 'type', 'function'])

const filled = (value: unknown): value is string => typeof value === 'string' && value !== ''

export class DeltaReader {
  private next = 0
  private block = -1
  private kind: BlockKind | undefined
  private thought: OpenReasoning | undefined
  private readonly calls = new ToolCalls()
  private readonly callBlocks: CallBlock[] = []
  private audio: JsonObject | undefined
  /** Parts that nothing knows. */
  readonly strange = new StreamWords()
  private readonly sources: Sources
  /** Of the open text: its length, the end of the last place that cites something, and, where numbers in it are looked for, the text. */
  private length = 0
  private citedTo = 0
  private text = ''

  constructor(sources: Sources) {
    this.sources = sources
  }

  /** True once any content has come. */
  get hasBegun(): boolean {
    return this.next > 0
  }

  get hasCalls(): boolean {
    return this.callBlocks.length > 0
  }

  read(delta: JsonObject, logprobs: Json | undefined, out: StreamEvent[]): void {
    dropEmptyMembers(delta)
    if (delta.reasoning_details || delta.reasoning || delta.reasoning_content) this.readReasoning(delta, out)
    const { content } = delta
    if (delta.executed_tools) this.sources.readTools(delta.executed_tools)
    if (typeof content === 'string') {
      if (content !== '') this.say(content, out)
    } else if (Array.isArray(content)) this.readParts(content as JsonObject[], out)
    if (filled(delta.refusal)) out.push({ type: 'block-delta', block: this.turn('refusal', out), text: delta.refusal })
    if (isObject(logprobs)) this.readLogprobs(logprobs, out)
    if (Array.isArray(delta.annotations)) {
      for (const each of delta.annotations) if (isObject(each)) this.note(this.turn('text', out), 'annotation', flatAnnotation(each), out)
    }
    if (Array.isArray(delta.tool_calls)) for (const call of delta.tool_calls) if (isObject(call)) this.readCall(call, out)
    if (isObject(delta.function_call)) this.readCall({ index: 0, function: delta.function_call }, out)
    if (Array.isArray(delta.images)) for (const image of delta.images) if (isObject(image)) this.whole('media', imageAnswer(image), out)
    if (isObject(delta.audio)) this.audio = joinAudio(this.audio, delta.audio)
    for (const key in delta) if (!KNOWN.has(key)) this.unknown(key, delta[key], out)
  }

  private say(text: string, out: StreamEvent[]): void {
    out.push({ type: 'block-delta', block: this.turn('text', out), text })
    this.passed(text)
  }

  /** Text that has gone out, of this reader or past it. */
  passed(text: string): void {
    this.length += text.length
    if (this.sources.areNumbered) this.text += text
  }

  /** Closes everything that is open, in the order in which it was opened. */
  close(out: StreamEvent[]): void {
    this.endBlock(out)
    for (const [index, call] of this.callBlocks.entries()) {
      if (call.ended) continue
      const slot = entryAt(this.calls.slots, index)
      if (call.whole) {
        this.whole('opaque', { dialect: WIRE, type: OPAQUE.call, data: { ...call.whole, id: slot.id } }, out)
        continue
      }
      if (this.isEchoed(slot)) {
        const { id, name, args } = slot
        const data: JsonObject = { id, type: BUILTIN, function: { name, arguments: args } }
        this.whole('opaque', { dialect: WIRE, type: OPAQUE.echoed, data }, out)
        continue
      }
      if (call.block === -1) this.startCall(call, slot, out)
      out.push({ type: 'block-end', block: call.block })
    }
    if (this.audio) this.whole('media', audioAnswer(this.audio), out)
    this.audio = undefined
  }

  private start(kind: BlockKind, out: StreamEvent[], more?: { item?: string; of?: Opaque; call?: { id: string; name: string } }): number {
    const block = this.next++
    out.push({ type: 'block-start', block, kind, ...more })
    return block
  }

  /** The open block of this kind; another kind of speech ends the one before. */
  private turn(kind: 'text' | 'refusal' | 'reasoning' | 'summary', out: StreamEvent[], id?: unknown): number {
    if (this.kind === kind) return this.block
    this.endBlock(out)
    this.length = 0
    this.citedTo = 0
    this.text = ''
    this.kind = kind
    this.block = this.start(kind, out, filled(id) ? { item: id } : undefined)
    return this.block
  }

  private endBlock(out: StreamEvent[]): void {
    if (this.kind === undefined) return
    if (this.kind === 'text') for (const data of this.sources.annotations(this.text)) this.note(this.block, 'annotation', data, out)
    out.push({ type: 'block-end', block: this.block })
    this.kind = undefined
    this.thought = undefined
  }

  private note(block: number, note: NoteKind, data: JsonObject, out: StreamEvent[]): void {
    out.push({ type: 'block-note', block, note, data })
  }

  /** A block that comes in one piece. */
  private whole(kind: 'media' | 'server' | 'opaque', of: Opaque, out: StreamEvent[]): void {
    const block = this.start(kind, out, { of })
    out.push({ type: 'block-end', block })
  }

  private unknown(key: string, value: Json | undefined, out: StreamEvent[]): void {
    const empty = value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
    if (!empty) out.push({ type: 'opaque', of: { dialect: WIRE, type: OPAQUE.field, data: { [key]: value } } })
  }

  private readParts(parts: JsonObject[], out: StreamEvent[]): void {
    for (const part of parts) {
      if (part.type === 'thinking') {
        const pieces = Array.isArray(part.thinking) ? (part.thinking as JsonObject[]).map((each) => each.text) : [part.thinking]
        for (const text of pieces) if (filled(text)) out.push({ type: 'block-delta', block: this.turn('reasoning', out), text })
      } else if (filled(part.text)) this.say(part.text, out)
      else if (isObject(part.image_url)) this.whole('media', imageAnswer(part), out)
      else if (!this.cite(part, out)) this.strange.note('part', part.type, KNOWN_PARTS)
    }
  }

  /** A part that names the sources of the text in front of it. */
  private cite(part: JsonObject, out: StreamEvent[]): boolean {
    const from = this.kind === 'text' ? this.citedTo : 0
    const to = this.kind === 'text' ? this.length : 0
    const found = this.sources.references(part, from, to)
    if (found === undefined) return false
    for (const data of found) this.note(this.turn('text', out), 'annotation', data, out)
    this.citedTo = to
    return true
  }

  private readLogprobs(logprobs: JsonObject, out: StreamEvent[]): void {
    const { content, refusal } = logprobs
    if (Array.isArray(content) && content.length > 0) this.note(this.turn('text', out), 'logprobs', { content }, out)
    if (Array.isArray(refusal) && refusal.length > 0) this.note(this.turn('refusal', out), 'logprobs', { refusal }, out)
  }

  private readReasoning(delta: JsonObject, out: StreamEvent[]): void {
    const details = Array.isArray(delta.reasoning_details) ? (delta.reasoning_details as JsonObject[]).filter(isObject) : []
    // Providers that send both say the same in both.
    const spoken = details.some((detail) => filled(detail.text) || filled(detail.summary))
    const plain = filled(delta.reasoning) ? delta.reasoning : delta.reasoning_content
    if (!spoken && filled(plain)) out.push({ type: 'block-delta', block: this.turn('reasoning', out), text: plain })
    for (const detail of details) this.readDetail(detail, out)
  }

  private readDetail(detail: JsonObject, out: StreamEvent[]): void {
    switch (detail.type) {
      case 'reasoning.text':
        this.think('reasoning', detail, out)
        return
      case 'reasoning.summary':
        this.think('summary', detail, out)
        return
      case 'reasoning.encrypted':
        this.addEncrypted(detail, out)
        return
      case 'reasoning.server_tool_call':
        this.whole('server', { dialect: WIRE, type: String(detail.tool_name), data: detail }, out)
        return
      default:
        this.strange.note('part', detail.type, NO_WORDS)
        out.push({ type: 'opaque', of: { dialect: WIRE, type: OPAQUE.detail, data: detail } })
    }
  }

  private think(kind: 'reasoning' | 'summary', detail: JsonObject, out: StreamEvent[]): void {
    const text = kind === 'summary' ? detail.summary : detail.text
    const { thought } = this
    const other = thought && detail.index !== undefined && thought.index !== undefined && detail.index !== thought.index
    if (thought && filled(text) && (other || thought.signed || thought.encrypted)) this.endBlock(out)
    if (!this.thought || filled(text)) this.enter(kind, detail, out)
    this.formatNote(detail, out)
    if (filled(text)) out.push({ type: 'block-delta', block: this.block, text })
    if (filled(detail.signature)) {
      this.note(this.block, 'signature', withFormat({ signature: detail.signature }, detail), out)
      if (this.thought) this.thought.signed = true
    }
  }

  private addEncrypted(detail: JsonObject, out: StreamEvent[]): void {
    if (!filled(detail.data)) return
    const { thought } = this
    const other = thought && ((filled(thought.id) && filled(detail.id) && thought.id !== detail.id) || thought.encrypted)
    if (other) this.endBlock(out)
    if (this.kind !== 'reasoning' && this.kind !== 'summary') this.enter('reasoning', detail, out)
    this.formatNote(detail, out)
    const data: JsonObject = { data: detail.data }
    if (filled(detail.id)) data.id = detail.id
    this.note(this.block, 'encrypted', withFormat(data, detail), out)
    if (this.thought) this.thought.encrypted = true
  }

  private enter(kind: 'reasoning' | 'summary', detail: JsonObject, out: StreamEvent[]): void {
    this.turn(kind, out, detail.id)
    this.thought ??= { index: detail.index, id: detail.id, format: undefined, signed: false, encrypted: false }
  }

  private formatNote(detail: JsonObject, out: StreamEvent[]): void {
    if (!filled(detail.format) || !this.thought || this.thought.format === detail.format) return
    this.thought.format = detail.format
    this.note(this.block, 'format', { format: detail.format }, out)
  }

  private readCall(fragment: JsonObject, out: StreamEvent[]): void {
    const { slot, fresh, text } = this.calls.resolve(fragment)
    if (fresh) {
      this.endBlock(out)
      for (const [index, before] of this.callBlocks.entries()) this.endWhole(before, entryAt(this.calls.slots, index), out)
      this.callBlocks.push({ block: -1, ended: false, others: otherMembers(fragment, CALL_KNOWN), whole: undefined })
    }
    const call = this.callBlocks[slot.index]
    if (call === undefined) throw new RangeError(`no block for call ${slot.index}`)
    if (call.whole || (fragment.type !== undefined && fragment.type !== 'function' && !isObject(fragment.function))) {
      call.whole = joinCall(call.whole, fragment)
      return
    }
    this.sources.readCall(slot.name, slot.index)
    if (this.isEchoed(slot)) return
    if (call.block === -1) {
      // With its first fragment a call brings all that has come of it.
      if (slot.name !== '') this.startCall(call, slot, out)
    } else if (text !== '' && !call.ended) out.push({ type: 'block-delta', block: call.block, text })
  }

  private isEchoed({ name }: CallSlot): boolean {
    return this.sources.echoesSearch && name === BUILTIN_SEARCH
  }

  /** True where the answer has calls, and all of them are the gateway's to answer. */
  get isPaused(): boolean {
    return this.hasCalls && this.calls.slots.every((slot) => this.isEchoed(slot))
  }

  /**
   * Ends a call whose arguments are complete once the next one begins: agents take the arguments of a call that is still open
   * for the next one's. Providers that send several calls at once go on with one whose arguments are not complete.
   */
  private endWhole(call: CallBlock, slot: CallSlot, out: StreamEvent[]): void {
    if (call.ended || call.block === -1 || !isWholeObject(slot.args)) return
    call.ended = true
    out.push({ type: 'block-end', block: call.block })
  }

  private startCall(call: CallBlock, slot: CallSlot, out: StreamEvent[]): void {
    const { others } = call
    const of = others && { dialect: WIRE, type: OPAQUE.call, data: others }
    call.block = this.start('call', out, { call: { id: slot.id, name: slot.name }, ...(of ? { of } : {}) })
    if (slot.args !== '') out.push({ type: 'block-delta', block: call.block, text: slot.args })
  }
}

function withFormat(data: JsonObject, detail: JsonObject): JsonObject {
  if (filled(detail.format)) data.format = detail.format
  return data
}

/** A call of another type, such as `custom`, comes in pieces too: texts of the member named like its type grow. */
function joinCall(before: JsonObject | undefined, { index: _index, ...piece }: JsonObject): JsonObject {
  const type = String(before?.type ?? piece.type)
  const old = before?.[type]
  const more = piece[type]
  if (!isObject(old) || !isObject(more)) return { ...piece, ...before, [type]: old ?? more }
  const joined: JsonObject = { ...more, ...old }
  for (const key in more) if (typeof old[key] === 'string' && typeof more[key] === 'string') joined[key] = `${old[key]}${more[key]}`
  return { ...before, [type]: joined }
}
