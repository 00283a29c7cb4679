/** The events of `ConverseStream`, and the whole reply of `Converse`, as canonical events. */
import { Fault, unreadable } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject, stringOf } from '../../core/json.ts'
import { count, statedCount } from '../canon/counts.ts'
import { type EndWords, endWord, failedEnd, laterWord, reasonIn } from '../canon/ends.ts'
import type { End, EndReason, StreamEvent } from '../canon/events.ts'
import { noteTier, servedTier, type TierReport } from '../canon/served-tier.ts'
import { noUsage, type Usage, withEarlierSides } from '../canon/usage.ts'
import { unknownMembers } from '../canon/usage-members.ts'
import type { Quirks } from '../quirks.ts'
import type { StreamDecoder } from '../types.ts'
import { BlockReader } from './decode-blocks.ts'
import { EXCEPTION } from './event-stream.ts'
import { decodeException, decodeFault } from './fault.ts'
import { signsReasoning } from './wire.ts'

/** `StopReason` of npm @aws-sdk/client-bedrock-runtime 3.1164.0. */
const REASONS: EndWords = new Map<string, EndReason>([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['guardrail_intervened', 'content_filter'],
  ['content_filtered', 'content_filter'],
  ['malformed_model_output', 'error'],
  ['malformed_tool_use', 'error'],
  // Not among the words of this wire; Claude has it, and the service passes on words of models.
  ['refusal', 'content_filter'],
])

const NONE: ReadonlySet<string> = new Set()

const reasonOf = (word: string): EndReason => reasonIn(REASONS, word)

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
    let value: unknown
    try {
      value = JSON.parse(data)
    } catch {
      value = undefined
    }
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
    if (word !== undefined) this.word = laterWord(this.word, word, reasonOf)
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
    const reason = raw === undefined ? 'unknown' : reasonOf(raw)
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
  return stringOf(delta.stop_sequence)
}

/** `TokenUsage`: what was read from the cache and written to it is counted beside the input (recording test_bedrock_cache_write_and_read). */
function decodeUsage(usage: Json | undefined): Usage | undefined {
  if (!isObject(usage)) return undefined
  const { inputTokens, outputTokens, cacheDetails } = usage
  const counted = { input: statedCount(inputTokens) !== undefined, output: statedCount(outputTokens) !== undefined }
  if (!counted.input && !counted.output) return undefined
  const cached = count(usage.cacheReadInputTokens)
  const cacheWrite = count(usage.cacheWriteInputTokens)
  let long = 0
  for (const each of Array.isArray(cacheDetails) ? cacheDetails : [])
    if (isObject(each) && each.ttl === '1h') long += count(each.inputTokens)
  const own: Usage = { ...noUsage(), input: count(inputTokens) + cached + cacheWrite, output: count(outputTokens), cached, cacheWrite }
  const unknown = unknownMembers('bedrock-converse', usage)
  if (unknown) own.unknownMembers = unknown
  if (long > 0) own.cacheWriteLong = Math.min(long, cacheWrite)
  return withEarlierSides(own, undefined, counted)
}

/** A whole reply: it is read as a short stream, so that both fold alike. */
export function decodeResult(body: JsonObject, out: StreamEvent[], quirks?: Quirks): void {
  const message = isObject(body.output) ? body.output.message : undefined
  if (!isObject(message) || !Array.isArray(message.content)) {
    out.push({ type: 'fault', fault: decodeFault(200, body) })
    return
  }
  const decoder = new ConverseStreamDecoder(quirks)
  decoder.event('messageStart', {}, out)
  try {
    for (const [index, block] of message.content.entries()) if (isObject(block)) decoder.whole(index, block, out)
  } catch (cause) {
    // Arguments that are nested deeper than can be written again.
    out.push({ type: 'fault', fault: unreadable(cause) })
    return
  }
  decoder.event('messageStop', body, out)
  decoder.event('metadata', body, out)
}
