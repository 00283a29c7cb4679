/** Canonical items as chat messages; what belongs to one assistant turn becomes one message. */
import type { Item, Part } from '../../canon/request.ts'
import type { JsonObject } from '../../core/json.ts'
import { OPAQUE, WIRE } from './wire.ts'

type Media = Extract<Part, { kind: 'media' }>
type ReasoningItem = Extract<Item, { kind: 'reasoning' }>

function withCache(part: JsonObject, source: { cache?: { ttl?: string } }): JsonObject {
  if (source.cache) part.cache_control = source.cache.ttl ? { type: 'ephemeral', ttl: source.cache.ttl } : { type: 'ephemeral' }
  return part
}

function encodeMedia(part: Media): JsonObject {
  switch (part.media) {
    case 'image': {
      const image: JsonObject = { url: part.url ?? '' }
      if (part.detail !== undefined) image.detail = part.detail
      return { type: 'image_url', image_url: image }
    }
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } }
    case 'video':
      return { type: 'video_url', video_url: { url: part.url } }
    case 'file': {
      const file: JsonObject = {}
      const data = part.url ?? part.data
      if (data !== undefined) file.file_data = data
      if (part.fileId !== undefined) file.file_id = part.fileId
      if (part.name !== undefined) file.filename = part.name
      return { type: 'file', file }
    }
  }
}

/** Writes items into messages; `dropped` collects what this wire cannot say. */
export class MessageWriter {
  readonly messages: JsonObject[] = []
  readonly dropped: string[] = []
  /** The assistant message that is still being filled. */
  private turn: JsonObject | undefined
  private calls: JsonObject[] = []
  private details: JsonObject[] = []

  write(item: Item): void {
    switch (item.kind) {
      case 'message':
        if (item.role === 'assistant') this.assistant(item.parts, item.name)
        else {
          this.turn = undefined
          const message: JsonObject = { role: item.role, content: this.content(item.parts) ?? '' }
          if (item.name !== undefined) message.name = item.name
          this.messages.push(message)
        }
        return
      case 'reasoning':
        this.reasoning(item)
        return
      case 'call':
        this.call({ id: item.callId, type: 'function', function: { name: item.name, arguments: item.args } })
        return
      case 'result':
        this.turn = undefined
        if (item.error) this.dropped.push('tool_result.error')
        this.messages.push({ role: 'tool', tool_call_id: item.callId, content: this.content(item.parts) ?? '' })
        return
      case 'opaque':
        if (item.of.dialect !== WIRE) this.dropped.push(item.of.type)
        else if (item.of.type === OPAQUE.detail) this.detail(item.of.data)
        else if (item.of.type === 'tool_call') this.call(item.of.data)
        else this.dropped.push(item.of.type)
    }
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
    const said = parts.filter((part) => part.kind !== 'refusal' && !isField(part))
    const content = this.content(said)
    if (content !== undefined) turn.content = turn.content === null ? content : joined(turn.content, content)
    if (name !== undefined) turn.name = name
    for (const part of parts) {
      if (part.kind === 'refusal') turn.refusal = `${(turn.refusal as string | undefined) ?? ''}${part.text}`
      else if (part.kind === 'opaque' && isField(part)) Object.assign(turn, part.of.data)
    }
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
    const turn = this.open()
    const plain = item.text ?? item.summary?.join('\n\n') ?? ''
    if (plain !== '') turn.reasoning = `${(turn.reasoning as string | undefined) ?? ''}${plain}`
    const bare = item.id === undefined && item.format === undefined && item.signature === undefined && item.sealed === undefined
    if (bare && item.summary === undefined && this.details.length === 0) return
    const base: JsonObject = {}
    if (item.id !== undefined) base.id = item.id
    if (item.format !== undefined) base.format = item.format
    for (const summary of item.summary ?? []) this.detail({ type: 'reasoning.summary', summary, ...base, index: this.details.length })
    if (item.text !== undefined || item.signature !== undefined) {
      const detail: JsonObject = { type: 'reasoning.text', text: item.text ?? null, ...base, index: this.details.length }
      if (item.signature !== undefined) detail.signature = item.signature
      this.detail(detail)
    }
    if (item.sealed !== undefined) this.detail({ type: 'reasoning.encrypted', data: item.sealed, ...base, index: this.details.length })
  }

  /** A lone text as a string, anything else as parts; undefined where there is nothing. */
  private content(parts: Part[]): string | JsonObject[] | undefined {
    const [first] = parts
    if (first === undefined) return undefined
    if (parts.length === 1 && first.kind === 'text' && first.cache === undefined) return first.text
    const out: JsonObject[] = []
    for (const part of parts) {
      if (part.kind === 'text') out.push(withCache({ type: 'text', text: part.text }, part))
      else if (part.kind === 'media') {
        // A file that only another provider holds has no form here.
        if (part.media === 'image' && part.url === undefined) this.dropped.push('input_image.file_id')
        else out.push(withCache(encodeMedia(part), part))
      } else if (part.kind === 'refusal') out.push({ type: 'refusal', refusal: part.text })
      else if (part.of.dialect === WIRE) out.push(part.of.data)
      else this.dropped.push(part.of.type)
    }
    return out
  }
}

function isField(part: Part): boolean {
  return part.kind === 'opaque' && part.of.dialect === WIRE && part.of.type === OPAQUE.field
}

function joined(before: unknown, after: string | JsonObject[]): string | JsonObject[] {
  if (typeof before === 'string' && typeof after === 'string') return before + after
  const parts = (content: unknown): JsonObject[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : (content as JsonObject[])
  return [...parts(before), ...parts(after)]
}
