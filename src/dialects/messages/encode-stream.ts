/** Canonical events as the event stream of this wire. */

import type { JsonObject } from '../../core/json.ts'
import { quote } from '../../core/quote.ts'
import { CallSignatures } from '../canon/call-signature.ts'
import type { BlockKind, StreamEvent } from '../canon/events.ts'
import type { Opaque } from '../canon/request.ts'
import type { Final, ReplyContext, StreamEncoder } from '../types.ts'
import { toCitation } from './citations.ts'
import { expectsThinking, hidesThinking } from './decode-request.ts'
import { faultBody } from './fault-body.ts'
import { gatewayToolBlocks } from './gateway-tools.ts'
import { Thought } from './reasoning-block.ts'
import { closeStream, failureIn, OwnMembers } from './reply.ts'
import { ownBlock, redactedBlock, textBlock, thinkingBlock, toolUseBlock, wholeBlock } from './reply-blocks.ts'
import { eventFrame } from './wire.ts'

type Start = Extract<StreamEvent, { type: 'block-start' }>
type BlockEvent = Exclude<StreamEvent, { type: 'start' | 'usage' | 'end' | 'fault' | 'opaque' }>

interface Track {
  readonly number: number
  readonly kind: BlockKind
  readonly call: { id: string; name: string } | undefined
  readonly of: Opaque | undefined
  /** Of reasoning and summaries. */
  readonly thought: Thought | undefined
  /** JSON text before a delta's own text; '' until its block has begun. */
  head: string
  /** White space that a text begins with, as long as nothing else has come of it: Anthropic refuses a text block of nothing else. */
  blank: string
  /** Events that wait until the blocks in front have ended. */
  readonly waiting: BlockEvent[]
}

/** Type of the deltas, and the member that holds their text. */
const DELTAS: Readonly<Partial<Record<BlockKind, readonly [type: string, member: string]>>> = {
  text: ['text_delta', 'text'],
  refusal: ['text_delta', 'text'],
  reasoning: ['thinking_delta', 'thinking'],
  summary: ['thinking_delta', 'thinking'],
  call: ['input_json_delta', 'partial_json'],
}

/**
 * Blocks of this wire come strictly one after another, while canonical ones may overlap: the block in front is written
 * as it comes, those behind it wait. A block without any content is left out.
 */
export class MessagesStreamEncoder implements StreamEncoder {
  private readonly ctx: ReplyContext
  private readonly hide: boolean
  /** Signatures of calls, where the caller does not expect thinking and gets them with the calls. A text has begun before its own comes. */
  private readonly signatures: CallSignatures | undefined
  private readonly own = new OwnMembers()
  private readonly tracks = new Map<number, Track>()
  private readonly queue: Track[] = []
  /** Index of the next block. */
  private next = 0
  private gatewayTools = 0
  /** Encrypted reasoning behind a text, which waits for what comes behind it. */
  private held: string[] = []
  private endsInText = false
  private refused = false

  constructor(ctx: ReplyContext) {
    this.ctx = ctx
    this.hide = hidesThinking(ctx.body)
    this.signatures = expectsThinking(ctx.body) ? undefined : new CallSignatures()
  }

  push(events: readonly StreamEvent[]): string {
    let out = ''
    for (const event of events) {
      switch (event.type) {
        case 'block-start':
          out += this.start(event)
          break
        case 'block-delta':
        case 'block-note':
        case 'block-end':
          out += this.take(event)
          break
        case 'opaque':
          this.own.take(event.of)
      }
    }
    return out
  }

  finish(final: Final): string {
    const { ctx } = this
    // This format has no word for an end that nothing is known of: the answer has gone out, and its last event says that it may not be whole.
    const failure = failureIn(final)
    if (failure) {
      const routerMetadata = final.metadata && { key: `${ctx.brand}_metadata`, value: final.metadata }
      const { type: _, ...fields } = faultBody(failure, { id: ctx.id, routerMetadata })
      return eventFrame('error', `,${JSON.stringify(fields).slice(1, -1)}`)
    }
    let out = ''
    for (const { number } of [...this.queue]) if (this.tracks.has(number)) out += this.take({ type: 'block-end', block: number })
    // Behind the last text, where the caller knows thinking and reads more than the last block.
    if (this.held.length > 0 && this.signatures === undefined && ctx.readsLastBlock !== true) out += this.takeHeld()
    return out + closeStream(ctx, final, this.own, this.refused)
  }

  private start(event: Start): string {
    const { kind, call, of } = event
    const thought = kind === 'reasoning' || kind === 'summary' ? new Thought(kind, event.item) : undefined
    const track: Track = { number: event.block, kind, call, of, thought, head: '', blank: '', waiting: [] }
    this.tracks.set(event.block, track)
    this.queue.push(track)
    return this.queue.length === 1 ? this.enter(track) : ''
  }

  private take(event: Exclude<BlockEvent, Start>): string {
    const track = this.tracks.get(event.block)
    if (track === undefined) return ''
    if (event.type === 'block-end') this.tracks.delete(event.block)
    if (track !== this.queue[0]) {
      track.waiting.push(event)
      return ''
    }
    return this.apply(track, event)
  }

  private apply(track: Track, event: BlockEvent): string {
    if (event.type === 'block-delta') return this.text(track, event.text)
    if (event.type === 'block-note') return this.note(track, event)
    return event.type === 'block-end' ? this.end(track) + this.advance() : ''
  }

  /** The track has come to the front. */
  private enter(track: Track): string {
    const { call, of } = track
    if (track.kind === 'call') return this.begin(track, toolUseBlock({ call, of, extra: this.signatures?.signedMembers(call?.id) }, {}))
    if (track.kind === 'opaque') return this.whole(ownBlock(track.of))
    if (track.kind !== 'server' || track.of === undefined) return ''
    const [use, result] = gatewayToolBlocks(track.of, this.gatewayTools++)
    return this.whole(use) + this.whole(result)
  }

  private begin(track: Track, block: JsonObject): string {
    const held = this.takeHeld()
    this.endsInText = track.kind === 'text' || track.kind === 'refusal'
    const index = this.next++
    const [type, member] = DELTAS[track.kind] ?? ['', '']
    track.head = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"${type}","${member}":`
    return held + eventFrame('content_block_start', `,"index":${index},"content_block":${JSON.stringify(block)}`)
  }

  /** A delta of another type than the block's usual ones; the block has begun, as the last one. */
  private delta(type: string, member: string, value: string): string {
    return eventFrame('content_block_delta', `,"index":${this.next - 1},"delta":{"type":"${type}","${member}":${value}}`)
  }

  private whole(block: JsonObject | undefined): string {
    if (block === undefined) return ''
    this.endsInText = false
    return this.takeHeld() + wholeBlock(block, this.next++)
  }

  private takeHeld(): string {
    const held = this.held.splice(0)
    return held.map((data) => wholeBlock(redactedBlock(data), this.next++)).join('')
  }

  private redacted(data: string): string {
    if (!this.endsInText) return this.whole(redactedBlock(data))
    this.held.push(data)
    return ''
  }

  private text(track: Track, text: string): string {
    if (text === '') return ''
    if (track.head !== '') return `${track.head}${quote(text)}}}\n\n`
    if (track.thought && this.hide) {
      track.thought.hidden += text
      return ''
    }
    if (DELTAS[track.kind] === undefined) return ''
    if (!track.thought && text.trim() === '') {
      track.blank += text
      return ''
    }
    if (track.kind === 'refusal') this.refused = true
    const begun = this.begin(track, track.thought ? thinkingBlock('', '') : textBlock('', []))
    return `${begun}${track.head}${quote(track.blank + text)}}}\n\n`
  }

  private note(track: Track, { note, data }: Extract<StreamEvent, { type: 'block-note' }>): string {
    if (track.thought) {
      if (note !== 'encrypted' || !this.signatures?.take(data)) track.thought.note(note, data)
      return ''
    }
    const citation = note === 'annotation' && track.kind === 'text' ? toCitation(data) : undefined
    if (citation === undefined) return ''
    const begun = track.head === '' ? this.begin(track, textBlock(track.blank, [])) : ''
    return begun + this.delta('citations_delta', 'citation', JSON.stringify(citation))
  }

  /** Writes the blocks that have waited, up to one that has not ended. */
  private advance(): string {
    let out = ''
    this.queue.shift()
    for (let front = this.queue.at(0); front !== undefined; front = this.queue.at(0)) {
      out += this.enter(front)
      const ended = front.waiting.at(-1)?.type === 'block-end'
      for (const event of front.waiting) if (event.type !== 'block-end') out += this.apply(front, event)
      if (!ended) return out
      out += this.end(front)
      this.queue.shift()
    }
    return out
  }

  private end(track: Track): string {
    let out = track.thought ? this.endThought(track, track.thought) : ''
    if (track.head !== '') out += eventFrame('content_block_stop', `,"index":${this.next - 1}`)
    if (track.thought) for (const data of track.thought.takeRedacted()) out += this.redacted(data)
    return out
  }

  private endThought(track: Track, thought: Thought): string {
    if (track.head === '' && !thought.signed) return ''
    const begun = track.head === '' ? this.begin(track, thinkingBlock('', '')) : ''
    return begun + this.delta('signature_delta', 'signature', JSON.stringify(thought.takeSignature()))
  }
}
