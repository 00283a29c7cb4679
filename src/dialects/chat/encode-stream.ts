/** Canonical events as chat chunks. */

import type { JsonObject } from '../../core/json.ts'
import { quote } from '../../core/quote.ts'
import { CallSignatures } from '../canon/call-signature.ts'
import { type BlockKind, MEMBERS, type StreamEvent } from '../canon/events.ts'
import { InputText } from '../canon/input-text.ts'
import type { Final, ReplyContext, StreamEncoder } from '../types.ts'
import { nestedAnnotation } from './annotations.ts'
import { hidesReasoning } from './check.ts'
import { isCustomCall } from './client-tools.ts'
import { encodeAudio, encodeImage } from './media.ts'
import { chunkHead, closingChunks, LateMembers } from './reply.ts'
import { encryptedDetail, noteDetail, serverDetail } from './reply-parts.ts'
import { OPAQUE, WIRE } from './wire.ts'

type Start = Extract<StreamEvent, { type: 'block-start' }>
type Note = Extract<StreamEvent, { type: 'block-note' }>

interface OpenBlock {
  kind: BlockKind
  /** Of a call: its position among the calls. Of reasoning: its position among the details. */
  index: number
  /** JSON text around the text of a delta. */
  before: string
  after: string
  format: string | undefined
  /** Of reasoning: the identifier that its provider gave it. */
  item: string | undefined
  /** Reasoning that the caller excluded. */
  hidden: boolean
  /** Of a text: characters of content in front of it. */
  place: number
  /** Reads the free text of a custom tool out of its arguments. */
  input: InputText | undefined
}

const TAIL = ',"finish_reason":null,"native_finish_reason":null}]}\n\n'

/** Joined with the name of the first piece it changes nothing. */
const NO_NAME = '"name":"",'

export class ChatStreamEncoder implements StreamEncoder {
  private readonly ctx: ReplyContext
  private readonly hide: boolean
  private readonly blocks = new Map<number, OpenBlock>()
  private readonly signatures = new CallSignatures()
  private readonly late = new LateMembers()
  private head = ''
  private model = ''
  private provider = ''
  private calls = 0
  private details = 0
  private roleSent = false
  /** Characters of content so far. */
  private written = 0
  private fingerprint: string | undefined

  constructor(ctx: ReplyContext) {
    this.ctx = ctx
    this.hide = hidesReasoning(ctx.body)
  }

  push(events: readonly StreamEvent[]): string {
    let out = ''
    for (let i = 0; i < events.length; i++) {
      const event = events[i]
      if (event === undefined) break
      if (event.type === 'block-delta') {
        const next = events[i + 1]
        const merged = next?.type === 'block-note' && next.note === 'logprobs' && next.block === event.block
        if (merged) i++
        out += this.text(event.block, event.text, merged ? next : undefined)
      } else if (event.type === 'block-start') out += this.start(event)
      else if (event.type === 'block-note') out += this.note(event)
      else if (event.type === 'block-end') out += this.end(event.block)
      else if (event.type === 'opaque') out += this.opaque(event.of)
      else if (event.type === 'start') this.fingerprint = event.fingerprint
    }
    return out
  }

  finish(final: Final): string {
    const delta = this.roleSent ? '{}' : '{"role":"assistant","content":""}'
    return closingChunks(this.ctx, final, chunkHead(this.ctx, this.ctx.created), {
      delta,
      rest: '',
      members: this.late.text(final.end.fingerprint ?? this.fingerprint),
    })
  }

  /** One chunk around the members of a delta; the first one holds the role. */
  private chunk(members: string, logprobs = ''): string {
    const { ctx } = this
    if (this.model !== ctx.model || this.provider !== ctx.provider) {
      this.model = ctx.model
      this.provider = ctx.provider
      this.head = `${chunkHead(ctx, ctx.created)},"choices":[{"index":0,"delta":{`
    }
    if (this.roleSent) return `${this.head}${members}}${logprobs}${TAIL}`
    this.roleSent = true
    return `${this.head}"role":"assistant",${members}}${logprobs}${TAIL}`
  }

  private start(event: Start): string {
    const block: OpenBlock = {
      kind: event.kind,
      index: -1,
      before: '',
      after: '',
      format: undefined,
      item: event.item,
      hidden: false,
      place: this.written,
      input: undefined,
    }
    this.blocks.set(event.block, block)
    switch (event.kind) {
      case 'text':
        block.before = '"content":'
        return ''
      case 'refusal':
        block.before = '"refusal":'
        return ''
      case 'reasoning':
      case 'summary':
        block.hidden = this.hide
        return ''
      case 'call':
        block.index = this.calls++
        if (isCustomCall(event.call)) return this.custom(event, block)
        block.before = `"tool_calls":[{"index":${block.index},"function":{${this.ctx.demanding === true ? NO_NAME : ''}"arguments":`
        block.after = '}}]'
        return this.call(event, block.index)
      default:
        return this.whole(event)
    }
  }

  private custom({ call }: Start, block: OpenBlock): string {
    const { index } = block
    block.input = new InputText()
    block.before = `"tool_calls":[{"index":${index},"custom":{"input":`
    block.after = '}}]'
    const signed = this.signatures.signedMembers(call?.id)
    const others = signed === undefined ? '' : `,${JSON.stringify(signed).slice(1, -1)}`
    const name = JSON.stringify(call?.name ?? '')
    return this.chunk(
      `"tool_calls":[{"index":${index},"id":${JSON.stringify(call?.id ?? '')},"type":"custom","custom":{"name":${name},"input":""}${others}}]`,
    )
  }

  private call({ call, of }: Start, index: number): string {
    const id = JSON.stringify(call?.id ?? '')
    const name = JSON.stringify(call?.name ?? '')
    const own = of?.dialect === WIRE && of.type === OPAQUE.call ? of.data : this.signatures.signedMembers(call?.id)
    const others = own === undefined ? '' : `,${JSON.stringify(own).slice(1, -1)}`
    return this.chunk(`"tool_calls":[{"index":${index},"id":${id},"type":"function","function":{"name":${name},"arguments":""}${others}}]`)
  }

  /** Blocks that come in one piece. */
  private whole(event: Start): string {
    if (event.of === undefined) return ''
    if (event.kind === 'opaque' && event.of.dialect === WIRE && event.of.type === OPAQUE.call)
      return this.chunk(`"tool_calls":[${JSON.stringify({ index: this.calls++, ...event.of.data })}]`)
    if (event.kind === 'server') return this.chunk(`"reasoning_details":[${JSON.stringify(serverDetail(event.of, this.details++))}]`)
    if (event.kind !== 'media') return ''
    const image = encodeImage(event.of)
    if (image) return this.chunk(`"images":[${JSON.stringify(image)}]`)
    const audio = encodeAudio(event.of, this.ctx)
    return audio ? this.chunk(`"audio":${JSON.stringify(audio)}`) : ''
  }

  private text(number: number, text: string, logprobs: Note | undefined): string {
    const block = this.blocks.get(number)
    if (block === undefined || text === '' || block.hidden) return ''
    if (block.kind === 'reasoning' || block.kind === 'summary') return this.thought(block, text)
    if (block.before === '') return ''
    if (block.kind === 'text') this.written += text.length
    if (block.input) return this.piece(block, block.input.push(text))
    return this.chunk(block.before + quote(text) + block.after, logprobs && `,"logprobs":${JSON.stringify(logprobs.data)}`)
  }

  private piece({ before, after }: OpenBlock, text: string): string {
    return text === '' ? '' : this.chunk(before + quote(text) + after)
  }

  private end(number: number): string {
    const block = this.blocks.get(number)
    this.blocks.delete(number)
    return block?.input ? this.piece(block, block.input.end()) : ''
  }

  private thought(block: OpenBlock, text: string): string {
    if (block.index === -1) this.detail(block)
    const quoted = quote(text)
    return this.chunk(`"reasoning":${quoted},"reasoning_details":[${block.before}${quoted}${block.after}]`)
  }

  /** Numbers a block among the details, once it writes its first one. */
  private detail(block: OpenBlock): void {
    block.index = this.details++
    this.frame(block)
  }

  private frame(block: OpenBlock): void {
    const format = block.format === undefined ? '' : `,"format":${JSON.stringify(block.format)}`
    block.before = block.kind === 'summary' ? '{"type":"reasoning.summary","summary":' : '{"type":"reasoning.text","text":'
    const id = block.item === undefined ? '' : `,"id":${JSON.stringify(block.item)}`
    block.after = `${id}${format},"index":${block.index}}`
  }

  private note(event: Note): string {
    const block = this.blocks.get(event.block)
    if (event.note === 'encrypted') this.signatures.take(event.data)
    if (block === undefined || block.hidden) return ''
    switch (event.note) {
      case 'progress':
      case 'outcome':
        return ''
      case 'annotation': {
        const annotation = nestedAnnotation(event.data, block.kind === 'text' ? block.place : 0)
        return annotation === undefined ? '' : this.chunk(`"annotations":[${JSON.stringify(annotation)}]`)
      }
      case 'logprobs':
        return this.chunk('"content":""', `,"logprobs":${JSON.stringify(event.data)}`)
      case 'format':
        if (typeof event.data.format === 'string') block.format = event.data.format
        if (block.index !== -1) this.frame(block)
        return ''
      case 'signature': {
        if (block.index === -1) this.detail(block)
        return this.chunk(`"reasoning_details":[${JSON.stringify(noteDetail(event.data, block))}]`)
      }
      case 'encrypted':
        return this.chunk(`"reasoning_details":[${JSON.stringify(encryptedDetail(event.data, block.format, this.details++))}]`)
    }
  }

  private opaque(of: { dialect: string; type: string; data: JsonObject }): string {
    if (of.dialect !== WIRE) return ''
    if (of.type === MEMBERS) this.late.keep(of.data, this.ctx.brand)
    if (of.type === OPAQUE.field) return this.chunk(JSON.stringify(of.data).slice(1, -1))
    if (of.type === OPAQUE.detail && !this.hide) return this.chunk(`"reasoning_details":[${JSON.stringify(of.data)}]`)
    return ''
  }
}
