/**
 * Recognises an answer whose head leaves nothing to decide: a small one that has come in one piece, or the beginning of one that comes in
 * chunks. Providers send some twenty fields; of an answer only those are taken out of the head that something reads. Anything else is
 * undefined here, and the parser's to read.
 */

/** Fields of an answer that say how its body is read, or how long the connection is kept. */
export type AnswerFields = Record<'content-type' | 'content-encoding' | 'keep-alive', string | undefined>

export interface PlainReply {
  readonly status: number
  readonly fields: AnswerFields
  /** True where `body` is the beginning of one in chunks, with their sizes. */
  readonly chunked: boolean
  /** Shares its memory with what was read. */
  readonly body: Buffer
}

/** Bytes. */
const MAX_HEAD_LENGTH = 8 * 1024

/** An answer of HTTP/1.1 (RFC 9112 sections 4 and 5): plain names, and values of printable ASCII, one to a line. Of an error all fields may count. */
const HEAD = /^HTTP\/1\.1 20[01](?: [ -~]*)?(?:\r\n[\w-]+: ?[!-~](?:[ -~]*[!-~])?)+$/

const LENGTH = /^\d{1,9}$/

/** Names that decide about the framing or the connection, and those of `AnswerFields`. */
const READ = ['connection', 'content-length', 'transfer-encoding', 'upgrade', 'keep-alive', 'content-type', 'content-encoding']
/** A bit for each of their lengths: of no other field is anything looked at. */
const READ_LENGTHS = READ.reduce((bits, { length }) => bits | (1 << length), 0)
const MAX_NAME_LENGTH = Math.max(...READ.map(({ length }) => length))

const SPACE = 0x20

/** @param bytes all that has been read of the reply. */
export function plainReply(bytes: Buffer): PlainReply | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1 || end > MAX_HEAD_LENGTH) return undefined
  const text = bytes.toString('latin1', 0, end)
  if (!HEAD.test(text)) return undefined
  const fields: AnswerFields = { 'content-type': undefined, 'content-encoding': undefined, 'keep-alive': undefined }
  let length: number | undefined
  let chunked = false
  for (let at = text.indexOf('\r\n'); at !== -1; ) {
    const next = text.indexOf('\r\n', at + 2)
    const colon = text.indexOf(':', at)
    const size = colon - at - 2
    if (size <= MAX_NAME_LENGTH && (READ_LENGTHS & (1 << size)) !== 0) {
      const name = text.slice(at + 2, colon).toLowerCase()
      const value = text.slice(text.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1, next === -1 ? undefined : next)
      if (name === 'content-length') {
        if (length !== undefined || !LENGTH.test(value)) return undefined
        length = Number(value)
      } else if (name === 'transfer-encoding') {
        if (chunked || value !== 'chunked') return undefined
        chunked = true
      } else if (name === 'upgrade' || (name === 'connection' && value !== 'keep-alive')) return undefined
      else if (!takes(fields, name, value)) return undefined
    }
    at = next
  }
  // Both together are how replies are smuggled (RFC 9112 section 6.3).
  if (chunked ? length !== undefined : length === undefined || end + 4 + length !== bytes.length) return undefined
  return { status: Number(text.slice(9, 12)), fields, chunked, body: bytes.subarray(end + 4) }
}

/** Some servers take leave of an idle connection with a 408 (RFC 9110 section 15.5.9; Go's client knows it as well, `is408Message` in net/http/transport.go). */
export const isFarewell = (bytes: Buffer): boolean => /^HTTP\/1\.[01] 408 /.test(bytes.toString('latin1', 0, 13))

/** @returns false where the field has come before: several values are the parser's to read. */
function takes(fields: AnswerFields, name: string, value: string): boolean {
  if (name === 'content-type') {
    if (fields['content-type'] !== undefined) return false
    fields['content-type'] = value
  } else if (name === 'content-encoding') {
    if (fields['content-encoding'] !== undefined) return false
    fields['content-encoding'] = value
  } else if (name === 'keep-alive') {
    if (fields['keep-alive'] !== undefined) return false
    fields['keep-alive'] = value
  }
  return true
}

type State = 'size' | 'size-lf' | 'content' | 'end-cr' | 'end-lf' | 'last-cr' | 'last-lf'

const CR = 0x0d
const LF = 0x0a

/** Digits of a size: 256 MB at most. A longer one is the parser's to read. */
const MAX_DIGITS = 7

/**
 * Reads a body that comes in chunks of the plainest form (RFC 9112 section 7.1): no extensions, no trailers. It finds where chunks end
 * and judges nothing: at the first byte that is not of this form it says what the parser has to be given, and the parser reads on.
 */
export class ChunkedBody {
  /** Result of `read`: more is to come, the body is whole, or something is left to decide. */
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
    const value = byteDigit(byte)
    if (value === -1 || this.digits === MAX_DIGITS) return false
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
function byteDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}
