/** The stream of the pass lane: content frames travel as they came, lifecycle frames are ours. */
import { Fault, unreadable } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject, objectsOf, stringOf } from '../../core/json.ts'
import { PAID_TOOLS } from '../../core/money.ts'
import { binary, FrameSplitter, frameData, utf8 } from '../../machines/sse/frames.ts'
import { NO_ARGUMENTS } from '../canon/call-arguments.ts'
import { isErrorEvent } from '../canon/error-shape.ts'
import { isAnother, MEDIA_BYTES } from '../canon/events.ts'
import { StreamWords } from '../canon/stream-words.ts'
import type { Final, PassFacts, PassStream, ReplyContext } from '../types.ts'
import { finishArguments, finishedCall } from './call-items.ts'
import { ResponsesStreamDecoder } from './decode-stream.ts'
import { closeStream, openStream } from './encode-stream.ts'
import { decodeFault } from './fault.ts'
import { CALL_DONE, digitsEnd, FrameView, spells } from './frame-view.ts'
import { ItemPlaces } from './item-places.ts'
import { noteEvent } from './known-words.ts'
import { factsOf } from './pass-facts.ts'
import { OpenItems, parseFrame } from './pass-repair.ts'
import { readEvent } from './read-event.ts'
import { closingBytes, endingOf, restOf } from './result-object.ts'
import { decodeUsage, ShownItems } from './usage.ts'
import { eventFrame } from './wire.ts'

const FUNCTION_ITEM = /"type": ?"function_call"/
const PARTIAL_IMAGE = 'image_generation_call.partial_image'
/** Finished items that are counted: they are read, the others travel unread. */
const COUNTED = new RegExp(`"type":"(?:${['web_search', 'image_generation', ...PAID_TOOLS].join('|')})_call"`)

const QUIET_ITEMS: ReadonlySet<Json | undefined> = new Set(['message', 'reasoning'])

/** True where a finished message or reasoning item holds anything at all. */
function itemSays(item: JsonObject): boolean {
  if (!QUIET_ITEMS.has(item.type) || (item.encrypted_content ?? item.signature ?? null) !== null) return true
  return [...objectsOf(item.content), ...objectsOf(item.summary)].some((part) => (part.text ?? part.refusal) !== '')
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

/** False for a frame that the upstream's end cut in two; a whole one may merely lack its blank line. */
function isWhole(frame: string): boolean {
  const data = frame === '' ? undefined : frameData(frame)
  try {
    return data !== undefined && (data === '[DONE]' || isObject(JSON.parse(utf8(data))))
  } catch {
    return false
  }
}

export class ResponsesPassStream implements PassStream {
  usage: PassFacts['usage']
  end: PassFacts['end']
  fault: PassFacts['fault']
  replyId: PassFacts['replyId']
  committed = false
  plain = false
  relayed = 0
  private readonly ctx: ReplyContext
  private readonly splitter = new FrameSplitter()
  private readonly view = new FrameView()
  private readonly items = new OpenItems()
  private readonly places = new ItemPlaces()
  private readonly shown = new ShownItems()
  private readonly strange = new StreamWords()
  /** Content frames before the commit point, as they came. */
  private held = ''
  /** The upstream's last object; `over` is set with it. */
  private terminal: JsonObject | undefined
  private over = false
  private anything = false
  /** An item has come without its index: what belongs to it is written anew. */
  private isUnplaced = false
  /** A call has come whose arguments are no JSON: nothing more goes out until the end. */
  private isBroken = false
  /** Of the batch behind it. */
  private rest = ''
  /** The last event that opened the upstream's response before its content: read only where another one comes. */
  private opening = ''

  constructor(ctx: ReplyContext) {
    this.ctx = ctx
  }

  get images(): number {
    return this.shown.images
  }

  feed(chunk: Buffer): string {
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
    if (!this.over) this.stop(new Fault(this.anything ? 'upstream_cut' : 'upstream_empty'))
    return out
  }

  finish(final: Final): string {
    const { ctx, terminal } = this
    let out = ''
    // An answer without content: what opened and closed it belongs to the reply all the same.
    if (!this.committed && this.held !== '' && !final.fault) out = this.head() + this.relay(this.held)
    else if (!ctx.opened) out = this.head()
    // Some providers leave the output of their last object empty.
    const listed = Array.isArray(terminal?.output) && (terminal.output.length > 0 || !this.items.any)
    const intact = listed && !final.fault && !this.isBroken
    const ending = endingOf(final, this.committed)
    if (!intact) out += binary(this.items.close(ctx, ending.status === 'completed' ? 'completed' : 'incomplete'))
    const output = intact ? JSON.stringify(terminal?.output) : this.items.json()
    const rest = terminal === undefined ? undefined : restOf(terminal)
    return out + closeStream(ctx, ending, closingBytes(ctx, final, ending, { output, rest, tier: terminal?.service_tier }))
  }

  private stop(fault: Fault): void {
    this.over = true
    this.fault = fault
  }

  /** Whole frames: before the commit point one by one, after it in one go. */
  private route(frames: string): string {
    this.anything = true
    if (this.committed) return this.relay(frames)
    let at = 0
    while (at < frames.length && !this.over) {
      this.view.read(frames, at)
      const frame = frames.slice(at, this.view.end)
      at = this.view.end
      // Ours take its place.
      if (this.view.isOpening(frames)) {
        this.opening = frame
        continue
      }
      const message = this.parse(frame)
      if (message === undefined) continue
      const type = String(message.type)
      if (this.lifecycle(type, message)) {
        this.opening = frame
        continue
      }
      this.held += frame
      if (!showsContent(type, message)) continue
      const out = this.commit() + this.relay(frames.slice(at))
      this.plain = false
      return out
    }
    return ''
  }

  /** Our own lifecycle events, unless they have gone out early. */
  private head(): string {
    if (this.ctx.opened) return ''
    this.ctx.opened = true
    return openStream(this.ctx)
  }

  private commit(): string {
    const { held } = this
    this.committed = true
    // Content that is no text counts for something as well.
    this.relayed = 1
    this.held = ''
    return this.head() + this.relay(held)
  }

  /** @returns content frames with our sequence numbers; the same string where nothing had to change. */
  private relay(frames: string): string {
    const { ctx, view, over } = this
    if (this.isBroken) return this.listen(frames)
    let out = ''
    let from = 0
    this.plain = true
    for (let at = 0; at < frames.length; at = view.end) {
      if (this.isUnplaced || !view.readText(frames, at)) {
        this.plain = false
        view.read(frames, at)
        if (!view.readContent(frames) || this.isIncomplete(frames, at)) {
          const { end } = view
          out += frames.slice(from, at) + this.rewrite(frames.slice(at, end))
          view.end = end
          if (this.isBroken) this.rest = frames.slice(end)
          from = (this.over && !over) || this.isBroken ? frames.length : end
          if (from === frames.length) break
          continue
        }
        if (!view.named) {
          out += `${frames.slice(from, at)}event: ${view.type(frames)}\n`
          from = at
        }
        this.watch(frames, at)
      }
      if (!spells(frames, view.digits, ctx.sequence)) {
        out += frames.slice(from, view.digits) + ctx.sequence
        from = digitsEnd(frames, view.digits)
      }
      ctx.sequence++
      this.relayed += view.words
    }
    const all = from === 0 && out === '' ? frames : out + frames.slice(from)
    this.items.keep(all)
    return this.isBroken ? all + this.listen(this.rest) : all
  }

  /** Of what follows a call that may not be run nothing but the end is read. */
  private listen(frames: string): string {
    for (let at = 0; at < frames.length && !this.over; at = this.view.end) {
      this.view.read(frames, at)
      const message = this.parse(frames.slice(at, this.view.end))
      if (message) this.lifecycle(String(message.type), message)
    }
    return ''
  }

  /**
   * True for a frame that does not travel as it is: one without the index of its item, and one that finishes a call whose arguments
   * are none, no text or no JSON.
   */
  private isIncomplete(frames: string, at: number): boolean {
    const { name, end } = this.view
    if (frames.startsWith('output_item.added"', name)) this.isUnplaced ||= !frames.slice(at, end).includes('"output_index"')
    if (this.isUnplaced) return true
    const isItem = frames.startsWith('output_item.done"', name)
    if (!isItem && !frames.startsWith('function_call_arguments.done"', name)) return false
    const frame = frames.slice(at, end)
    const message = isItem && !FUNCTION_ITEM.test(frame) ? undefined : parseFrame(frame)
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
    if (frames.startsWith('added"', name + 12)) this.items.added(frame)
    else if (frames.startsWith('done"', name + 12)) this.done(frame, COUNTED.test(frame) ? parseFrame(frame)?.item : undefined)
  }

  private strangeEvent(type: string): void {
    if (!ResponsesStreamDecoder.reads(type)) noteEvent(this.strange, type)
  }

  private partialImage(): void {
    if (this.shown.partialImage()) this.relayed += MEDIA_BYTES
  }

  /** An item has come to its end: what of it is counted beside text is known before the final report. */
  private done(frame: string, item: Json | undefined): void {
    this.items.done(frame)
    if (!isObject(item)) return
    const { searches, paid } = this.shown
    if (this.shown.done(item)) this.relayed += MEDIA_BYTES
    if (this.shown.searches > searches || this.shown.paid !== paid) this.usage = decodeUsage({}, this.shown)
  }

  /** The slow way, for frames of an unusual form and for the lifecycle. */
  private rewrite(frame: string): string {
    const message = this.parse(frame)
    if (message === undefined) return ''
    const type = String(message.type)
    if (this.lifecycle(type, message)) return ''
    this.places.complete(type, message)
    const before = this.finished(message)
    if (this.isBroken) return ''
    message.sequence_number = this.ctx.sequence++
    if (type === CALL_DONE) message.name ??= this.items.nameAt(message.output_index) ?? ''
    const text = binary(`${isName(type) ? `event: ${type}\n` : ''}data: ${JSON.stringify(message)}\n\n`)
    if (typeof message.delta === 'string') this.relayed += Buffer.byteLength(message.delta)
    if (type === 'response.output_item.added') this.items.added(text)
    else if (type === 'response.output_item.done') this.done(text, message.item)
    else if (type === `response.${PARTIAL_IMAGE}`) this.partialImage()
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

  /** @returns undefined for a frame without an event: a comment, the sentinel; a garbled one sets the fault. */
  private parse(frame: string): JsonObject | undefined {
    const data = frameData(frame)
    if (data === undefined || data === '' || data === '[DONE]') return undefined
    const message = readEvent(data)
    if (!message) {
      this.stop(new Fault('upstream_garbled'))
      return undefined
    }
    const name = /^event: ?(.*)$/m.exec(frame)?.[1]
    message.type = isErrorEvent(message, name) ? 'error' : (message.type ?? name ?? '')
    return message
  }

  /** Of the upstream's response. */
  private id(): Json | undefined {
    const response = this.opening === '' ? undefined : this.parse(this.opening)?.response
    return isObject(response) ? response.id : undefined
  }

  /** @returns true for an event that does not travel: the upstream's lifecycle, its errors, its keep-alives. */
  private lifecycle(type: string, message: JsonObject): boolean {
    if (type.startsWith('response.') && type.includes('.', 9)) return false
    if (type === 'error') {
      this.stop(decodeFault(200, message))
      return true
    }
    const response = isObject(message.response) ? message.response : {}
    if (type !== 'response.completed' && type !== 'response.incomplete' && type !== 'response.failed' && type !== 'response.cancelled') {
      if (this.committed && isAnother(response.id, this.id())) this.stop(new Fault('upstream_garbled'))
      this.strangeEvent(type)
      return true
    }
    const facts = factsOf(
      type === 'response.failed' ? { ...response, status: 'failed' } : response,
      this.strange,
      this.shown,
      this.isBroken,
    )
    this.usage = facts.usage
    this.end = facts.end
    this.fault = facts.fault
    this.terminal = response
    this.replyId = stringOf(response.id)
    this.over = true
    return true
  }
}

/** True for a type that an event line can hold. */
function isName(type: string): boolean {
  return /^[\w.:-]+$/.test(type)
}
