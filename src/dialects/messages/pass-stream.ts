/** The stream of the pass lane: content frames travel as they came, what surrounds them is ours. */
import { Fault, unreadable } from '../../core/faults.ts'
import { isObject, type JsonObject, objectsOf, stringOf } from '../../core/json.ts'
import { binary, FrameSplitter, frameData, textBytes, utf8 } from '../../machines/sse/frames.ts'
import { endBroken, endWord, laterEnd } from '../canon/ends.ts'
import { isErrorEvent } from '../canon/error-shape.ts'
import { type End, isAnother } from '../canon/events.ts'
import { StreamWords } from '../canon/stream-words.ts'
import type { Usage } from '../canon/usage.ts'
import type { Final, PassStream, ReplyContext } from '../types.ts'
import { BlockNumbers } from './block-numbers.ts'
import { CallInputs } from './call-inputs.ts'
import { beginningOf, endOf, MEMBERS } from './decode-stream.ts'
import { MessagesStreamEncoder } from './encode-stream.ts'
import { decodeFault } from './fault.ts'
import { KNOWN_BLOCKS, KNOWN_DELTAS, KNOWN_EVENTS } from './known-words.ts'
import { wholeBlock } from './reply-blocks.ts'
import { withSignature } from './thought.ts'
import { withInput } from './tool-input.ts'
import { UsageReports } from './usage-read.ts'
import { eventFrame, OPAQUE, WIRE } from './wire.ts'

/** Blocks whose start is no content. */
const QUIET: ReadonlySet<unknown> = new Set(['text', 'thinking'])

const filled = (value: unknown): boolean => value !== undefined && value !== null && value !== ''

/**
 * True for an event that shows the caller something: the commit point.
 * Events that only open or close are no content: after an empty answer another endpoint may still be tried.
 */
function showsContent(message: JsonObject): boolean {
  const { type, content_block: block, delta } = message
  if (type === 'content_block_start') return !isObject(block) || !QUIET.has(block.type) || filled(block.text) || filled(block.thinking)
  if (type !== 'content_block_delta' || !isObject(delta)) return false
  return Object.keys(delta).some((key) => key !== 'type' && filled(delta[key]))
}

const isContent = ({ type }: JsonObject): boolean => String(type).startsWith('content_block_')

/** False for a frame that the upstream's end cut in two; a whole one may merely lack its blank line. */
function isWhole(frame: string): boolean {
  const data = frame === '' ? undefined : frameData(frame)
  try {
    return data !== undefined && isObject(JSON.parse(utf8(data)))
  } catch {
    return false
  }
}

export class PassStreamOfMessages implements PassStream {
  usage?: Usage | undefined
  firstUsage?: Usage | undefined
  beginning: PassStream['beginning']
  end?: End
  fault?: Fault
  replyId: string | undefined
  committed = false
  plain = false
  relayed = 0
  readonly images = 0
  private readonly ctx: ReplyContext
  private readonly splitter = new FrameSplitter()
  private readonly strange = new StreamWords()
  private readonly run: ContentRun = { end: 0, words: 0, calls: false, plain: false, strange: this.strange }
  /** Frames before the commit point that go on with it, as they came. */
  private held = ''
  private message: JsonObject | undefined
  /** Members of the provider's message, beside its content, of its start and its end. */
  private members: JsonObject = {}
  private readonly reports = new UsageReports()
  private sawCall = false
  private readonly inputs = new CallInputs()
  private readonly blocks = new BlockNumbers()
  private over = false
  private anything = false

  constructor(ctx: ReplyContext) {
    this.ctx = ctx
  }

  feed(chunk: Buffer): string {
    this.plain = false
    if (this.over) return ''
    try {
      const frames = this.splitter.push(chunk)
      return frames === '' ? '' : this.route(frames)
    } catch (error) {
      this.stop(unreadable(error))
      return ''
    }
  }

  close(): string {
    const rest = this.over ? '' : this.splitter.close()
    const out = isWhole(rest) ? this.route(rest) : ''
    if (!this.over && this.end === undefined) this.stop(new Fault(this.anything ? 'upstream_cut' : 'upstream_empty'))
    this.over = true
    if (this.end) this.strange.addTo(this.end)
    const fault = this.end && this.inputs.areBroken ? endBroken(this.end) : undefined
    if (fault) this.fault ??= fault
    return out
  }

  finish(final: Final): string {
    const { ctx } = this
    let out = ''
    // An answer without content: what opened and closed it belongs to the reply all the same.
    if (!this.committed && !final.fault) out = this.held
    const encoder = new MessagesStreamEncoder(ctx)
    const data = { ...this.members, usage: this.reports.merged }
    encoder.push([{ type: 'opaque', of: { dialect: WIRE, type: OPAQUE.message, data } }])
    return out + binary(encoder.finish(final))
  }

  private stop(fault: Fault): void {
    this.over = true
    this.fault = fault
  }

  /** Whole frames: runs of content in one go, everything else one by one. */
  private route(frames: string): string {
    const { run } = this
    let out = ''
    for (let at = 0; at < frames.length && !this.over; ) {
      if (this.committed && this.blocks.isUsual) {
        contentRun(frames, at, run, this.blocks)
        if (run.end > at) {
          this.relayed += run.words
          if (run.calls) this.sawCall = true
          if (this.sawCall) this.inputs.gather(frames, at, run.end)
          if (at === 0 && run.end === frames.length) {
            this.plain = run.plain
            return frames
          }
          out += frames.slice(at, run.end)
          at = run.end
          continue
        }
      }
      const end = frames.indexOf('\n\n', at) + 2
      out += this.frame(frames.slice(at, end))
      at = end
    }
    return out
  }

  /** One frame that has to be read. @returns what of it goes to the caller now. */
  private frame(frame: string): string {
    const message = this.parse(frame)
    if (message === undefined) return ''
    this.anything = true
    if (message.type === 'message_start') return this.begun(isObject(message.message) ? message.message : {})
    if (this.lifecycle(message)) return ''
    const block = message.content_block
    if (!isContent(message)) this.strange.note('event', message.type, KNOWN_EVENTS)
    else if (isObject(block)) this.strange.note('item', block.type, KNOWN_BLOCKS)
    const before = this.ended(message)
    const index = message.index
    if (isContent(message) && !this.blocks.place(message)) return before
    const isChanged = isObject(block) && (withInput(block) || withSignature(block))
    const own = isChanged || index !== message.index ? `data: ${binary(JSON.stringify(message))}\n\n` : frame
    const text = before + (own !== frame || eventName(frame) === undefined ? `event: ${binary(String(message.type))}\n${own}` : frame)
    if (isObject(block)) {
      if (block.type === 'tool_use') this.sawCall = true
      this.usage = this.reports.block(block) ?? this.usage
    }
    if (!this.committed && !showsContent(message)) {
      this.held += text
      return ''
    }
    contentRun(text, 0, this.run, undefined)
    if (this.sawCall) this.inputs.gather(text, 0, text.length)
    this.relayed += Math.max(1, this.run.words)
    if (this.committed) return text
    this.committed = true
    const { held } = this
    this.held = ''
    return held + text
  }

  /** @returns the end of the block that is still open where another one starts. */
  private ended({ type }: JsonObject): string {
    const open = type === 'content_block_start' ? this.blocks.ending() : undefined
    if (open === undefined) return ''
    this.blocks.isUsual = false
    return binary(eventFrame('content_block_stop', `,"index":${open}`))
  }

  /** @returns undefined for a frame without an event: a comment, the sentinel; a garbled one and an error set the fault. */
  private parse(frame: string): JsonObject | undefined {
    const data = frameData(frame)
    if (data === undefined || data === '' || data === '[DONE]') return undefined
    let message: unknown
    try {
      message = JSON.parse(utf8(data))
    } catch {
      message = undefined
    }
    if (!isObject(message)) {
      this.stop(new Fault('upstream_garbled'))
      return undefined
    }
    const name = eventName(frame)
    if (isErrorEvent(message, name)) {
      this.stop(decodeFault(200, message))
      return undefined
    }
    message.type ??= name ?? ''
    return message
  }

  /** @returns true for an event that does not travel: ours takes its place. */
  private lifecycle(message: JsonObject): boolean {
    if (message.type === 'message_delta') this.readDelta(message)
    else if (message.type === 'message_stop') {
      this.over = true
      this.end ??= endOf({}, this.reports.merged, this.sawCall)
    } else return false
    return true
  }

  /**
   * Content and end that stand in the beginning of the message (`MessagesStreamDecoder` says when) travel as events of their own, since
   * many clients read the content of no other.
   * @returns what goes to the caller now.
   */
  private begun({ content, ...message }: JsonObject): string {
    if (this.message) {
      const hasBlocks = this.committed || this.held !== ''
      if (hasBlocks && isAnother(message.id, this.message.id)) this.stop(new Fault('upstream_garbled'))
      return ''
    }
    this.message = message
    this.replyId = stringOf(message.id)
    for (const key of MEMBERS) if ((message[key] ?? null) !== null) this.members[key] = message[key]
    this.usage = this.reports.start(message.usage) ?? this.usage
    this.firstUsage = this.usage
    this.beginning = beginningOf(message)
    const frames = objectsOf(content).map((block, index) => wholeBlock(block, index))
    const text = frames.length === 0 ? '' : this.route(binary(frames.join('')))
    const { stop_reason, stop_sequence = null, usage = null } = message
    if (endWord(stop_reason) !== undefined) this.readDelta({ delta: { stop_reason, stop_sequence }, usage })
    return text
  }

  private readDelta({ type: _, delta, usage, ...beside }: JsonObject): void {
    const facts = isObject(delta) ? delta : {}
    const { stop_reason, stop_sequence: _sequence, ...within } = facts
    for (const members of [beside, within]) for (const key in members) if ((members[key] ?? null) !== null) this.members[key] = members[key]
    const last = endWord(stop_reason) !== undefined
    this.usage = this.reports.delta(usage, last) ?? this.usage
    if (last) this.end = laterEnd(this.end, endOf(facts, this.reports.merged, this.sawCall))
  }
}

const CONTENT = 'event: content_block_'
const DELTA = 'event: content_block_delta\ndata: '
const START = 'event: content_block_start\ndata: '

const BEFORE_INNER = DELTA.length + '{"type":"content_block_delta","index":0,'.length
const TEXT = '"delta":{"type":"text_delta","text":"'
const TAIL = '"}}\n\n'

const INNER = '"delta":{"type":"'
/** Deltas that say something: the others sign it or name its sources. */
const SPOKEN = ['text_delta","', 'thinking_delta","', 'input_json_delta","']
/** Bytes of a text delta's frame that are not the model's words; about, where it is written in another way. */
const BONES = BEFORE_INNER + TEXT.length + TAIL.length

const CALL = '"type":"tool_use"'
/** Beginning of the block of a call; any other is read. */
const NO_INPUT = '"input":{}'
/** Beginning of the block of a thought; one without a signature is read. */
const THINKING = '"type":"thinking"'
const SIGNATURE = '"signature":'
/** A block that names it is read, since searches of the provider's own are counted. */
const SEARCH = 'web_search'

interface ContentRun {
  /** Just behind the last frame of the run; where it began if the first frame is none of content. */
  end: number
  /** Bytes of the model's words. */
  words: number
  /** True where a call of the caller's tools begins in it. */
  calls: boolean
  /** True where all of it is text deltas. */
  plain: boolean
  /** Blocks and deltas that nothing knows, of the whole stream. */
  readonly strange: StreamWords
}

/**
 * Reads raw frames of this wire just far enough to send them on: most say in their first line that they are content.
 * Fills `run` with the unbroken content frames from `at` on; every frame ends with a blank line.
 */
function contentRun(frames: string, at: number, run: ContentRun, blocks: BlockNumbers | undefined): void {
  run.words = 0
  run.calls = false
  run.plain = true
  let slash = frames.indexOf('\\', at)
  let from = at
  while (frames.startsWith(CONTENT, from)) {
    const end = frames.indexOf('\n\n', from) + 2
    if (frames.startsWith(DELTA, from)) {
      const escapes = slash !== -1 && slash < end
      const text = frames.startsWith(TEXT, from + BEFORE_INNER)
      const usual = !escapes && text && frames.startsWith(TAIL, end - TAIL.length)
      if (!text) run.plain = false
      run.words += usual ? end - from - BONES : wordsOf(frames, from, end, run.strange)
      if (escapes) slash = frames.indexOf('\\', end)
    } else if (frames.startsWith(START, from)) {
      const frame = frames.slice(from, end)
      run.plain = false
      const isCall = frame.includes(CALL)
      strangeBlock(frame, run.strange)
      if (frame.includes(SEARCH) || (isCall && !frame.includes(NO_INPUT)) || (frame.includes(THINKING) && !frame.includes(SIGNATURE))) break
      if (blocks && !blocks.follows(frame, true)) break
      run.calls ||= isCall
    } else if (blocks && !blocks.follows(frames.slice(from, end), false)) break
    from = end
  }
  run.end = from
}

const BLOCK_TYPE = /"content_block": ?\{"type": ?"(\w{1,80})"/

function strangeBlock(frame: string, strange: StreamWords): void {
  strange.note('item', BLOCK_TYPE.exec(frame)?.[1], KNOWN_BLOCKS)
}

function wordsOf(frames: string, from: number, end: number, strange: StreamWords): number {
  const inner = frames.indexOf(INNER, from + DELTA.length)
  if (inner === -1 || inner >= end) return Math.max(1, end - from - BONES)
  const kind = inner + INNER.length
  for (const spoken of SPOKEN) {
    if (!frames.startsWith(spoken, kind)) continue
    const value = frames.indexOf('":"', kind + spoken.length)
    return value === -1 || value >= end ? 0 : textBytes(frames, value + 3)
  }
  strange.note('part', frames.slice(kind, frames.indexOf('"', kind)), KNOWN_DELTAS)
  return 0
}

/** The name in the `event` line; undefined where the frame has none. */
function eventName(frame: string): string | undefined {
  return /^event: ?(.*)$/m.exec(frame)?.[1]
}
