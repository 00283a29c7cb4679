/** Canonical events as the event stream of this wire (order: docs/contract.md#responses-stream). */

import { openAiType } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import type { JsonSource } from '../../machines/json-bytes/json-source.ts'
import { binary, utf8 } from '../../machines/sse/frames.ts'
import type { StreamEvent } from '../canon/events.ts'
import type { Final, ReplyContext, StreamEncoder } from '../types.ts'
import { CALL_EVENTS, calledName, callType } from './encode-calls.ts'
import { progressFrame, wholeFrames } from './encode-output-item.ts'
import { spokenWords } from './output-item-forms.ts'
import { encodeLogprobs, isUnfinishedCall, itemSnapshot, type OutputItem, OutputItems, type Part, partSnapshot } from './output-items.ts'
import { closingBytes, type Ending, finalEnding, openingBytes, restIn } from './reply.ts'
import { DONE, eventFrame } from './wire.ts'

/** Names of the events of a part, by the kind of its block. */
const NAMES = {
  text: { delta: 'response.output_text.delta', done: 'response.output_text.done', field: 'text' },
  refusal: { delta: 'response.refusal.delta', done: 'response.refusal.done', field: 'refusal' },
  reasoning: { delta: 'response.reasoning_text.delta', done: 'response.reasoning_text.done', field: 'text' },
  summary: { delta: 'response.reasoning_summary_text.delta', done: 'response.reasoning_summary_text.done', field: 'text' },
} as const

/** Undefined for parts that no events show, such as the arguments of a search for tools. */
function eventNames({ kind, item: { call } }: Part): { delta: string; done: string; field: string } | undefined {
  return kind === 'call' ? CALL_EVENTS[callType(call)] : (NAMES as Partial<Record<string, (typeof NAMES)[keyof typeof NAMES]>>)[kind]
}

/** `response.created` and `response.in_progress`, with one character per byte. @param source of the caller's body, while it is there. */
export function openStream(ctx: ReplyContext, source?: JsonSource): string {
  const fields = `,"response":${openingBytes(ctx, source)}`
  return eventFrame(ctx, 'response.created', fields) + eventFrame(ctx, 'response.in_progress', fields)
}

/** One `response.debug` with the body that goes upstream. */
export function debugEvent(ctx: ReplyContext, upstreamBody: JsonObject): string {
  return eventFrame(ctx, 'response.debug', `,"debug":${JSON.stringify({ echo_upstream_body: upstreamBody })}`)
}

/**
 * The one terminal event and the sentinel. A failure comes as an `error` event first: OpenAI's own SDKs pass over `response.failed`. Two of
 * the three look at a nested `error` alone (npm openai 7.59.0, core/streaming.ts; PyPI openai 3.57.0, _streaming.py), which the documented
 * members stand beside.
 * @param response the object of the event, with one character per byte.
 */
export function closeStream(ctx: ReplyContext, ending: Ending, response: string): string {
  const { status, error, errorType } = ending
  let out = ''
  if (error) {
    const { code, message } = error
    const nested = { type: openAiType(errorType), code, message, param: null, metadata: { error_type: errorType } }
    const fields = `,"code":${JSON.stringify(code)},"message":${JSON.stringify(message)},"param":null,"error":${JSON.stringify(nested)}`
    out = binary(eventFrame(ctx, 'error', fields))
  }
  return `${out}${eventFrame(ctx, `response.${status}`, `,"response":${response}`)}${DONE}`
}

/** Position fields of a part as JSON text that begins with a comma. */
function position(part: Part): string {
  const place = `,"item_id":${JSON.stringify(part.item.id)},"output_index":${part.item.index}`
  if (part.kind === 'call') return place
  return part.kind === 'summary' ? `${place},"summary_index":${part.index}` : `${place},"content_index":${part.index}`
}

export class ResponsesStreamEncoder implements StreamEncoder {
  private readonly ctx: ReplyContext
  private readonly items: OutputItems
  private readonly parts = new Map<number, Part>()
  /** Log probabilities that came before the delta they belong to. */
  private pending: JsonObject[] = []
  private rest: JsonObject | undefined

  constructor(ctx: ReplyContext) {
    this.ctx = ctx
    this.items = new OutputItems(ctx)
  }

  push(events: readonly StreamEvent[]): string {
    let out = ''
    for (let i = 0; i < events.length; i++) {
      const event = events[i]
      if (event === undefined) break
      if (event.type === 'block-delta') {
        const part = this.parts.get(event.block)
        if (part === undefined || event.text === '') continue
        const next = events[i + 1]
        if (this.pending.length === 0 && next?.type === 'block-note' && next.note === 'logprobs' && next.block === event.block) {
          this.pending = encodeLogprobs(next.data)
          part.logprobs.push(...this.pending)
          i++
        }
        out += this.delta(part, event.text)
      } else if (event.type === 'block-start') out += this.start(event)
      else if (event.type === 'block-note') out += this.note(event)
      else if (event.type === 'block-end') out += this.end(event.block)
      else if (event.type === 'opaque') this.rest = { ...this.rest, ...restIn(event.of) }
    }
    return out
  }

  finish(final: Final): string {
    return utf8(this.finishBytes(final))
  }

  finishBytes(final: Final): string {
    const ending = finalEnding(final, this.items.all.length > 0)
    const status = ending.status === 'completed' ? 'completed' : 'incomplete'
    let out = ''
    for (const item of this.items.all) out += this.closeItem(item, status)
    const response = closingBytes(this.ctx, final, ending, { output: this.items.json(), rest: this.rest })
    return binary(out) + closeStream(this.ctx, ending, response)
  }

  private start(event: Extract<StreamEvent, { type: 'block-start' }>): string {
    const words = spokenWords(event)
    if (words !== undefined) return this.spoken({ ...event, kind: 'text', of: undefined }, words)
    const before = this.items.all.length
    const part = this.items.start(event)
    if (part === undefined) return ''
    this.parts.set(event.block, part)
    if (part.item.type === 'whole') return this.closeEnded(part.item) + wholeFrames(this.ctx, part.item, 'start')
    let out = ''
    if (this.items.all.length > before) {
      out = this.closeEnded(part.item)
      part.begun = false
      const snapshot = itemSnapshot(part.item, 'in_progress')
      out += eventFrame(this.ctx, 'response.output_item.added', `,"output_index":${part.item.index},"item":${JSON.stringify(snapshot)}`)
      part.begun = !part.raw
    }
    return part.begun ? out + this.open(part) : out
  }

  private spoken(event: Extract<StreamEvent, { type: 'block-start' }>, words: string): string {
    const opened = this.start(event)
    const part = this.parts.get(event.block)
    return part === undefined ? opened : opened + this.delta(part, words)
  }

  /** The events that open a part, and the text in front of its deltas. */
  private open(part: Part): string {
    const place = position(part)
    part.head = `${place},"delta":`
    if (part.kind === 'call') return ''
    const type = part.kind === 'summary' ? 'response.reasoning_summary_part.added' : 'response.content_part.added'
    return eventFrame(this.ctx, type, `${place},"part":${JSON.stringify(partSnapshot(part))}`)
  }

  private delta(part: Part, text: string): string {
    const { kind } = part
    let out = ''
    if (!part.begun) {
      this.items.begin(part)
      out = this.open(part)
    }
    if (kind === 'call') return this.callDelta(part, part.input ? part.input.push(text) : text)
    const names = eventNames(part)
    if (!names) return ''
    part.text += text
    if (kind !== 'text') return out + eventFrame(this.ctx, names.delta, part.head + JSON.stringify(text))
    const logprobs = this.pending.length === 0 ? '[]' : JSON.stringify(this.pending)
    this.pending = []
    return out + eventFrame(this.ctx, 'response.output_text.delta', `${part.head}${JSON.stringify(text)},"logprobs":${logprobs}`)
  }

  private callDelta(part: Part, text: string): string {
    part.text += text
    const names = eventNames(part)
    return names === undefined || text === '' ? '' : eventFrame(this.ctx, names.delta, part.head + JSON.stringify(text))
  }

  private note(event: Extract<StreamEvent, { type: 'block-note' }>): string {
    const part = this.parts.get(event.block)
    if (part === undefined) return ''
    if (event.note === 'progress') return progressFrame(this.ctx, part.item, event.data)
    const shown = part.annotations.length
    this.items.note(part, event.note, event.data)
    if (event.note === 'logprobs') this.pending.push(...encodeLogprobs(event.data))
    if (event.note !== 'annotation' || part.kind !== 'text' || part.annotations.length === shown) return ''
    const fields = `${position(part)},"annotation_index":${shown},"annotation":${JSON.stringify(part.annotations[shown])}`
    return eventFrame(this.ctx, 'response.output_text.annotation.added', fields)
  }

  private end(block: number): string {
    const part = this.parts.get(block)
    if (part === undefined) return ''
    this.parts.delete(block)
    const { item } = part
    item.open--
    if (item.type === 'whole') {
      this.items.close(item, 'completed')
      return wholeFrames(this.ctx, item, 'end')
    }
    const out = this.endPart(part)
    // The last item stays open: only the end of the reply shows whether it is complete.
    return item.open === 0 && item !== this.items.all.at(-1) ? out + this.closeItem(item, 'completed') : out
  }

  private endPart(part: Part): string {
    const { kind } = part
    const names = eventNames(part)
    if (part.ended || !part.begun) return ''
    part.ended = true
    const rest = part.input ? this.callDelta(part, part.input.end()) : ''
    if (!names) return ''
    this.pending = []
    const place = position(part)
    let fields = `${place},"${names.field}":${JSON.stringify(part.text)}`
    if (kind === 'text') fields += `,"logprobs":${JSON.stringify(part.logprobs)}`
    if (part.item.type === 'function_call') fields += `,"name":${JSON.stringify(calledName(part.item.call))}`
    const out = eventFrame(this.ctx, names.done, fields)
    if (kind === 'call') return rest + out
    const type = kind === 'summary' ? 'response.reasoning_summary_part.done' : 'response.content_part.done'
    return out + eventFrame(this.ctx, type, `${place},"part":${JSON.stringify(partSnapshot(part))}`)
  }

  /** Items before this one whose blocks have all ended are complete. */
  private closeEnded(current: OutputItem): string {
    const previous = this.items.all[current.index - 1]
    return previous !== undefined && previous.open === 0 ? this.closeItem(previous, 'completed') : ''
  }

  private closeItem(item: OutputItem, status: 'completed' | 'incomplete'): string {
    if (item.closed) return ''
    if (item.type === 'whole') {
      this.items.close(item, status)
      return wholeFrames(this.ctx, item, 'end')
    }
    if (isUnfinishedCall(item, status)) {
      this.items.close(item, 'incomplete')
      return ''
    }
    let out = ''
    for (const part of item.parts) out += this.endPart(part)
    this.items.close(item, status)
    return out + eventFrame(this.ctx, 'response.output_item.done', `,"output_index":${item.index},"item":${item.json}`)
  }
}
