/**
 * Frames of server-sent events: cut out of a provider's bytes without decoding them, looked at, and written to a caller.
 * Text is binary (latin1): one character per byte, so UTF-8 survives any cut.
 */
import type { OutgoingHttpHeaders } from 'node:http'
import type { JsonObject } from '../../core/json.ts'

/** Longest frame that is kept while its end is awaited: an image travels in one. */
export const MAX_FRAME = 16 * 1024 * 1024

export class FrameSplitter {
  /** Never searched again, so that a long frame costs no more than its length. */
  private held = ''
  /** True where what is held ends with a line end: half of a blank line. */
  private heldEnd = false
  private first = true
  /** A CR at the end of a chunk may be half of a CRLF. */
  private heldCr = false

  /**
   * @returns the whole frames now known, each ended by a blank line (`\n\n`) with nothing behind the last one, '' for none.
   * Line ends CR and CRLF become LF, which the format treats alike (WHATWG HTML, 9.2.6).
   * @throws RangeError when a frame passes MAX_FRAME.
   */
  push(chunk: Buffer): string {
    let text = chunk.toString('latin1')
    const raw = text
    if (this.heldCr || text.includes('\r')) text = this.normalise(text)
    if (this.first && text.length > 0) {
      this.first = false
      if (text.startsWith('\u00ef\u00bb\u00bf')) text = text.slice(3)
    }
    if (this.held === '' && text.endsWith('\n\n')) return withoutSurplus(text)
    if (text === '') return ''
    // A string is searched from its end character by character: 64 KB of one event take 60 µs, their bytes 3.
    const last = text === raw ? chunk.lastIndexOf('\n\n') : text.lastIndexOf('\n\n')
    const end = last !== -1 ? last + 2 : this.heldEnd && text.startsWith('\n') ? 1 : 0
    const whole = end === 0 ? '' : this.held + text.slice(0, end)
    this.held = end === 0 ? this.held + text : text.slice(end)
    this.heldEnd = this.held !== '' && text.endsWith('\n')
    if (this.held.length > MAX_FRAME) throw new RangeError('an event of the stream is too long')
    return withoutSurplus(whole)
  }

  /** Rest without a blank line when the stream closes, as a frame; providers forget the last one. */
  close(): string {
    const rest = this.held
    this.held = ''
    this.heldEnd = false
    return rest.trim() === '' ? '' : `${rest.replace(/\n+$/, '')}\n\n`
  }

  private normalise(text: string): string {
    let all = text
    if (this.heldCr) {
      // The CR ended its line already when it came; an LF right after it is the same line end.
      this.heldCr = false
      if (all.startsWith('\n')) all = all.slice(1)
    }
    if (all.endsWith('\r')) this.heldCr = true
    return all.replace(/\r\n?/g, '\n')
  }
}

/** Frames without further line ends behind their last blank line: half of another blank line is no frame. */
function withoutSurplus(frames: string): string {
  let end = frames.length
  while (end > 2 && frames.charCodeAt(end - 3) === LF) end--
  return end === frames.length ? frames : frames.slice(0, end)
}

/** Joins the `data` lines of one frame; undefined if it has none (a comment, an empty frame). */
export function frameData(frame: string): string | undefined {
  if (frame.startsWith('data: ') && frame.indexOf('\n') === frame.length - 2) return frame.slice(6, -2)
  let data: string | undefined
  for (const line of frame.split('\n')) {
    if (!line.startsWith('data')) continue
    const rest = line.slice(4)
    if (rest !== '' && !rest.startsWith(':')) continue
    const value = rest.startsWith(': ') ? rest.slice(2) : rest.slice(1)
    data = data === undefined ? value : `${data}\n${value}`
  }
  return data
}

/** The name in the `event` line; undefined where the frame has none. */
export function eventName(frame: string): string | undefined {
  return /^event: ?(.*)$/m.exec(frame)?.[1]
}

/** @param data JSON, one character per byte. @returns undefined for what is no JSON object. */
export function jsonObject(data: string): JsonObject | undefined {
  // No other value begins so.
  if (!data.trimStart().startsWith('{')) return undefined
  try {
    return JSON.parse(utf8(data)) as JsonObject
  } catch {
    return undefined
  }
}

/** The object in the data of one frame; undefined where it has none. */
export function frameObject(frame: string): JsonObject | undefined {
  const data = frameData(frame)
  return data === undefined ? undefined : jsonObject(data)
}

/** Characters of a text that are sooner looked at one by one than copied. */
const SHORT = 1_024

/** A binary string as the text that its bytes spell in UTF-8. */
export function utf8(binary: string): string {
  if (binary.length > SHORT) return Buffer.from(binary, 'latin1').toString('utf8')
  // Only bytes above 0x7f differ; most frames have none.
  for (let i = 0; i < binary.length; i++) if (binary.charCodeAt(i) > 0x7f) return Buffer.from(binary, 'latin1').toString('utf8')
  return binary
}

/** Text as the binary string of its UTF-8 bytes. */
export function binary(text: string): string {
  // Most text is ASCII, which is its own bytes.
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text, 'utf8').toString('latin1')
}

/** The same binary text by itself: V8 has a cut of 13 characters or more keep all of the text that it was cut from. */
export function alone(cut: string): string {
  return Buffer.from(cut, 'latin1').toString('latin1')
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const LETTER_U = 0x75
const LF = 0x0a
/** A backslash, the letter u and four digits. */
const UNIT_LENGTH = 6

/** The index of the quote that ends a JSON string whose inside begins at `from`; the end of the text if there is none. */
export function endOfString(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === BACKSLASH) at++
    else if (unit === QUOTE) return at
  }
  return text.length
}

/** Bytes of UTF-8 that one UTF-16 unit comes to; each half of a pair is half of four. */
function bytesOfUnit(unit: number): number {
  if (unit < 0x80) return 1
  if (unit < 0x800) return 2
  return unit >= 0xd800 && unit < 0xe000 ? 2 : 3
}

/** Bytes of the text that the escape at this backslash stands for. */
function bytesOfEscape(frames: string, at: number): number {
  if (frames.charCodeAt(at + 1) !== LETTER_U) return 1
  return bytesOfUnit(Number.parseInt(frames.slice(at + 2, at + UNIT_LENGTH), 16))
}

const lengthOfEscape = (frames: string, at: number): number => (frames.charCodeAt(at + 1) === LETTER_U ? UNIT_LENGTH : 2)

/**
 * Length of the text of a JSON string of a raw frame; frames have one byte per character.
 * Bytes of the text of the JSON string whose inside begins at `from`.
 */
export function textBytes(frames: string, from: number): number {
  let bytes = 0
  for (let at = from; at < frames.length; ) {
    const code = frames.charCodeAt(at)
    if (code === QUOTE || code === LF) return bytes
    if (code === BACKSLASH) {
      bytes += bytesOfEscape(frames, at)
      at += lengthOfEscape(frames, at)
    } else {
      bytes++
      at++
    }
  }
  return bytes
}

/** Bytes by which the escapes of a text are longer than what they stand for. */
export function escapeExcess(frames: string): number {
  let excess = 0
  for (let at = frames.indexOf('\\'); at !== -1; ) {
    const length = lengthOfEscape(frames, at)
    excess += length - bytesOfEscape(frames, at)
    at = frames.indexOf('\\', at + length)
  }
  return excess
}

const CR = 0x0d
/** Characters of a line that decide what it is. */
const DECISIVE = 48
/** Beginning of the name of a type in a line of data. */
const TYPE = 'data: {"type":"'.length
/** `event: ping` of the Messages API, `event: keepalive` of the Responses API, and what compatible servers send. */
const QUIET_EVENT = /^event: ?(?:ping|keep[-_]?alive|heartbeat)\s*$/
const QUIET_DATA = /^data: ?\{\s*"type"\s*:\s*"(?:ping|keep[-_]?alive|heartbeat)"/
/** The beginning of a data line whose type is not known yet. */
const UNDECIDED_DATA = /^data: ?(?:\{\s*(?:"(?:t(?:y(?:p(?:e(?:"\s*(?::\s*(?:"[a-z_-]*)?)?)?)?)?)?)?)?)?\r?$/

/** Initials of the keep-alives, and what may stand before them. */
const DOUBTFUL: ReadonlySet<number | undefined> = new Set([...Buffer.from('pkh "'), undefined])

/**
 * True for what nearly every chunk is: it begins with `data: {"`, where the first member is not the type, or with an event
 * and its data neither of which names a keep-alive, and ends with a blank line. Of such a chunk nothing has to be followed.
 */
function isPlainFrames(chunk: Buffer): boolean {
  const end = chunk.length - 1
  if (end < 9 || chunk[end] !== LF || (chunk[end - 1] !== LF && (chunk[end - 1] !== CR || chunk[end - 2] !== LF))) return false
  if (chunk[0] === 0x64) return chunk[5] === 0x20 && chunk[6] === 0x7b && chunk[7] === 0x22 && chunk[8] !== 0x74 && chunk[4] === 0x3a
  if (chunk[0] !== 0x65 || chunk[5] !== 0x3a || chunk[6] !== 0x20) return false
  // A name has some thirty letters: a loop over them is shorter than a call into Node.
  let data = 8
  while (chunk[data - 1] !== LF) data++
  return chunk[data] === 0x64 && !DOUBTFUL.has(chunk[7]) && !DOUBTFUL.has(chunk[data + TYPE])
}

/**
 * Follows a stream of server-sent events line by line. Only `data` lines count as life, from their first bytes on, so that
 * one long event that arrives in pieces does; comments, blank lines and keep-alive events do not (WHATWG HTML 9.2.6).
 */
export class StreamLife {
  /** The beginning of the line at hand. */
  private line = ''
  private kind: 'unknown' | 'life' | 'nothing' = 'unknown'
  /** The event at hand is a keep-alive, whatever its data says. */
  private quiet = false

  /** @returns true where the chunk holds bytes of an event. */
  push(chunk: Buffer): boolean {
    if (this.line === '' && !this.quiet && isPlainFrames(chunk)) return true
    const mark = chunk.includes(LF) || !chunk.includes(CR) ? LF : CR
    let found = false
    for (let at = 0; at < chunk.length; ) {
      const next = chunk.indexOf(mark, at)
      const end = next === -1 ? chunk.length : next
      const unknown = this.kind === 'unknown'
      if (unknown) this.judge(chunk.toString('latin1', at, Math.min(end, at + DECISIVE - this.line.length)), next !== -1)
      // An end alone adds nothing to a line that has counted already.
      const counts = this.kind === 'life' && (unknown || end > at)
      at = next === -1 ? end : end + 1
      if (counts && !found) {
        found = true
        // The rest of the chunk matters only for the line that it leaves unfinished.
        const blank = chunk.lastIndexOf('\n\n')
        if (blank >= end) {
          at = blank + 2
          this.quiet = false
          this.begin()
          continue
        }
      }
      if (next !== -1) this.endLine()
    }
    return found
  }

  private judge(piece: string, ended: boolean): void {
    this.line += piece
    const { line } = this
    const open = !ended && line.length < DECISIVE
    if (this.quiet) return
    if (line.startsWith('data:')) {
      if (QUIET_DATA.test(line)) this.kind = 'nothing'
      else if (!open || !UNDECIDED_DATA.test(line)) this.kind = 'life'
    } else if (line.length >= DECISIVE || (line !== '' && !'de\r'.includes(line.charAt(0)))) this.kind = 'nothing'
  }

  private endLine(): void {
    if (this.line === '' || this.line === '\r') this.quiet = false
    else if (QUIET_EVENT.test(this.line)) this.quiet = true
    this.begin()
  }

  private begin(): void {
    this.line = ''
    this.kind = 'unknown'
  }
}

/** Held bytes that are not left waiting for the end of the turn. */
const MAX_HELD = 64 * 1024

interface StreamTarget {
  readonly destroyed: boolean
  write(chunk: string, encoding: BufferEncoding): boolean
  once(event: 'drain', fn: () => void): unknown
}

/** The reply that a stream goes into: Node's own, or that to a plain request. */
export interface StreamReply extends StreamTarget {
  readonly writableEnded: boolean
  /** Null behind another reply of its pipeline. */
  readonly socket: StreamTarget | null
  /** False where what is written is framed already. */
  chunkedEncoding: boolean
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown
  end(chunk: string, encoding: BufferEncoding): unknown
}

/**
 * Writes an event stream to a client: own chunk framing, one socket write per turn, back-pressure.
 * Node frames a chunk with four socket writes. Here all that comes within one turn becomes one chunk in one write;
 * `chunkedEncoding` is switched off once the head is made (RFC 9112, 7.1 is kept by us).
 */
export class EventWriter {
  private readonly response: StreamReply
  private readonly chunked: boolean
  private draining: (() => void) | undefined
  /** Bytes of this turn, one per character. */
  private held = ''
  private scheduled = false
  private flowing = true
  private begun = false

  /** @param chunked false for a caller of HTTP/1.0, which knows no chunks (RFC 9112 section 7.1): the end of the connection ends the reply. */
  constructor(response: StreamReply, headers: OutgoingHttpHeaders, chunked: boolean) {
    this.response = response
    this.chunked = chunked
    response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-cache',
      'X-Accel-Buffering': 'no',
      ...(chunked && { 'Transfer-Encoding': 'chunked' }),
      ...headers,
    })
    // The head waits for the first chunk, which is never far: one write for both.
    response.chunkedEncoding = false
  }

  /** `text` holds raw bytes, one per character. @returns false if the client should be waited for. */
  writeBytes(text: string): boolean {
    if (text === '') return true
    this.held += text
    if (this.held.length >= MAX_HELD) this.flush()
    else if (!this.scheduled) {
      this.scheduled = true
      process.nextTick(this.flush)
    }
    return this.flowing
  }

  /** `text` is text; it leaves as UTF-8. */
  writeText(text: string): boolean {
    return this.writeBytes(binary(text))
  }

  /**
   * @param bytes the last, one per character.
   * @param isWhole false where the last chunk is left out, so that the body is known not to be whole (RFC 9112, section 8).
   */
  end(bytes: string, isWhole = true): void {
    const last = this.held + bytes
    this.held = ''
    if (!this.chunked) this.response.end(last, 'latin1')
    else this.response.end((last === '' ? '' : framed(last)) + (isWhole ? LAST_CHUNK : ''), 'latin1')
  }

  /** Calls `fn` once when the client has read enough to go on; a later call replaces an earlier one. */
  onDrain(fn: () => void): void {
    this.draining = fn
  }

  private readonly flush = (): void => {
    this.scheduled = false
    const { held, response } = this
    if (held === '' || response.writableEnded) return
    this.held = ''
    const { socket } = response
    // The first write takes the head along. Later ones spare the detour through the reply, which would wait another tick;
    // a reply that is not first in its pipeline has no socket yet.
    const target: StreamTarget = this.begun && socket ? socket : response
    this.begun = true
    const bytes = this.chunked ? framed(held) : held
    if (target.destroyed || target.write(bytes, 'latin1') || !this.flowing) return
    this.flowing = false
    target.once('drain', () => {
      this.flowing = true
      const waiting = this.draining
      this.draining = undefined
      waiting?.()
    })
  }
}

const LAST_CHUNK = '0\r\n\r\n'

function framed(bytes: string): string {
  return `${bytes.length.toString(16)}\r\n${bytes}\r\n`
}
