/** Canonical items as chat messages; what belongs to one assistant turn becomes one message. */

import { isObject, type JsonObject } from '../../core/json.ts'
import { nativeObject } from '../canon/native.ts'
import type { Item, Part } from '../canon/request.ts'
import { encodeContent, joinedContent, markedContent } from './encode-parts.ts'
import { OPAQUE, REPLAYED, WIRE } from './wire.ts'

type ReasoningItem = Extract<Item, { kind: 'reasoning' }>
type CallItem = Extract<Item, { kind: 'call' }>
type ResultItem = Extract<Item, { kind: 'result' }>

const FIELD_TYPES: ReadonlySet<string> = new Set(REPLAYED.values())

/** A field of an assistant message that came with it on this wire. */
function isField(part: Part): boolean {
  return part.kind === 'opaque' && part.of.dialect === WIRE && FIELD_TYPES.has(part.of.type)
}

/** Members of an assistant message that need no text beside them. */
const MAY_STAND_ALONE = ['tool_calls', 'refusal', 'audio', 'function_call'] as const

/** Writes items into messages; `dropped` collects what this wire cannot say. */
export class MessageWriter {
  private readonly messages: JsonObject[] = []
  readonly dropped: string[] = []
  private readonly sameWire: boolean
  /** The assistant message that is still being filled. */
  private turn: JsonObject | undefined
  private calls: JsonObject[] = []
  private details: JsonObject[] = []
  /** True where the last item was a call that the gateway answers. */
  private echoed = false

  /** @param sameWire true where the caller speaks this wire too: what it replays without a format is of this wire. */
  constructor(sameWire: boolean) {
    this.sameWire = sameWire
  }

  /**
   * The messages of what was written. One with a thought alone gets an empty text: beside calls, a refusal or sound `content` may be null,
   * else it may not (github.com/openai/openai-openapi, ChatCompletionRequestAssistantMessage; Ollama 0.17.4, openai/openai.go, FromChatRequest).
   */
  finished(): JsonObject[] {
    for (const message of this.messages)
      if (message.content === null && !MAY_STAND_ALONE.some((field) => field in message)) message.content = ''
    return this.messages
  }

  write(item: Item): void {
    const echoes = item.kind === 'opaque' && item.of.dialect === WIRE && item.of.type === OPAQUE.echoed
    // The turn that called has its answers.
    if (this.echoed && !echoes) this.turn = undefined
    this.echoed = echoes
    switch (item.kind) {
      case 'message':
        this.message(item)
        return
      case 'reasoning':
        this.reasoning(item)
        return
      case 'call':
        this.functionCall(item)
        return
      case 'result':
        this.result(item)
        return
      case 'opaque':
        if (item.of.dialect !== WIRE) this.dropped.push(item.of.type)
        else if (item.of.type === OPAQUE.detail) this.detail(item.of.data)
        else if (item.of.type === OPAQUE.call) this.call(item.of.data)
        else if (echoes) this.echo(item.of.data)
        else this.dropped.push(item.of.type)
    }
  }

  private message(item: Extract<Item, { kind: 'message' }>): void {
    if (item.phase !== undefined) this.dropped.push('message.phase')
    if (item.role === 'assistant') {
      this.assistant(item.parts, item.name)
      Object.assign(this.open(), nativeObject(item, WIRE))
      return
    }
    this.turn = undefined
    const message: JsonObject = { role: item.role, content: encodeContent(item.parts, this.dropped) ?? '' }
    if (item.name !== undefined) message.name = item.name
    this.messages.push(Object.assign(message, nativeObject(item, WIRE)))
  }

  private result(item: ResultItem): void {
    this.turn = undefined
    if (item.error) this.dropped.push('tool_result.error')
    const content = encodeContent(item.parts, this.dropped) ?? ''
    const marked = item.cache && markedContent(content, item.cache)
    this.messages.push(Object.assign({ role: 'tool', tool_call_id: item.callId, content: marked ?? content }, nativeObject(item, WIRE)))
  }

  private functionCall(item: CallItem): void {
    if (item.cache) this.dropped.push('cache_control')
    const call: JsonObject = { id: item.callId, type: 'function', function: { name: item.name, arguments: item.args } }
    this.call(Object.assign(call, nativeObject(item, WIRE)))
  }

  private open(): JsonObject {
    if (this.turn) return this.turn
    this.turn = { role: 'assistant', content: null }
    this.calls = []
    this.details = []
    this.messages.push(this.turn)
    return this.turn
  }

  private assistant(parts: Part[], name: string | undefined): void {
    const spoken = this.turn !== undefined && (this.turn.content !== null || this.turn.refusal !== undefined)
    // A second message of the same turn is one of its own, unless calls wait for their results.
    if (spoken && this.calls.length === 0) this.turn = undefined
    const turn = this.open()
    const contents = parts.filter((part) => part.kind !== 'refusal' && !isField(part))
    const content = encodeContent(contents, this.dropped)
    if (content !== undefined) turn.content = turn.content === null ? content : joinedContent(turn.content, content)
    if (name !== undefined) turn.name = name
    for (const part of parts) {
      if (part.kind === 'refusal') turn.refusal = `${(turn.refusal as string | undefined) ?? ''}${part.text}`
      else if (part.kind === 'opaque' && isField(part)) Object.assign(turn, part.of.data)
    }
  }

  /** A call and its answer, which is its own arguments. */
  private echo(call: JsonObject): void {
    this.call(call)
    const { name = '', arguments: args = '' } = isObject(call.function) ? call.function : {}
    this.messages.push({ role: 'tool', tool_call_id: call.id ?? '', name, content: args })
  }

  private call(call: JsonObject): void {
    const turn = this.open()
    this.calls.push(call)
    turn.tool_calls = this.calls
  }

  private detail(detail: JsonObject): void {
    const turn = this.open()
    this.details.push(detail)
    turn.reasoning_details = this.details
  }

  private reasoning(item: ReasoningItem): void {
    // It stands in the call behind it.
    if (nativeObject(item, WIRE) !== undefined) return
    // Encrypted reasoning without a format belongs to the caller's wire; no provider of another wire could read it.
    const bound = item.encrypted !== undefined || item.signature !== undefined
    const ours = item.format !== undefined || this.sameWire
    if (bound && !ours) this.dropped.push('reasoning')
    const { text, summary } = item
    const encrypted = ours ? item.encrypted : undefined
    const signature = ours ? item.signature : undefined
    const plain = text ?? summary?.join('\n\n') ?? ''
    if (plain === '' && encrypted === undefined && signature === undefined) return
    const turn = this.open()
    if (plain !== '') turn.reasoning = `${(turn.reasoning as string | undefined) ?? ''}${plain}`
    const bare = item.id === undefined && item.format === undefined && signature === undefined && encrypted === undefined
    if (bare && summary === undefined && this.details.length === 0) return
    const base: JsonObject = {}
    if (item.id !== undefined) base.id = item.id
    if (item.format !== undefined) base.format = item.format
    for (const each of summary ?? []) this.detail({ type: 'reasoning.summary', summary: each, ...base, index: this.details.length })
    if (text !== undefined || signature !== undefined) {
      const detail: JsonObject = { type: 'reasoning.text', text: text ?? null, ...base, index: this.details.length }
      if (signature !== undefined) detail.signature = signature
      this.detail(detail)
    }
    if (encrypted !== undefined) this.detail({ type: 'reasoning.encrypted', data: encrypted, ...base, index: this.details.length })
  }
}
