/** The stream of the pass lane: content frames travel as they came, what surrounds them is ours. */
import { Fault } from '../../core/faults.ts'
import { asObjects, asString, isObject, type JsonObject } from '../../core/json.ts'
import { binary, eventName, textBytes } from '../../machines/sse/frames.ts'
import { endWord, laterEnd } from '../canon/ends.ts'
import { type End, isAnother } from '../canon/events.ts'
import { StreamWords } from '../canon/stream-words.ts'
import { FramePassStream, typedFailure } from '../sse/pass-stream.ts'
import type { Final, ReplyContext } from '../types.ts'
import { BlockNumbers } from './block-numbers.ts'
import { CallInputs } from './call-inputs.ts'
import { mendBlock } from './citations.ts'
import { decodeBeginning, decodeEnd, MEMBERS } from './decode-stream.ts'
import { MessagesStreamEncoder } from './encode-stream.ts'
import { decodeFault } from './fault.ts'
import { KNOWN_BLOCKS, KNOWN_DELTAS, KNOWN_EVENTS } from './known-words.ts'
import { withSignature } from './reasoning-block.ts'
import { wholeBlock } from './reply-blocks.ts'
import { withInput } from './tool-input.ts'
import { UsageReports } from './usage.ts'
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

const failureIn = typedFailure(decodeFault)

export class MessagesPassStream extends FramePassStream {
  private readonly strange = new StreamWords()
  /** Bytes of the model's words in the run that was read last. */
  private words = 0
  /** True where a call of the caller's tools begins in it. */
  private calls = false
  /** Frames before the commit point that go on with it, as they came. */
  private held = ''
  private message: JsonObject | undefined
  /** Members of the provider's message, beside its content, of its start and its end. */
  private members: JsonObject = {}
  private readonly reports = new UsageReports()
  private sawCall = false
  private readonly inputs = new CallInputs()
  private readonly blocks = new BlockNumbers()

  constructor(ctx: ReplyContext) {
    super(ctx, failureIn)
  }

  protected get areBroken(): boolean {
    return this.inputs.areBroken
  }

  protected override complete(end: End): string {
    this.strange.addTo(end)
    return ''
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

  protected run(frames: string, at: number): string | undefined {
    if (!this.blocks.isUsual) return undefined
    const end = this.readRun(frames, at, this.blocks)
    if (end === at) return undefined
    this.relayed += this.words
    if (this.calls) this.sawCall = true
    if (this.sawCall) this.inputs.gather(frames, at, end)
    this.runEnd = end
    return at === 0 && end === frames.length ? frames : frames.slice(at, end)
  }

  /**
   * Reads raw frames of this wire just far enough to send them on: most say in their first line that they are content.
   * @returns the end of the unbroken content frames from `at` on; every frame ends with a blank line.
   */
  private readRun(frames: string, at: number, blocks: BlockNumbers | undefined): number {
    let words = 0
    let plain = true
    this.calls = false
    let slash = frames.indexOf('\\', at)
    let from = at
    while (from < frames.length) {
      const end = frames.indexOf('\n\n', from) + 2
      if (blocks?.isLike(frames, from, end)) {
        words += blocks.wordBytes
        plain &&= blocks.isText
        if (slash !== -1 && slash < end) slash = frames.indexOf('\\', end)
        from = end
        continue
      }
      if (!frames.startsWith(CONTENT, from)) break
      if (frames.startsWith(DELTA, from)) {
        const escapes = slash !== -1 && slash < end
        const text = frames.startsWith(TEXT, from + BEFORE_INNER)
        if (blocks && !blocks.carries(frames.slice(from, end))) break
        const usual = !escapes && text && frames.startsWith(TAIL, end - TAIL.length)
        if (!text) plain = false
        words += usual ? end - from - BONES : noteWords(frames, from, end, this.strange)
        if (escapes) slash = frames.indexOf('\\', end)
      } else if (frames.startsWith(START, from)) {
        const frame = frames.slice(from, end)
        plain = false
        const isCall = frame.includes(CALL)
        strangeBlock(frame, this.strange)
        if (frame.includes(SEARCH) || (isCall && !frame.includes(NO_INPUT)) || (frame.includes(THINKING) && !frame.includes(SIGNATURE)))
          break
        if (blocks && !blocks.follows(frame, true)) break
        this.calls ||= isCall
      } else if (blocks && !blocks.follows(frames.slice(from, end), false)) break
      from = end
    }
    this.words = words
    this.runPlain = plain
    return from
  }

  protected read(message: JsonObject, frame: string): string {
    if (message.type === 'message_start') return this.begun(isObject(message.message) ? message.message : {})
    if (this.lifecycle(message)) return ''
    const block = message.content_block
    if (!isContent(message)) this.strange.note('event', message.type, KNOWN_EVENTS)
    else if (isObject(block)) this.strange.note('item', block.type, KNOWN_BLOCKS)
    const before = this.ended(message)
    const index = message.index
    if (isContent(message) && !this.blocks.place(message)) return before
    const isMended = mendBlock(message.delta) || mendBlock(block)
    const isChanged = (isObject(block) && (withInput(block) || withSignature(block))) || isMended
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
    this.readRun(text, 0, undefined)
    if (this.sawCall) this.inputs.gather(text, 0, text.length)
    this.relayed += Math.max(1, this.words)
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

  /** @returns true for an event that does not travel: ours takes its place. */
  private lifecycle(message: JsonObject): boolean {
    if (message.type === 'message_delta') this.readDelta(message)
    else if (message.type === 'message_stop') {
      this.over = true
      this.end ??= decodeEnd({}, this.reports.merged, this.sawCall)
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
      if (hasBlocks && isAnother(message.id, this.message.id)) this.fail(new Fault('upstream_garbled'))
      return ''
    }
    this.message = message
    this.replyId = asString(message.id)
    for (const key of MEMBERS) if ((message[key] ?? null) !== null) this.members[key] = message[key]
    this.usage = this.reports.start(message.usage) ?? this.usage
    this.firstUsage = this.usage
    this.beginning = decodeBeginning(message)
    const frames = asObjects(content).map((block, index) => wholeBlock(block, index))
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
    if (last) this.end = laterEnd(this.end, decodeEnd(facts, this.reports.merged, this.sawCall))
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

const BLOCK_TYPE = /"content_block": ?\{"type": ?"(\w{1,80})"/

function strangeBlock(frame: string, strange: StreamWords): void {
  strange.note('item', BLOCK_TYPE.exec(frame)?.[1], KNOWN_BLOCKS)
}

function noteWords(frames: string, from: number, end: number, strange: StreamWords): number {
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
