/**
 * Reads a body that comes in chunks of the plainest form (RFC 9112 section 7.1): no extensions, no trailers. It finds where chunks end
 * and judges nothing: at the first byte that is not of this form it says what the parser has to be given, and the parser reads on.
 */

type State = 'size' | 'size-lf' | 'content' | 'end-cr' | 'end-lf' | 'last-cr' | 'last-lf'

const CR = 0x0d
const LF = 0x0a

/** Digits of a size: 256 MB at most. A longer one is the parser's to read. */
const MOST_DIGITS = 7

export class ChunkedBody {
  /** What `read` has come to: more is to come, the body is whole, or something is left to decide. */
  outcome: 'more' | 'whole' | 'unclear' = 'more'
  /** The first byte that has not been read. */
  at = 0
  private state: State = 'size'
  private size = 0
  private digits = 0

  /**
   * Moves the content of all chunks to the beginning of the buffer.
   * @param bytes are written to; those from `at` on stay as they are. @returns bytes of content.
   */
  read(bytes: Buffer): number {
    let to = 0
    this.at = 0
    while (this.at < bytes.length && this.outcome === 'more') {
      if (this.state === 'content') {
        const end = Math.min(this.at + this.size, bytes.length)
        if (to !== this.at) bytes.copyWithin(to, this.at, end)
        to += end - this.at
        this.size -= end - this.at
        this.at = end
        if (this.size === 0) this.state = 'end-cr'
      } else if (this.takes(bytes[this.at] as number)) this.at++
      else this.outcome = 'unclear'
    }
    return to
  }

  /** Bytes after which a parser is where this has stopped: behind a head that announces chunks, with one byte of content in some. */
  get before(): string {
    const digits = this.digits === 0 ? '' : this.size.toString(16).padStart(this.digits, '0')
    switch (this.state) {
      case 'size':
        return digits
      case 'size-lf':
        return `${digits}\r`
      case 'content':
      case 'end-cr':
        return '1\r\nx'
      case 'end-lf':
        return '1\r\nx\r'
      case 'last-cr':
        return '0\r\n'
      default:
        return '0\r\n\r'
    }
  }

  /** @returns false for a byte that is not of the plain form. */
  private takes(byte: number): boolean {
    switch (this.state) {
      case 'size':
        return byte === CR ? this.digits > 0 && this.enter('size-lf') : this.takesDigit(byte)
      case 'size-lf':
        this.digits = byte === LF ? 0 : this.digits
        return byte === LF && this.enter(this.size === 0 ? 'last-cr' : 'content')
      case 'end-cr':
        return byte === CR && this.enter('end-lf')
      case 'end-lf':
        return byte === LF && this.enter('size')
      case 'last-cr':
        return byte === CR && this.enter('last-lf')
      default:
        if (byte === LF) this.outcome = 'whole'
        return byte === LF
    }
  }

  private takesDigit(byte: number): boolean {
    const value = digitOf(byte)
    if (value === -1 || this.digits === MOST_DIGITS) return false
    this.size = this.size * 16 + value
    this.digits++
    return true
  }

  private enter(state: State): true {
    this.state = state
    return true
  }
}

/** @returns -1 for what is no hexadecimal digit. */
function digitOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}
