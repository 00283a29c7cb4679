/**
 * Reads multipart/form-data (RFC 7578, RFC 2046 section 5.1) piece by piece, however it was cut: nothing of a part is collected but its
 * headers.
 */
import { badField, Fault } from '../core/faults.ts'

export type FormPiece =
  | { kind: 'part'; head: PartHead }
  /** Bytes of the part that was announced last. */
  | { kind: 'bytes'; bytes: Buffer }
  | { kind: 'part-end' }

/** Bytes of the head of one part. */
const MAX_HEAD_LENGTH = 8 * 1024
/** Blanks behind a delimiter. */
const MAX_PADDING_LENGTH = 64
const MAX_PARTS = 64

const CRLF = Buffer.from('\r\n')
const BLANK_LINE = Buffer.from('\r\n\r\n')

type State = 'preamble' | 'delimiter' | 'head' | 'body' | 'epilogue'

export class FormReader {
  /** CRLF, two dashes, the boundary. */
  private readonly delimiter: Buffer
  /** Part that is not decided yet. The form begins as if a line had ended: the first delimiter may stand at its very start. */
  private rest: Buffer = CRLF
  private state: State = 'preamble'
  private parts = 0

  /** @param boundary as `formBoundary` gives it. */
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
    if (at > MAX_PADDING_LENGTH) throw malformed('a boundary is followed by too many blanks')
    if (rest.length < at + 2) return false
    if (rest[at] !== CR || rest[at + 1] !== LF) throw malformed('a boundary is not the end of its line')
    if (++this.parts > MAX_PARTS) throw malformed(`it has more than ${MAX_PARTS} parts`)
    // The line's end stays: a part without headers begins with an empty line.
    this.rest = rest.subarray(at)
    this.state = 'head'
    return true
  }

  private head(pieces: FormPiece[]): boolean {
    const { rest } = this
    const at = rest.indexOf(BLANK_LINE)
    if (at > MAX_HEAD_LENGTH || (at === -1 && rest.length > MAX_HEAD_LENGTH + BLANK_LINE.length))
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

export interface PartHead {
  /** Of the form's field. */
  name: string
  /** Undefined for a field that is no file. */
  filename: string | undefined
  /** Media type in lower case without parameters; '' where none is named. */
  type: string
}

/** RFC 2046: up to 70 characters, no blank at the end. */
const BOUNDARY = /^[\w'()+,\-./:=? ]{0,69}[\w'()+,\-./:=?]$/

/** @throws Fault 415 for another content type, 400 without a boundary. */
export function formBoundary(contentType: string | undefined): string {
  if (contentType === undefined || !/^\s*multipart\/form-data\s*(;|$)/i.test(contentType))
    throw new Fault('media_type', { message: 'content-type: expected multipart/form-data' })
  const boundary = headerParameter(contentType, 'boundary')
  if (boundary === undefined || !BOUNDARY.test(boundary)) throw badField('content-type', 'expected a boundary of up to 70 characters')
  return boundary
}

/** @param text the header lines, without the empty one. @throws Fault 400. */
export function partHead(text: string): PartHead {
  let disposition = ''
  let type = ''
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(0, colon)).toLowerCase()
    const value = line.slice(colon + 1).trim()
    if (name === 'content-disposition') disposition = value
    else if (name === 'content-type') type = value.replace(/;.*$/s, '').trim().toLowerCase()
    else if (name === 'content-transfer-encoding' && !/^(7bit|8bit|binary)$/i.test(value))
      throw badField('content-transfer-encoding', 'expected the bytes as they are')
  }
  const name = /^form-data\s*(;|$)/i.test(disposition) ? headerParameter(disposition, 'name') : undefined
  if (name === undefined || name === '') throw badField('content-disposition', 'expected form-data with a name in every part')
  return { name: decoded(name), filename: dispositionFilename(disposition), type: /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : '' }
}

/** `filename*` (RFC 8187) is not allowed in forms (RFC 7578 section 4.2), but some clients send it. */
function dispositionFilename(disposition: string): string | undefined {
  const [, extended] = /^utf-8'[^']*'(.*)$/i.exec(headerParameter(disposition, 'filename*') ?? '') ?? []
  if (extended !== undefined) {
    try {
      return decodeURIComponent(extended)
    } catch {
      // The value cannot be decoded: the plain `filename` is used.
    }
  }
  const plain = headerParameter(disposition, 'filename')
  return plain === undefined ? undefined : decoded(plain)
}

/** Browsers write these three so, and nothing else. */
function decoded(value: string): string {
  return value.replace(/%22/g, '"').replace(/%0d/gi, '\r').replace(/%0a/gi, '\n')
}

const PARAMETER = /\s*;\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/gy

/** A parameter of a header's value, without quotes; a backslash counts only before a quote or another one, as in Windows paths. */
function headerParameter(header: string, wanted: string): string | undefined {
  PARAMETER.lastIndex = Math.max(0, header.indexOf(';'))
  for (let match = PARAMETER.exec(header); match; match = PARAMETER.exec(header)) {
    const [, name, quoted, token] = match
    if (name?.toLowerCase() !== wanted) continue
    return quoted === undefined ? token : quoted.replace(/\\(["\\])/g, '$1')
  }
  return undefined
}
