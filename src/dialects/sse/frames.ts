/**
 * Cuts a byte stream into whole SSE frames without decoding it.
 * Text is binary (latin1): one character per byte, so UTF-8 survives any cut.
 */

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
   * @returns the whole frames now known, each ended by a blank line (`\n\n`), '' for none.
   * Line ends CR and CRLF become LF, which the format treats alike (WHATWG HTML, 9.2.6).
   * @throws RangeError when a frame passes MAX_FRAME.
   */
  push(chunk: Buffer): string {
    let text = chunk.toString('latin1')
    if (this.heldCr || text.includes('\r')) text = this.normalise(text)
    if (this.first && text.length > 0) {
      this.first = false
      if (text.startsWith('\u00ef\u00bb\u00bf')) text = text.slice(3)
    }
    if (this.held === '' && text.endsWith('\n\n')) return text
    if (text === '') return ''
    const last = text.lastIndexOf('\n\n')
    const end = last !== -1 ? last + 2 : this.heldEnd && text.startsWith('\n') ? 1 : 0
    const whole = end === 0 ? '' : this.held + text.slice(0, end)
    this.held = end === 0 ? this.held + text : text.slice(end)
    this.heldEnd = this.held !== '' && text.endsWith('\n')
    if (this.held.length > MAX_FRAME) throw new RangeError('an event of the stream is too long')
    return whole
  }

  /** What is left without a blank line when the stream closes, as a frame; providers forget the last one. */
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

/** A binary string as the text that its bytes spell in UTF-8. */
export function utf8(binary: string): string {
  // Only bytes above 0x7f differ; most frames have none.
  for (let i = 0; i < binary.length; i++) if (binary.charCodeAt(i) > 0x7f) return Buffer.from(binary, 'latin1').toString('utf8')
  return binary
}

/** Text as the binary string of its UTF-8 bytes. */
export function binary(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const LETTER_U = 0x75
const LF = 0x0a
/** A backslash, the letter u and four digits. */
const UNIT_LENGTH = 6

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
 * How much text a JSON string of a raw frame stands for; frames have one byte per character.
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
