/** The stream of the pass lane: content frames travel as they came, lifecycle frames are ours. */
import { Fault, unreadable } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject, objectsOf } from '../../core/json.ts'
import { PAID_TOOLS } from '../../core/price.ts'
import { MEDIA_BYTES } from '../canon/events.ts'
import { binary, FrameSplitter, frameData, textBytes, utf8 } from '../sse/frames.ts'
import type { Final, PassFacts, PassStream, ReplyContext } from '../types.ts'
import { closeStream, openStream } from './encode-stream.ts'
import { decodeFault } from './fault.ts'
import { factsOf } from './pass-facts.ts'
import { OpenItems, parseFrame } from './pass-repair.ts'
import { closingJson, endingOf, restOf } from './result-object.ts'
import { decodeUsage, ShownItems } from './usage.ts'

const CALL_DONE = 'response.function_call_arguments.done'
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
  committed = false
  relayed = 0
  private readonly ctx: ReplyContext
  private readonly splitter = new FrameSplitter()
  private readonly view: FrameView = { end: 0, json: -1, name: 0, nameEnd: 0 }
  private readonly items = new OpenItems()
  private readonly shown = new ShownItems()
  /** Content frames before the commit point, as they came. */
  private held = ''
  /** The upstream's last object; `over` is set with it. */
  private terminal: JsonObject | undefined
  private over = false
  private anything = false

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
    if (!this.committed && this.held !== '' && !final.fault) out = utf8(this.head() + this.relay(this.held))
    else if (!ctx.opened) out = utf8(this.head())
    // Some providers leave the output of their last object empty.
    const listed = Array.isArray(terminal?.output) && (terminal.output.length > 0 || !this.items.any)
    const intact = listed && !final.fault
    const ending = endingOf(final, this.committed)
    if (!intact) out += this.items.close(ctx, ending.status === 'completed' ? 'completed' : 'incomplete')
    const output = intact ? JSON.stringify(terminal?.output) : this.items.json()
    const rest = terminal === undefined ? undefined : restOf(terminal)
    return out + closeStream(ctx, closingJson(ctx, final, ending, { output, rest, tier: terminal?.service_tier }), ending.status)
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
      viewFrame(frames, at, this.view)
      const frame = frames.slice(at, this.view.end)
      at = this.view.end
      const message = this.parse(frame)
      if (message === undefined) continue
      const type = String(message.type)
      if (this.lifecycle(type, message)) continue
      this.held += frame
      if (showsContent(type, message)) return this.commit() + this.relay(frames.slice(at))
    }
    return ''
  }

  /** Our own lifecycle events, unless they have gone out early. */
  private head(): string {
    if (this.ctx.opened) return ''
    this.ctx.opened = true
    return binary(openStream(this.ctx))
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
    let out = ''
    let from = 0
    for (let at = 0; at < frames.length; at = view.end) {
      viewFrame(frames, at, view)
      const digits = view.json === -1 || !this.isContent(frames) ? -1 : sequenceAt(frames, view)
      if (digits === -1) {
        const frame = frames.slice(at, view.end)
        const { end } = view
        out += frames.slice(from, at) + this.rewrite(frame)
        view.end = end
        from = this.over && !over ? frames.length : end
        if (from === frames.length) break
        continue
      }
      if (view.json === at + DATA.length) {
        out += `${frames.slice(from, at)}event: ${frames.slice(view.json + TYPE_AT, view.nameEnd)}\n`
        from = at
      }
      if (!spells(frames, digits, ctx.sequence)) {
        out += frames.slice(from, digits) + ctx.sequence
        from = digitsEnd(frames, digits)
      }
      ctx.sequence++
      this.relayed += deltaBytes(frames, view)
      this.watch(frames, at)
    }
    const all = from === 0 && out === '' ? frames : out + frames.slice(from)
    this.items.keep(all)
    return all
  }

  /** Types of content have a second dot (`response.output_text.delta`), those of the lifecycle have none. */
  private isContent(frames: string): boolean {
    if (frames.startsWith('output_text.delta"', this.view.name)) return true
    // Strict clients demand the name of the function here; not every provider sends it.
    if (frames.startsWith(`${CALL_DONE.slice(9)}"`, this.view.name)) return false
    const dot = frames.indexOf('.', this.view.name)
    return dot !== -1 && dot < this.view.nameEnd
  }

  /** Items that come and go, so that a cut stream can close what is open. */
  private watch(frames: string, at: number): void {
    const { name, end } = this.view
    if (frames.startsWith(PARTIAL_IMAGE, name)) this.partialImage()
    if (!frames.startsWith('output_item.', name)) return
    const frame = frames.slice(at, end)
    if (frames.startsWith('added"', name + 12)) this.items.added(frame)
    else if (frames.startsWith('done"', name + 12)) this.done(frame, COUNTED.test(frame) ? parseFrame(frame)?.item : undefined)
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
    message.sequence_number = this.ctx.sequence++
    if (type === CALL_DONE) message.name ??= this.items.nameAt(message.output_index) ?? ''
    const text = binary(`${isName(type) ? `event: ${type}\n` : ''}data: ${JSON.stringify(message)}\n\n`)
    if (typeof message.delta === 'string') this.relayed += Buffer.byteLength(message.delta)
    if (type === 'response.output_item.added') this.items.added(text)
    else if (type === 'response.output_item.done') this.done(text, message.item)
    else if (type === `response.${PARTIAL_IMAGE}`) this.partialImage()
    return text
  }

  /** @returns undefined for a frame without an event: a comment, the sentinel; a garbled one sets the fault. */
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
    message.type ??= /^event: ?(.*)$/m.exec(frame)?.[1] ?? ''
    return message
  }

  /** @returns true for an event that does not travel: the upstream's lifecycle, its errors, its keep-alives. */
  private lifecycle(type: string, message: JsonObject): boolean {
    if (type.startsWith('response.') && type.includes('.', 9)) return false
    if (type === 'error') {
      this.stop(decodeFault(200, message))
      return true
    }
    if (type !== 'response.completed' && type !== 'response.incomplete' && type !== 'response.failed' && type !== 'response.cancelled')
      return true
    const response = isObject(message.response) ? message.response : {}
    const facts = factsOf(type === 'response.failed' ? { ...response, status: 'failed' } : response, this.shown)
    this.usage = facts.usage
    this.end = facts.end
    this.fault = facts.fault
    this.terminal = response
    this.over = true
    return true
  }
}

interface FrameView {
  /** Just behind the frame's blank line. */
  end: number
  /** Where the JSON begins; -1 where the frame is not of the usual form and must be parsed. */
  json: number
  /** Where the type's name begins, behind `response.`. */
  name: number
  /** The quote that ends the name. */
  nameEnd: number
}

const EVENT = 'event: '
const DATA = 'data: '
const HEAD = '{"type":"response.'
/** Where the type begins in the JSON, and the name in the type. */
const TYPE_AT = '{"type":"'.length
const NAME_AT = HEAD.length - TYPE_AT
const AFTER_TYPE = ',"sequence_number":'
const KEY = '"sequence_number":'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const NEWLINE = 0x0a

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/**
 * Reads a raw frame of this wire just far enough to send it on: its type, and where its sequence number stands.
 * Fills `view` with the frame that begins at `at`; `text` ends with a blank line.
 */
function viewFrame(text: string, at: number, view: FrameView): void {
  let data = at
  let line = text.indexOf('\n', at)
  const named = text.startsWith(EVENT, at)
  if (named) {
    data = line + 1
    line = text.indexOf('\n', data)
  }
  view.json = -1
  if (line === -1 || text.charCodeAt(line + 1) !== NEWLINE) {
    view.end = text.indexOf('\n\n', at) + 2
    return
  }
  view.end = line + 2
  const json = data + DATA.length
  if (!text.startsWith(DATA, data) || !text.startsWith(HEAD, json)) return
  view.name = json + HEAD.length
  view.nameEnd = text.indexOf('"', view.name)
  // An event line that differs from the type is written anew: the two must match (Open Responses specification, "Streaming").
  if (!named || isMatched(text, view, at + EVENT.length, data - 1)) view.json = json
}

/** @param from, to the event line behind its name. */
function isMatched(text: string, view: FrameView, from: number, to: number): boolean {
  const start = view.name - NAME_AT
  return to - from === view.nameEnd - start && text.slice(from, to) === text.slice(start, view.nameEnd)
}

/** True for a type that an event line can hold. */
function isName(type: string): boolean {
  return /^[\w.:-]+$/.test(type)
}

/** Walks over the members of the outermost object; strings and nested values cannot deceive it. */
function searchTopLevel(text: string, from: number, to: number): number {
  let depth = 0
  for (let i = from; i < to; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      const start = i
      for (i++; i < to && text.charCodeAt(i) !== QUOTE; i++) if (text.charCodeAt(i) === BACKSLASH) i++
      if (depth === 1 && i - start === KEY.length - 2 && text.startsWith(KEY, start)) return i + 2
    } else if (code === 0x7b || code === 0x5b) depth++
    else if (code === 0x7d || code === 0x5d) depth--
  }
  return -1
}

/** @returns where the digits of the top-level `sequence_number` begin, -1 where it has none. */
function sequenceAt(text: string, view: FrameView): number {
  let at = -1
  if (text.startsWith(AFTER_TYPE, view.nameEnd + 1)) at = view.nameEnd + 1 + AFTER_TYPE.length
  else {
    // As the last member: what stands before the closing brace of the object is at the top level.
    let i = view.end - 4
    while (isDigit(text.charCodeAt(i))) i--
    if (text.charCodeAt(view.end - 3) === 0x7d && text.startsWith(KEY, i + 1 - KEY.length)) at = i + 1
    else at = searchTopLevel(text, view.json, view.end)
  }
  return at !== -1 && isDigit(text.charCodeAt(at)) ? at : -1
}

const DELTA = '"delta":"'

/** Bytes of the text that a delta brings; 0 for any other frame: those that end a part only say it again. */
function deltaBytes(text: string, view: FrameView): number {
  if (!text.startsWith('.delta', view.nameEnd - 6)) return 0
  const from = text.indexOf(DELTA, view.nameEnd)
  return from === -1 || from >= view.end ? 0 : textBytes(text, from + DELTA.length)
}

/** @returns just behind the last digit of a number. */
function digitsEnd(text: string, at: number): number {
  let end = at
  while (isDigit(text.charCodeAt(end))) end++
  return end
}

/** True where the digits at `at` spell `value`. */
function spells(text: string, at: number, value: number): boolean {
  let number = 0
  let i = at
  for (; isDigit(text.charCodeAt(i)); i++) number = number * 10 + text.charCodeAt(i) - 0x30
  return number === value
}
