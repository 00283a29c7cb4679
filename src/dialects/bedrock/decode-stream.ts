/** The events of `ConverseStream` as canonical events. */
import { Fault, unreadable } from '../../core/faults.ts'
import { asString, isObject, type Json, type JsonObject, parseJson } from '../../core/json.ts'
import { endWord, failedEnd, laterWord } from '../canon/ends.ts'
import type { End, StreamEvent } from '../canon/events.ts'
import { noteTier, servedTier, type TierReport } from '../canon/served-tier.ts'
import type { Quirks } from '../quirks.ts'
import type { StreamDecoder } from '../types.ts'
import { BlockReader } from './decode-blocks.ts'
import { toEndReason } from './ends.ts'
import { EXCEPTION } from './event-stream.ts'
import { decodeException } from './fault.ts'
import { decodeUsage } from './usage.ts'
import { signsReasoning } from './wire.ts'

const NONE: ReadonlySet<string> = new Set()

export class ConverseStreamDecoder implements StreamDecoder {
  private readonly blocks: BlockReader
  private started = false
  private over = false
  private stopped: JsonObject | undefined
  /** `stopReason`, which every end has (`MessageStopEvent` and `ConverseResponse` of the package above). */
  private word: string | undefined
  private tier: TierReport | undefined

  constructor(quirks: Quirks = {}) {
    this.blocks = new BlockReader(signsReasoning(quirks))
  }

  feed(data: string, event: string | undefined, out: StreamEvent[]): void {
    if (this.over) return
    const value = parseJson(data)
    if (event?.startsWith(EXCEPTION)) this.fail(decodeException(event.slice(EXCEPTION.length), isObject(value) ? value : {}), out)
    else if (event === undefined || !isObject(value)) this.fail(new Fault('upstream_garbled'), out)
    else this.event(event, value, out)
  }

  /** One event. What cannot be read becomes a fault. */
  event(type: string, value: JsonObject, out: StreamEvent[]): void {
    if (this.over) return
    try {
      this.read(type, value, out)
    } catch (cause) {
      this.fail(unreadable(cause), out)
    }
  }

  /** The usage comes behind the end of the message; a stream without it has ended all the same. */
  end(out: StreamEvent[]): void {
    if (this.over) return
    if (this.stopped) this.complete(out)
    else this.fail(new Fault(this.started ? 'upstream_cut' : 'upstream_empty'), out)
  }

  private read(type: string, value: JsonObject, out: StreamEvent[]): void {
    const { contentBlockIndex: index } = value
    switch (type) {
      case 'messageStart':
        if (this.started) this.fail(new Fault('upstream_garbled'), out)
        else this.begin(out)
        return
      case 'contentBlockStart':
        this.begin(out)
        if (typeof index === 'number' && isObject(value.start)) this.blocks.start(index, value.start, out)
        return
      case 'contentBlockDelta':
        this.begin(out)
        if (typeof index === 'number' && isObject(value.delta)) this.blocks.delta(index, value.delta, out)
        return
      case 'contentBlockStop':
        if (typeof index === 'number') this.blocks.stop(index, out)
        return
      case 'messageStop':
        this.begin(out)
        this.stopped = value
        this.ends(endWord(value.stopReason))
        return
      case 'metadata':
        this.metadata(value, out)
        if (this.stopped) this.complete(out)
        return
      default:
        this.blocks.strange.note('event', type, NONE)
    }
  }

  private ends(word: string | undefined): void {
    if (word !== undefined) this.word = laterWord(this.word, word, toEndReason)
  }

  /** A content block of a whole reply. */
  whole(index: number, block: JsonObject, out: StreamEvent[]): void {
    this.begin(out)
    this.blocks.whole(index, block, out)
  }

  private begin(out: StreamEvent[]): void {
    if (this.started) return
    this.started = true
    out.push({ type: 'start' })
  }

  private metadata({ usage, serviceTier }: JsonObject, out: StreamEvent[]): void {
    const read = decodeUsage(usage)
    if (read) out.push({ type: 'usage', usage: read })
    this.tier = (isObject(serviceTier) ? servedTier(serviceTier.type) : undefined) ?? this.tier
  }

  private complete(out: StreamEvent[]): void {
    const fields = this.stopped?.additionalModelResponseFields
    const { word: raw } = this
    const reason = raw === undefined ? 'unknown' : toEndReason(raw)
    if (reason === 'error') {
      this.fail(failedEnd(raw), out)
      return
    }
    this.over = true
    this.blocks.stopAll(out)
    const end: End = { reason: reason === 'stop' && this.blocks.sawCall ? 'tool_calls' : reason }
    if (raw !== undefined) end.raw = raw
    const sequence = sequenceIn(fields)
    if (sequence !== undefined && raw === 'stop_sequence') end.sequence = sequence
    noteTier(end, this.tier)
    this.blocks.strange.addTo(end)
    out.push({ type: 'end', ...end })
  }

  private fail(fault: Fault, out: StreamEvent[]): void {
    this.over = true
    out.push({ type: 'fault', fault })
  }
}

/** The field that `additionalModelResponseFieldPaths` requests. */
function sequenceIn(fields: Json | undefined): string | undefined {
  if (!isObject(fields)) return undefined
  const delta = isObject(fields.delta) ? fields.delta : fields
  return asString(delta.stop_sequence)
}
