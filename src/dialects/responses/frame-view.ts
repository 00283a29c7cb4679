/** Reads raw frames of this wire just far enough to send them on: their type, where their number stands, how much they say. */
import { textBytes } from '../../machines/sse/frames.ts'
import { FrameNumbers } from '../sse/frame-numbers.ts'
import { LikeTexts } from '../sse/like-texts.ts'

const EVENT = 'event: '
const DATA = 'data: '
const HEAD = '{"type":"response.'
/** Beginning of the type in the JSON, and of the name in the type. */
const TYPE_AT = '{"type":"'.length
const NAME_AT = HEAD.length - TYPE_AT
const AFTER_TYPE = ',"sequence_number":'
const KEY = '"sequence_number":'
const DELTA = '"delta":"'
/** Beginning of a text delta at OpenAI and at most others, up to its number. */
const TEXT_DELTA = 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":'

/** Numbers of the place of a part: those of its item and of the part. */
const PLACE = 2
/** Events of parts, without `response.`. */
const PARTS = ['output_text.', 'refusal.', 'reasoning_text.', 'content_part.', 'reasoning_summary_']
/** Its own number stands beside them. */
const ANNOTATION = 'output_text.annotation.'

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const NEWLINE = 0x0a
/** Characters behind a whole number: a comma, the brace that closes its object, a space. */
const ENDS = [COMMA, 0x7d, 0x20]

export const CALL_DONE = 'response.function_call_arguments.done'
/** Events that open a reply, without `response.`: they hold nothing but the request. */
const OPENING = ['created"', 'in_progress"', 'queued"']

/** One frame of a batch; each text that it takes is the batch, which ends with a blank line. */
export class FrameView {
  /** Just behind the frame's blank line. */
  end = 0
  /** Beginning of the JSON; -1 where the frame is not of the usual form and must be parsed. */
  private json = -1
  /** Beginning of the type's name, behind `response.`. */
  name = 0
  /** The quote that ends the name. */
  private nameEnd = 0
  /** True where it has an event line. */
  named = false
  /** Beginning of the digits of its number. */
  digits = -1
  /** Bytes of the text that a delta brings; 0 for any other frame: those that end a part only say it again. */
  words = 0
  private readonly texts = new LikeTexts()
  /** Deltas of one other type. */
  private pieces = new LikeTexts()
  private pieceType = ''
  private readonly numbers = new FrameNumbers()

  /**
   * Reads a text delta of the usual form, which nearly every frame is. A cut that is compared whole is the fastest comparison.
   * @returns false for any other frame, of which nothing is known then.
   */
  readText(text: string, at: number): boolean {
    const digits = at + TEXT_DELTA.length
    if (text.slice(at, digits) !== TEXT_DELTA) return false
    const line = text.indexOf('\n', digits)
    const after = digitsEnd(text, digits)
    if (after === digits || text.charCodeAt(line + 1) !== NEWLINE) return false
    this.end = line + 2
    this.digits = digits
    const { texts } = this
    if (
      !texts.has(text, after, line) &&
      !(this.learn(texts, { text, from: after, end: line, needed: PLACE }) && texts.has(text, after, line))
    )
      return false
    this.words = texts.bytes
    return true
  }

  /** True where a text behind the number of the sequence has all others, and none of them is odd. */
  private learn(like: LikeTexts, { text, from, end, needed }: { text: string; from: number; end: number; needed: number }): boolean {
    const { numbers } = this
    if (!ENDS.includes(text.charCodeAt(from)) || !numbers.read(text, from, end) || (numbers.indexes[0] ?? 0) < needed) return false
    like.learn(text, from, end)
    return true
  }

  /** After `readContent`: true where no number of the frame is odd, and those of its place are there. */
  isNumbered(text: string): boolean {
    const { numbers, json, end, name } = this
    const needed = numbersNeeded(text, name)
    const from = digitsEnd(text, this.digits)
    // What stands before the number has been compared.
    if (!this.isPiece(text) || this.digits !== this.nameEnd + 1 + AFTER_TYPE.length)
      return numbers.read(text, json, end) && (numbers.indexes[1] ?? 0) >= needed
    const type = text.slice(name, this.nameEnd)
    if (type !== this.pieceType) this.pieces = new LikeTexts()
    this.pieceType = type
    return this.pieces.has(text, from, end - 2) || this.learn(this.pieces, { text, from, end: end - 2, needed })
  }

  /** Reads where the frame at `at` ends and, where its form is usual, its type. */
  read(text: string, at: number): void {
    let data = at
    let line = text.indexOf('\n', at)
    this.named = text.startsWith(EVENT, at)
    if (this.named) {
      data = line + 1
      line = text.indexOf('\n', data)
    }
    this.json = -1
    if (line === -1 || text.charCodeAt(line + 1) !== NEWLINE) {
      this.end = text.indexOf('\n\n', at) + 2
      return
    }
    this.end = line + 2
    const json = data + DATA.length
    if (!text.startsWith(DATA, data) || !text.startsWith(HEAD, json)) return
    this.name = json + HEAD.length
    this.nameEnd = text.indexOf('"', this.name)
    // An event line that differs from the type is written anew: the two must match (Open Responses specification, "Streaming").
    if (!this.named || this.matches(text, at + EVENT.length, data - 1)) this.json = json
  }

  /** After `read`: number and words of a frame of content. @returns false for one that must be parsed. */
  readContent(text: string): boolean {
    if (this.json === -1 || !this.isContent(text)) return false
    this.digits = this.sequenceAt(text)
    if (this.digits === -1) return false
    this.words = this.deltaBytes(text)
    return true
  }

  /** After `read`: true for an event that opens a reply. */
  isOpening(text: string): boolean {
    return this.json !== -1 && OPENING.some((name) => text.startsWith(name, this.name))
  }

  /** After `read`: true for a piece of something longer. */
  isPiece(text: string): boolean {
    return text.startsWith('.delta', this.nameEnd - 6)
  }

  type(text: string): string {
    return text.slice(this.json + TYPE_AT, this.nameEnd)
  }

  /** @param from, to the event line behind its name. */
  private matches(text: string, from: number, to: number): boolean {
    const start = this.name - NAME_AT
    return to - from === this.nameEnd - start && text.slice(from, to) === text.slice(start, this.nameEnd)
  }

  /** Types of content have a second dot (`response.output_text.delta`), those of the lifecycle have none. */
  private isContent(text: string): boolean {
    if (text.startsWith('output_text.delta"', this.name)) return true
    // Strict clients demand the name of the function here; not every provider sends it.
    if (text.startsWith(`${CALL_DONE.slice(9)}"`, this.name)) return false
    const dot = text.indexOf('.', this.name)
    return dot !== -1 && dot < this.nameEnd
  }

  /** @returns where the digits of the top-level `sequence_number` begin, -1 where it has none. */
  private sequenceAt(text: string): number {
    let at = -1
    if (text.startsWith(AFTER_TYPE, this.nameEnd + 1)) at = this.nameEnd + 1 + AFTER_TYPE.length
    else {
      // As the last member: what stands before the closing brace of the object is at the top level.
      let i = this.end - 4
      while (isDigit(text.charCodeAt(i))) i--
      if (text.charCodeAt(this.end - 3) === 0x7d && text.startsWith(KEY, i + 1 - KEY.length)) at = i + 1
      else at = searchTopLevel(text, this.json, this.end)
    }
    return at !== -1 && isDigit(text.charCodeAt(at)) && ENDS.includes(text.charCodeAt(digitsEnd(text, at))) ? at : -1
  }

  private deltaBytes(text: string): number {
    if (!this.isPiece(text)) return 0
    const from = text.indexOf(DELTA, this.nameEnd)
    return from === -1 || from >= this.end ? 0 : textBytes(text, from + DELTA.length)
  }
}

/** Numbers that an event has beside that of the sequence. @param name where its name begins, behind `response.`. */
function numbersNeeded(text: string, name: number): number {
  if (text.startsWith(ANNOTATION, name)) return PLACE + 1
  return PARTS.some((part) => text.startsWith(part, name)) ? PLACE : 1
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
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

/** @returns just behind the last digit of a number. */
export function digitsEnd(text: string, at: number): number {
  let end = at
  while (isDigit(text.charCodeAt(end))) end++
  return end
}

/** True where the digits at `at` spell `value`. */
export function spells(text: string, at: number, value: number): boolean {
  let number = 0
  let i = at
  for (; isDigit(text.charCodeAt(i)); i++) number = number * 10 + text.charCodeAt(i) - 0x30
  return number === value
}
