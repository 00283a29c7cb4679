/**
 * Possible ids in a form that is uploaded (RFC 7578): the words of all that is no file. `TextScan` looks at its files.
 */
import { Fault } from '../../core/faults.ts'
import { Pieces } from '../../core/pieces.ts'

/** Bytes that are looked at together: they may come one by one. */
const AT_ONCE = 4 * 1024
/** Bytes of the head of one part. */
const MAX_HEAD_LENGTH = 8 * 1024
/** Bytes of a word of which no end has come: an address with an id in it may be as long. */
const MAX_WORD_LENGTH = 8 * 1024
/** Bytes of a longer word that are looked at again with what follows: more than an id and its collection have. */
const OVERLAP = 1_024
const LINE_END = 0x0a
const DASH = 0x2d
const CARRIAGE_RETURN = 0x0d
const LETTER = String.raw`[^\s"'()<>[\]{}]`
const BETWEEN = /[\s"'()<>[\]{}]/
/** Ids that providers make have digits or signs, or are longer. */
const OF_PROSE = '[A-Z]?[a-z]{0,14}'
/** All words but those of prose that only a blank parts from another: alone in a field or a list, such a word may be a name that a caller gave. */
const WORDS = new RegExp(
  `(?<!${LETTER})(?!(?<=[A-Za-z][ \\t]{1,2})${OF_PROSE}[.,;:!?]?(?!${LETTER})|${OF_PROSE}[ \\t]{1,2}[A-Za-z])${LETTER}+`,
  'g',
)
/** RFC 2046 section 5.1.1, in one form that is read alike everywhere. */
const BOUNDARY = /^multipart\/[\w.+-]+\s*;(?:[^"]*;)?\s*boundary=(?:"([\w'()+,\-./:=?]{1,70})"|([\w'()+\-./:=?]{1,70}))\s*(?:;.*)?$/i
/** The parameter, in each form of it (RFC 2231). Boundaries of browsers have the word in them: `----WebKitFormBoundary`. */
const NAMED_BOUNDARY = /boundary[\s\d*]*=/gi
/** Their first half is ASCII, as ids are. */
const CHARSETS = /^(?:utf-?8|us-ascii|iso-8859-\d+|windows-125\d)$/i
/** A coding in which no id is found. */
const CODED = /^content-transfer-encoding[^\S\n]*:(?![^\S\n]*(?:7bit|8bit|binary)[^\S\n]*\r?$)/im
/** A field with the charset of all others (RFC 7578 section 4.6). */
const CHARSET_FIELD = /_charset_/i
/** The one line of a head that every server reads as that of a file. */
const DISPOSITION =
  /^content-disposition:[ \t]*form-data((?:;[ \t]*(?:(?:file)?name="[^"\\\r\n]+"|filename\*=[\w!#$%&'+.^`|~-]+))+)[ \t]*\r?$/im
const PARAMETER = /;[ \t]*((?:file)?name\*?)=/gi

const refused = (what: string): Fault => new Fault('bad_request', { message: `${what}: in no other form ids of providers are found` })

function formBoundary(contentType: string): string {
  const [, quoted, plain] = BOUNDARY.exec(contentType.trim()) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined || contentType.match(NAMED_BOUNDARY)?.length !== 1) throw refused('content-type: expected one boundary')
  checkCharsets(contentType)
  return boundary
}

/** A name with a star has its own charset in front of the value, or a part of the value (RFC 2231). */
function checkCharsets(text: string): void {
  for (const [, star, charset = ''] of text.matchAll(/charset(\s*\*)?[\s\d*]*=\s*["']?([^\s"';]*)/gi))
    if (star !== undefined || !CHARSETS.test(charset)) throw refused('content-type: expected the charset utf-8')
}

/** @param head of a part. @returns false where a server may read it as that of a field. */
function isOfFile(head: string): boolean {
  // A line that goes on in the next one, or that ends for some servers alone.
  if (/\n[ \t]|\r(?!\n)|\0/.test(head) || head.match(/content-disposition/gi)?.length !== 1) return false
  const names = [...(DISPOSITION.exec(head)?.[1] ?? '').matchAll(PARAMETER)].map(([, name = '']) => name.toLowerCase())
  return names.includes('name') && names.includes('filename') && new Set(names).size === names.length
}

export class FormScan {
  private readonly delimiter: Buffer
  private readonly onText: (text: string) => void
  private readonly came = new Pieces()
  /** The end of what has been looked at; a form begins as if a line had ended. */
  private rest: Buffer = Buffer.from('\n')
  /** A word of which no end has come. */
  private word = ''
  /** The part has a file, whose words are no ids. */
  private isFile = false

  /** @param onText gets words of values. @throws Fault 400 for a form whose parts servers may find in different places. */
  constructor(contentType: string, onText: (text: string) => void) {
    this.delimiter = Buffer.from(`\n--${formBoundary(contentType)}`, 'latin1')
    this.onText = onText
  }

  /** @throws Fault 400 for a part in a coding, and for a head in which servers may find different parts. */
  push(chunk: Buffer): void {
    this.came.push(chunk)
    if (this.came.size >= AT_ONCE) this.look()
  }

  private look(): void {
    const bytes = Buffer.concat([this.rest, this.came.take()])
    let looked = 0
    let at = bytes.indexOf(this.delimiter)
    while (at !== -1) {
      this.value(bytes, looked, at)
      looked = at
      const end = this.part(bytes, at)
      if (end === undefined) break
      this.value(bytes, at, end)
      looked = end
      at = bytes.indexOf(this.delimiter, end)
    }
    // The begin of a border may be at the end of what has come.
    if (at === -1) {
      const whole = Math.max(looked, bytes.length - this.delimiter.length + 1)
      this.value(bytes, looked, whole)
      looked = whole
    }
    this.rest = bytes.subarray(looked)
  }

  /** Looks at what has come last. */
  end(): void {
    this.look()
    // The head of a part whose end has not come.
    if (this.rest.indexOf(this.delimiter) === 0) this.isFile = false
    this.value(this.rest, 0, this.rest.length)
    this.rest = Buffer.alloc(0)
    if (this.word !== '') this.onText(this.word)
    this.word = ''
  }

  private value(bytes: Buffer, from: number, to: number): void {
    if (this.isFile || from >= to) return
    const text = this.word + bytes.toString('latin1', from, to)
    let end = text.length
    while (end > 0 && !BETWEEN.test(text[end - 1] ?? '')) end--
    this.word = text.slice(end)
    for (const word of text.slice(0, end).match(WORDS) ?? []) this.onText(word)
    if (this.word.length <= MAX_WORD_LENGTH) return
    this.onText(this.word)
    this.word = this.word.slice(-OVERLAP)
  }

  /** @returns the place at which the value begins, or undefined where more bytes are needed. @throws Fault 400. */
  private part(bytes: Buffer, at: number): number | undefined {
    const begin = at + this.delimiter.length
    let line = begin
    while (bytes[line] !== LINE_END && isBlank(bytes[line])) line++
    if (line - begin > MAX_HEAD_LENGTH) throw tooLong()
    if (line >= bytes.length) return undefined
    // The last boundary, or one that is longer.
    if (bytes[line] !== LINE_END) {
      if (line === begin && bytes[line] === DASH && bytes[line + 1] === undefined) return undefined
      if (line === begin && bytes[line] === DASH && bytes[line + 1] === DASH) this.isFile = false
      return line
    }
    const end = blankLine(bytes, line, begin + MAX_HEAD_LENGTH)
    if (end === undefined) {
      if (bytes.length - begin < MAX_HEAD_LENGTH) return undefined
      throw tooLong()
    }
    const head = bytes.subarray(begin, end)
    if (head.includes(this.delimiter)) throw refused('body: expected a blank line behind the head of each part')
    const lines = head.toString('latin1').replace(/\r$/, '')
    if (CODED.test(lines)) throw refused('content-transfer-encoding: expected the bytes as they are')
    if (CHARSET_FIELD.test(lines)) throw refused('_charset_: expected none')
    const isFile = isOfFile(lines)
    // The charset of a file is that of its content alone.
    if (!isFile) checkCharsets(lines)
    this.isFile = isFile
    return end
  }
}

const isBlank = (byte: number | undefined): boolean =>
  byte === 0x20 || (byte !== undefined && byte >= 0x09 && byte <= 0x0d) || byte === 0xa0
const tooLong = (): Fault => refused(`body: expected at most ${MAX_HEAD_LENGTH} bytes in the head of a part`)

/** @returns the place of the end of the blank line behind a head: with it a border may begin. */
function blankLine(bytes: Buffer, from: number, to: number): number | undefined {
  for (let at = from; at !== -1 && at < to; at = bytes.indexOf(LINE_END, at + 1)) {
    const next = bytes[at + 1] === CARRIAGE_RETURN ? at + 2 : at + 1
    if (bytes[next] === LINE_END) return next
  }
  return undefined
}
