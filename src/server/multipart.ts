/** Reads multipart/form-data (RFC 7578, RFC 2046 section 5.1) piece by piece, however it was cut: nothing of a part is collected. */
import { badField, type Fault } from '../core/faults.ts'
import { type PartHead, partHead } from './part-head.ts'

export type FormPiece =
  | { kind: 'part'; head: PartHead }
  /** Bytes of the part that was announced last. */
  | { kind: 'bytes'; bytes: Buffer }
  | { kind: 'part-end' }

/** Bytes of the head of one part. */
const LONGEST_HEAD = 8 * 1024
/** Blanks behind a delimiter. */
const LONGEST_PADDING = 64
const MOST_PARTS = 64

const CRLF = Buffer.from('\r\n')
const BLANK_LINE = Buffer.from('\r\n\r\n')

type State = 'preamble' | 'delimiter' | 'head' | 'body' | 'epilogue'

export class FormReader {
  /** CRLF, two dashes, the boundary. */
  private readonly delimiter: Buffer
  /** What is not decided yet. The form begins as if a line had ended: the first delimiter may stand at its very start. */
  private rest: Buffer = CRLF
  private state: State = 'preamble'
  private parts = 0

  /** @param boundary as `boundaryOf` gives it. */
  constructor(boundary: string) {
    this.delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  }

  /** @throws Fault 400 where it is no such form. */
  push(chunk: Buffer): FormPiece[] {
    const pieces: FormPiece[] = []
    if (this.state === 'epilogue') return pieces
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk])
    while (this.step(pieces));
    return pieces
  }

  /** The body has ended. @throws Fault 400 where the form has not. */
  end(): void {
    if (this.state !== 'epilogue') throw malformed('it ends before its last boundary')
  }

  /** @returns false where more bytes are needed. */
  private step(pieces: FormPiece[]): boolean {
    switch (this.state) {
      case 'preamble':
        return this.text(undefined)
      case 'body':
        return this.text(pieces)
      case 'delimiter':
        return this.behindDelimiter()
      case 'head':
        return this.head(pieces)
      case 'epilogue':
        this.rest = EMPTY
        return false
    }
  }

  /** Up to the next delimiter. @param pieces undefined for the preamble, which belongs to no part. */
  private text(pieces: FormPiece[] | undefined): boolean {
    const { rest, delimiter } = this
    const at = rest.indexOf(delimiter)
    // The beginning of a delimiter may stand at the end.
    const sure = at === -1 ? Math.max(0, rest.length - delimiter.length + 1) : at
    if (pieces && sure > 0) pieces.push({ kind: 'bytes', bytes: rest.subarray(0, sure) })
    if (at === -1) {
      this.rest = rest.subarray(sure)
      return false
    }
    pieces?.push({ kind: 'part-end' })
    this.rest = rest.subarray(at + delimiter.length)
    this.state = 'delimiter'
    return true
  }

  private behindDelimiter(): boolean {
    const { rest } = this
    if (rest.length < 2) return false
    if (rest[0] === DASH && rest[1] === DASH) {
      this.state = 'epilogue'
      return true
    }
    let at = 0
    while (rest[at] === SPACE || rest[at] === TAB) at++
    if (at > LONGEST_PADDING) throw malformed('a boundary is followed by too many blanks')
    if (rest.length < at + 2) return false
    if (rest[at] !== CR || rest[at + 1] !== LF) throw malformed('a boundary is not the end of its line')
    if (++this.parts > MOST_PARTS) throw malformed(`it has more than ${MOST_PARTS} parts`)
    // The line's end stays: a part without headers begins with an empty line.
    this.rest = rest.subarray(at)
    this.state = 'head'
    return true
  }

  private head(pieces: FormPiece[]): boolean {
    const { rest } = this
    const at = rest.indexOf(BLANK_LINE)
    if (at > LONGEST_HEAD || (at === -1 && rest.length > LONGEST_HEAD + BLANK_LINE.length))
      throw malformed('the head of a part is too long')
    if (at === -1) return false
    pieces.push({ kind: 'part', head: partHead(rest.subarray(0, at).toString('utf8')) })
    this.rest = rest.subarray(at + BLANK_LINE.length)
    this.state = 'body'
    return true
  }
}

const EMPTY = Buffer.alloc(0)
const DASH = 0x2d
const SPACE = 0x20
const TAB = 0x09
const CR = 0x0d
const LF = 0x0a

function malformed(why: string): Fault {
  return badField('body', `expected multipart/form-data, but ${why}`)
}
