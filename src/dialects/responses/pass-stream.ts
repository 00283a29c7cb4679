/** The stream of the pass lane: content frames travel as they came, lifecycle frames are ours. */
import { Fault } from '../../core/faults.ts'
import { asObjects, asString, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { PAID_TOOLS } from '../../core/price.ts'
import { binary, frameObject } from '../../machines/sse/frames.ts'
import { NO_ARGUMENTS } from '../canon/call-arguments.ts'
import { isAnother, MEDIA_BYTES } from '../canon/events.ts'
import { StreamWords } from '../canon/stream-words.ts'
import { FramePassStream, typedFailure } from '../sse/pass-stream.ts'
import type { Final, ReplyContext } from '../types.ts'
import { ResponsesStreamDecoder } from './decode-stream.ts'
import { closeStream, openStream } from './encode-stream.ts'
import { decodeFault } from './fault.ts'
import { finishArguments, finishedCall } from './finish-calls.ts'
import { CALL_DONE, digitsEnd, FrameView, spells } from './frame-view.ts'
import { ItemPlaces, mendEvent } from './item-places.ts'
import { noteEvent } from './known-words.ts'
import { responseFacts } from './pass-facts.ts'
import { OpenItems } from './pass-repair.ts'
import { readEvent } from './read-event.ts'
import { closingBytes, finalEnding, responseRest } from './reply.ts'
import { decodeUsage, ShownItems } from './usage.ts'
import { eventFrame } from './wire.ts'

const failureIn = typedFailure(decodeFault)

const FUNCTION_ITEM = /"type": ?"function_call"/
const PARTIAL_IMAGE = 'image_generation_call.partial_image'
/** Finished items that are counted: they are read, the others travel unread. */
const COUNTED = new RegExp(`"type":"(?:${['web_search', 'image_generation', ...PAID_TOOLS].join('|')})_call"`)

const QUIET_ITEMS: ReadonlySet<Json | undefined> = new Set(['message', 'reasoning'])

/** True where a finished message or reasoning item holds anything at all. */
function itemSays(item: JsonObject): boolean {
  if (!QUIET_ITEMS.has(item.type) || (item.encrypted_content ?? item.signature ?? null) !== null) return true
  return [...asObjects(item.content), ...asObjects(item.summary)].some((part) => (part.text ?? part.refusal) !== '')
}

/**
 * True for an event that shows the caller something: the commit point.
 * Events that only open or close are no content: after an empty answer another endpoint may still be tried.
 */
function showsContent(type: string, message: JsonObject): boolean {
  const { item, part } = message
  if (type.endsWith('.delta')) return message.delta !== ''
  if (type === 'response.output_item.added') return !isObject(item) || !QUIET_ITEMS.has(item.type)
  if (type === 'response.output_item.done') return !isObject(item) || itemSays(item)
  if (isObject(part)) return !type.endsWith('.added') && (part.text ?? part.refusal) !== ''
  return (message.text ?? message.refusal) !== ''
}

export class ResponsesPassStream extends FramePassStream {
  protected readonly areBroken = false
  private readonly view = new FrameView()
  private readonly items = new OpenItems()
  private readonly places = new ItemPlaces()
  private readonly shown = new ShownItems()
  private readonly strange = new StreamWords()
  /** Content frames before the commit point, as they came. */
  private held = ''
  /** The upstream's last object; `over` is set with it. */
  private terminal: JsonObject | undefined
  /** An item has come without its index: what belongs to it is written anew. */
  private isUnplaced = false
  /** A call has come whose arguments are no JSON: nothing more goes out until the end. */
  private isBroken = false
  /** The last event that opened the upstream's response before its content: read only where another one comes. */
  private opening = ''

  constructor(ctx: ReplyContext) {
    super(ctx, failureIn, readEvent)
  }

  finish(final: Final): string {
    const { ctx, terminal, committed } = this
    let out = ''
    // An answer without content: what opened and closed it belongs to the reply all the same.
    if (!committed && this.held !== '' && !final.fault) out = this.release()
    else if (!ctx.opened) out = this.head()
    // It is no content all the same.
    this.committed = committed
    // Some providers leave the output of their last object empty.
    const listed = Array.isArray(terminal?.output) && (terminal.output.length > 0 || !this.items.any)
    const intact = listed && !final.fault && !this.isBroken
    const ending = finalEnding(final, committed)
    if (!intact) out += binary(this.items.close(ctx, ending.status === 'completed' ? 'completed' : 'incomplete'))
    const output = intact ? JSON.stringify(terminal?.output) : this.items.json()
    const rest = terminal === undefined ? undefined : responseRest(terminal)
    return out + closeStream(ctx, ending, closingBytes(ctx, final, ending, { output, rest, tier: terminal?.service_tier }))
  }

  protected override frame(frame: string): string {
    if (this.committed) return super.frame(frame)
    this.view.read(frame, 0)
    if (!this.view.isOpening(frame)) return super.frame(frame)
    // Ours take its place.
    this.anything = true
    this.opening = frame
    return ''
  }

  protected read(message: JsonObject, frame: string): string {
    const type = String(message.type)
    if (this.lifecycle(type, message)) {
      if (!this.committed) this.opening = frame
      return ''
    }
    // Of what follows a call that may not be run nothing but the end is read.
    if (this.committed) return this.isBroken ? '' : this.rewrite(type, message)
    this.held += frame
    if (!showsContent(type, message)) return ''
    // Content that is no text counts for something as well.
    this.relayed = 1
    const out = this.release()
    this.plain = false
    return out
  }

  /** Our own lifecycle events, unless they have gone out early. */
  private head(): string {
    if (this.ctx.opened) return ''
    this.ctx.opened = true
    return openStream(this.ctx)
  }

  /** Sends what was held. */
  private release(): string {
    const { held } = this
    this.committed = true
    this.held = ''
    return this.head() + this.route(held)
  }

  /** Content frames with our sequence numbers. */
  protected run(frames: string, begin: number): string | undefined {
    const { ctx, view } = this
    if (this.isBroken || this.isUnplaced) return undefined
    let out = ''
    let from = begin
    let end = begin
    this.runPlain = true
    for (; end < frames.length; end = view.end) {
      if (!view.readText(frames, end)) {
        view.read(frames, end)
        if (!view.readContent(frames) || this.isIncomplete(frames, end)) break
        this.runPlain = false
        if (!view.named) {
          out += `${frames.slice(from, end)}event: ${view.type(frames)}\n`
          from = end
        }
        this.watch(frames, end)
      }
      if (!spells(frames, view.digits, ctx.sequence)) {
        out += frames.slice(from, view.digits) + ctx.sequence
        from = digitsEnd(frames, view.digits)
      }
      ctx.sequence++
      this.relayed += view.words
    }
    if (end === begin) return undefined
    this.runEnd = end
    const text = out + frames.slice(from, end)
    this.items.keep(text)
    return text
  }

  /**
   * True for a frame that does not travel as it is: one without the index of its item or with another number that is none, and one that finishes a call whose arguments
   * are none, no text or no JSON.
   */
  private isIncomplete(frames: string, at: number): boolean {
    const { name, end } = this.view
    const isNumbered = this.view.isNumbered(frames)
    if (frames.startsWith('output_item.added"', name)) this.isUnplaced ||= !isNumbered
    if (this.isUnplaced || !isNumbered) return true
    const isItem = frames.startsWith('output_item.done"', name)
    if (!isItem && !frames.startsWith('function_call_arguments.done"', name)) return false
    const frame = frames.slice(at, end)
    const message = isItem && !FUNCTION_ITEM.test(frame) ? undefined : frameObject(frame)
    const holder = message && finishedCall(message)
    return holder !== undefined && finishArguments(holder) !== 'fine'
  }

  /** Items that come and go, so that a cut stream can close what is open. */
  private watch(frames: string, at: number): void {
    const { name, end } = this.view
    if (frames.startsWith(PARTIAL_IMAGE, name)) this.partialImage()
    if (!frames.startsWith('output_item.', name)) {
      // Pieces come often, and each kind of them has an event that ends it.
      if (!this.view.isPiece(frames)) this.strangeEvent(this.view.type(frames))
      return
    }
    const frame = frames.slice(at, end)
    if (frames.startsWith('added"', name + 12)) this.added(frame)
    else if (frames.startsWith('done"', name + 12)) this.done(frame, COUNTED.test(frame) ? frameObject(frame)?.item : undefined)
  }

  private strangeEvent(type: string): void {
    if (!ResponsesStreamDecoder.reads(type)) noteEvent(this.strange, type)
  }

  private partialImage(): void {
    if (this.shown.partialImage()) this.countImage()
  }

  private countImage(): void {
    this.relayed += MEDIA_BYTES
    this.images++
  }

  /** An item has begun: a later event that does not say its index finds it by its id. */
  private added(frame: string): void {
    this.items.added(frame)
    const message = frameObject(frame)
    if (message) this.places.of(message)
  }

  /** An item has come to its end: what of it is counted beside text is known before the final report. */
  private done(frame: string, item: Json | undefined): void {
    this.items.done(frame)
    if (!isObject(item)) return
    const { searches, paid } = this.shown
    if (this.shown.done(item)) this.countImage()
    if (this.shown.searches > searches || this.shown.paid !== paid) this.usage = decodeUsage({}, this.shown)
  }

  /** The slow way, for frames of an unusual form. */
  private rewrite(type: string, message: JsonObject): string {
    this.places.complete(type, message)
    mendEvent(message)
    const before = this.finished(message)
    if (this.isBroken) return ''
    message.sequence_number = this.ctx.sequence++
    if (type === CALL_DONE) message.name ??= this.items.nameAt(message.output_index) ?? ''
    const text = binary(`${isName(type) ? `event: ${type}\n` : ''}data: ${JSON.stringify(message)}\n\n`)
    if (typeof message.delta === 'string') this.relayed += Buffer.byteLength(message.delta)
    if (type === 'response.output_item.added') this.items.added(text)
    else if (type === 'response.output_item.done') this.done(text, message.item)
    else if (type === `response.${PARTIAL_IMAGE}`) this.partialImage()
    this.items.keep(before + text)
    return before + text
  }

  /** Puts the arguments of a finished call right. @returns the event that has to stand before: deltas joined are the arguments. */
  private finished(message: JsonObject): string {
    const holder = finishedCall(message)
    const found = holder && finishArguments(holder)
    if (found === 'broken') this.isBroken = true
    if (found !== 'changed' || holder !== message || message.arguments !== NO_ARGUMENTS) return ''
    const { item_id = null, output_index = null } = message
    const fields = JSON.stringify({ item_id, output_index, delta: NO_ARGUMENTS }).slice(1, -1)
    return binary(eventFrame(this.ctx, 'response.function_call_arguments.delta', `,${fields}`))
  }

  /** Of the upstream's response. */
  private id(): Json | undefined {
    const response = this.opening === '' ? undefined : this.parse(this.opening)?.response
    return isObject(response) ? response.id : undefined
  }

  /** @returns true for an event that does not travel: the upstream's lifecycle, its errors, its keep-alives. */
  private lifecycle(type: string, message: JsonObject): boolean {
    if (type.startsWith('response.') && type.includes('.', 9)) return false
    const response = isObject(message.response) ? message.response : {}
    if (type !== 'response.completed' && type !== 'response.incomplete' && type !== 'response.failed' && type !== 'response.cancelled') {
      if (this.committed && isAnother(response.id, this.id())) this.fail(new Fault('upstream_garbled'))
      this.strangeEvent(type)
      return true
    }
    const facts = responseFacts(
      type === 'response.failed' ? { ...response, status: 'failed' } : response,
      this.strange,
      this.shown,
      this.isBroken,
    )
    this.usage = facts.usage
    this.end = facts.end
    this.fault = facts.fault
    this.terminal = response
    this.replyId = asString(response.id)
    this.over = true
    return true
  }
}

/** True for a type that an event line can hold. */
function isName(type: string): boolean {
  return /^[\w.:-]+$/.test(type)
}
