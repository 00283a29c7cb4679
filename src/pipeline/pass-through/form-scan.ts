/**
 * Possible ids in a form that is uploaded (RFC 7578): the ends of its values, wherever a server finds the borders of its parts. What its
 * files hold is looked at by `TextScan`.
 */
import { Fault } from '../../core/faults.ts'

/** Bytes of a value that are looked at: a field may hold many ids. */
const LONGEST_VALUE = 8 * 1024
/** Bytes of the head of one part. */
const LONGEST_HEAD = 8 * 1024
/** With this ends every value, whatever the boundary is. */
const END = Buffer.from('\n--')
const BETWEEN = /[\s"'()<>[\]{}]+/
/** RFC 2046 section 5.1.1, in one form that is read alike everywhere. */
const BOUNDARY = /^multipart\/[\w.+-]+\s*;(?:[^"]*;)?\s*boundary=(?:"([\w'()+,\-./:=?]{1,70})"|([\w'()+\-./:=?]{1,70}))\s*(?:;.*)?$/i
/** Their first half is ASCII, as ids are. */
const CHARSETS = /^(?:utf-?8|us-ascii|iso-8859-\d+|windows-125\d)$/i
/** A coding in which no id is found. */
const CODED = /^content-transfer-encoding[^\S\n]*:(?![^\S\n]*(?:7bit|8bit|binary)[^\S\n]*\r?$)/im

const refused = (what: string): Fault => new Fault('bad_request', { message: `${what}: in no other form ids of providers are found` })

function boundaryOf(contentType: string): string {
  const [, quoted, plain] = BOUNDARY.exec(contentType.trim()) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined || contentType.match(/boundary/gi)?.length !== 1) throw refused('content-type: expected one boundary')
  checkCharsets(contentType)
  return boundary
}

function checkCharsets(text: string): void {
  for (const [, charset = ''] of text.matchAll(/charset\*?\s*=\s*["']?([^\s"';]*)/gi))
    if (!CHARSETS.test(charset)) throw refused('content-type: expected the charset utf-8')
}

export class FormScan {
  private readonly delimiter: Buffer
  private readonly onText: (text: string) => void
  /** The end of what has come; a form begins as if a line had ended. */
  private rest: Buffer = Buffer.from('\n')
  /** Place from which the next end of a value is looked for, and the place up to which values have been looked at. */
  private from = 0
  private looked = 0
  /** The part has a file, whose words are no ids. */
  private isFile = false

  /** @param onText gets words of values. @throws Fault 400 for a form whose parts servers may find in different places. */
  constructor(contentType: string, onText: (text: string) => void) {
    this.delimiter = Buffer.from(`\n--${boundaryOf(contentType)}`, 'latin1')
    this.onText = onText
  }

  /** @throws Fault 400 for a part in a coding. */
  push(chunk: Buffer): void {
    const bytes = Buffer.concat([this.rest, chunk])
    let at = bytes.indexOf(END, this.from)
    while (at !== -1) {
      this.value(bytes, at)
      if (!this.part(bytes, at)) break
      at = bytes.indexOf(END, at + END.length)
    }
    const from = at === -1 ? Math.max(0, bytes.length - END.length + 1) : at
    const kept = Math.max(0, from - LONGEST_VALUE)
    this.rest = bytes.subarray(kept)
    this.from = from - kept
    this.looked = Math.max(0, this.looked - kept)
  }

  private value(bytes: Buffer, end: number): void {
    const text = bytes.toString('latin1', Math.max(this.looked, end - LONGEST_VALUE), end)
    this.looked = end
    if (this.isFile) return
    for (const word of text.split(BETWEEN)) if (word !== '') this.onText(word)
  }

  /** @returns false where more bytes are needed. @throws Fault 400 for a coding. */
  private part(bytes: Buffer, at: number): boolean {
    const { delimiter } = this
    const begin = at + delimiter.length
    const found = bytes.subarray(at, begin)
    if (!delimiter.subarray(0, found.length).equals(found)) return true
    const head = bytes.toString('latin1', begin, begin + LONGEST_HEAD)
    if (head.startsWith('--')) this.isFile = false
    // The last boundary, or one that is longer.
    if (/^[^\S\n]*\S/.test(head)) return true
    const end = head.search(/\n\r?\n/)
    if (end === -1) {
      if (head.length < LONGEST_HEAD) return false
      throw refused(`body: expected at most ${LONGEST_HEAD} bytes in the head of a part`)
    }
    const lines = head.slice(0, end + 1)
    if (CODED.test(lines)) throw refused('content-transfer-encoding: expected the bytes as they are')
    this.isFile = /filename/i.test(lines)
    // The charset of a file is that of its content alone.
    if (!this.isFile) checkCharsets(lines)
    return true
  }
}
