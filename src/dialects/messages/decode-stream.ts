/** An upstream's event stream of this wire as canonical events. */

import { Fault } from '../../core/faults.ts'
import { asObjects, asString, isObject, type Json, type JsonObject, parseJson } from '../../core/json.ts'
import { endWord, laterWord } from '../canon/ends.ts'
import { isErrorEvent } from '../canon/error-shape.ts'
import { type End, isAnother, type StreamEvent } from '../canon/events.ts'
import type { Opaque } from '../canon/request.ts'
import { noteTier } from '../canon/served-tier.ts'
import { StreamWords } from '../canon/stream-words.ts'
import type { Usage } from '../canon/usage.ts'
import { LikeFrames } from '../sse/like-frames.ts'
import type { StreamDecoder } from '../types.ts'
import { BlockDecoder } from './decode-block.ts'
import { PAUSED, toEndReason } from './ends.ts'
import { decodeFault } from './fault.ts'
import { KNOWN_EVENTS } from './known-words.ts'
import { tierIn, UsageReports } from './usage.ts'
import { OPAQUE, WIRE } from './wire.ts'

/** Members of a message that only callers of this wire are shown. */
export const MEMBERS = ['container', 'context_management', 'stop_details', 'diagnostics', 'input_transformations'] as const

/**
 * Members that stand in `message_start` and nowhere else in a stream: clients read them there alone (npm @anthropic-ai/sdk 1.14.0,
 * lib/MessageStream.js, accumulateMessage).
 */
export function decodeBeginning({ diagnostics }: JsonObject): Opaque | undefined {
  return isObject(diagnostics) ? { dialect: WIRE, type: OPAQUE.message, data: { diagnostics } } : undefined
}

/** End of a turn, from the facts of its last `message_delta` or of the whole message. */
export function decodeEnd(facts: JsonObject, usage: Json | undefined, sawCall: boolean): End {
  const raw = endWord(facts.stop_reason)
  const reason = raw === undefined ? 'stop' : toEndReason(raw)
  // Not every provider of this wire ends a turn of calls by the word for it.
  const end: End = { reason: reason === 'stop' && sawCall ? 'tool_calls' : reason }
  if (raw !== undefined) end.raw = raw
  if (raw === PAUSED) end.paused = true
  const sequence = asString(facts.stop_sequence)
  if (sequence !== undefined) end.sequence = sequence
  noteTier(end, tierIn(usage))
  return end
}

export class MessagesStreamDecoder implements StreamDecoder {
  private readonly strange = new StreamWords()
  private readonly blocks = new BlockDecoder(this.strange)
  private readonly like = new LikeFrames([])
  private started = false
  private id: Json | undefined
  private hasBlocks = false
  private over = false
  private readonly reports = new UsageReports()
  private counted = false
  /** `stop_reason`, `stop_sequence` and the members above, later ones over earlier ones. */
  private readonly facts: JsonObject = {}

  get replyId(): string | undefined {
    return asString(this.id)
  }

  feed(data: string, event: string | undefined, out: StreamEvent[]): void {
    if (this.over || data === '[DONE]') return
    const like = this.like.read(data)
    if (like?.type === 'block-delta') {
      this.blocks.more(like.text)
      out.push(like)
      return
    }
    const message = parseJson(data)
    if (!isObject(message)) {
      this.fail(new Fault('upstream_garbled'), out)
      return
    }
    const before = out.length
    this.message(message, event, out)
    // Without a type in its data the name of an event decides.
    const { type, delta } = message
    const text = typeof type === 'string' && isObject(delta) && delta.type === 'text_delta' ? delta.text : undefined
    this.like.learn(data, text, out.length === before + 1 ? out[before] : undefined)
  }

  /** One parsed event, or a whole reply made into several. */
  message(message: JsonObject, event: string | undefined, out: StreamEvent[]): void {
    if (isErrorEvent(message, event)) {
      this.fail(decodeFault(200, message), out)
      return
    }
    const index = typeof message.index === 'number' ? message.index : 0
    const type = asString(message.type) ?? event
    switch (type) {
      case 'message_start':
        this.start(isObject(message.message) ? message.message : {}, out)
        return
      case 'content_block_start':
        this.hasBlocks = true
        if (isObject(message.content_block)) {
          this.blocks.start(index, message.content_block, out)
          this.report(this.reports.block(message.content_block), out)
        }
        return
      case 'content_block_delta':
        if (isObject(message.delta)) this.blocks.delta(index, message.delta, out)
        return
      case 'content_block_stop':
        this.blocks.stop(index, out)
        return
      case 'message_delta':
        this.delta(message, out)
        return
      case 'message_stop':
        if (this.started) this.complete(out)
        else this.fail(new Fault('upstream_empty'), out)
        return
      default:
        this.strange.note('event', type, KNOWN_EVENTS)
    }
  }

  end(out: StreamEvent[]): void {
    if (this.over) return
    if (typeof this.facts.stop_reason === 'string') this.complete(out)
    else this.fail(new Fault(this.started ? 'upstream_cut' : 'upstream_empty'), out)
  }

  private start(message: JsonObject, out: StreamEvent[]): void {
    if (this.started) {
      if (this.hasBlocks && isAnother(message.id, this.id)) this.fail(new Fault('upstream_garbled'), out)
      return
    }
    this.started = true
    this.id = message.id
    this.keep(message)
    const model = asString(message.model)
    out.push(model === undefined ? { type: 'start' } : { type: 'start', model })
    const beginning = decodeBeginning(message)
    if (beginning) out.push({ type: 'opaque', of: beginning })
    this.report(this.reports.start(message.usage), out)
    this.content(message, out)
  }

  /**
   * Blocks and the end that stand in `message_start` itself: after calls of the caller's tools from code that the provider runs, a stream
   * may have nothing else before `message_stop` (programmatic tool calling).
   */
  private content({ content, stop_reason, stop_sequence, usage }: JsonObject, out: StreamEvent[]): void {
    for (const [index, block] of asObjects(content).entries()) {
      this.message({ type: 'content_block_start', index, content_block: block }, undefined, out)
      this.message({ type: 'content_block_stop', index }, undefined, out)
    }
    if (endWord(stop_reason) !== undefined) this.delta({ delta: { stop_reason, stop_sequence }, usage }, out)
  }

  private delta(message: JsonObject, out: StreamEvent[]): void {
    const delta = isObject(message.delta) ? message.delta : {}
    const word = endWord(delta.stop_reason)
    if (word !== undefined) this.facts.stop_reason = laterWord(asString(this.facts.stop_reason), word, toEndReason)
    if (typeof delta.stop_sequence === 'string') this.facts.stop_sequence = delta.stop_sequence
    this.keep(message)
    this.keep(delta)
    const usage = this.reports.delta(message.usage, word !== undefined)
    if (usage) this.counted = true
    this.report(usage, out)
  }

  private report(usage: Usage | undefined, out: StreamEvent[]): void {
    if (usage) out.push({ type: 'usage', usage })
  }

  private keep(source: JsonObject): void {
    for (const key of MEMBERS) if ((source[key] ?? null) !== null) this.facts[key] = source[key]
  }

  private complete(out: StreamEvent[]): void {
    this.over = true
    this.blocks.stopAll(out)
    const { stop_reason: _reason, stop_sequence: _sequence, ...members } = this.facts
    const data: JsonObject = this.counted ? { ...members, usage: this.reports.merged } : members
    if (Object.keys(data).length > 0) out.push({ type: 'opaque', of: { dialect: WIRE, type: OPAQUE.message, data } })
    const end = decodeEnd(this.facts, this.reports.merged, this.blocks.sawCall)
    this.strange.addTo(end)
    out.push({ type: 'end', ...end })
  }

  private fail(fault: Fault, out: StreamEvent[]): void {
    this.over = true
    out.push({ type: 'fault', fault })
  }
}
