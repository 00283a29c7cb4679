/** Texts of a JSON source by their values, and what is written out of them: each stands in the bytes of its sender, and is not encoded again. */
import type { Json, JsonObject } from '../../core/json.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Bytes of a string that are looked at one by one: a search costs as much to begin as these together. */
const NEAR = 48

/** Index of the quote that ends the string whose inside begins at `from`; -1 where there is none. */
export function closingQuote(bytes: Buffer, from: number): number {
  for (let at = from; ; ) {
    const near = Math.min(bytes.length, at + NEAR)
    while (at < near) {
      const byte = bytes[at]
      if (byte === QUOTE) return at
      at += byte === BACKSLASH ? 2 : 1
    }
    // An escape that began before `at` is behind us.
    const quote = bytes.indexOf(QUOTE, at)
    if (quote === -1) return -1
    let slashes = 0
    while (quote - slashes > at && bytes[quote - slashes - 1] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return quote
    // Quotes within a text mostly come in pairs.
    at = quote + 1
  }
}

export interface Range {
  readonly from: number
  readonly to: number
}

/** Texts and ranges of a source, one behind the other. */
export class Pieces {
  private readonly source: Buffer
  private readonly pieces: (string | Range)[] = []
  private pending = ''
  private bytes = 0

  constructor(source: Buffer) {
    this.source = source
  }

  text(text: string): void {
    this.pending += text
  }

  range(range: Range): void {
    this.flush()
    this.pieces.push(range)
    this.bytes += range.to - range.from
  }

  joined(): Buffer {
    this.flush()
    const whole = Buffer.allocUnsafe(this.bytes)
    let at = 0
    for (const piece of this.pieces) {
      at += typeof piece === 'string' ? whole.write(piece, at) : this.source.copy(whole, at, piece.from, piece.to)
    }
    return whole
  }

  private flush(): void {
    if (this.pending === '') return
    this.bytes += Buffer.byteLength(this.pending)
    this.pieces.push(this.pending)
    this.pending = ''
  }
}

/** Characters from which on a text is written out of the source: shorter ones are as soon written as found. No text has fewer bytes than characters. */
export const LONG = 256

/** Texts of one length that are compared with one that is to be written. */
const MAX_COMPARED = 4

/** Names that are written as they are. */
const PLAIN = /^\w+$/

interface SourceText extends Range {
  readonly text: string
}

interface SameLength {
  readonly texts: SourceText[]
  /** Which one is likely next: most bodies have them in the order in which they came. */
  next: number
}

/** The strings of a JSON text, names among them, as they were measured. */
export interface Literals {
  readonly count: number
  /** Of each with `LONG` bytes and more: its number among all, and where it begins and ends, with its quotes. */
  readonly long: readonly number[]
}

export class SourceTexts {
  private readonly byLength = new Map<number, SameLength>()
  private readonly literals: Literals
  /** Strings so far, and the place in `long` of the next long one. */
  private at = 0
  private next = 0

  private constructor(literals: Literals) {
    this.literals = literals
  }

  /**
   * @param root the parsed text, with no name twice in any object.
   * @returns undefined where a name begins with a digit: the parsed object may have it in another place.
   */
  static of(literals: Literals, root: JsonObject): SourceTexts | undefined {
    const texts = new SourceTexts(literals)
    return texts.find(root) && texts.at === literals.count ? texts : undefined
  }

  write(body: JsonObject, pieces: Pieces): void {
    const mixed = new Set<Json>()
    if (holdsLong(body, mixed)) this.writeMixed(body, mixed, pieces)
    else pieces.text(JSON.stringify(body))
  }

  /** @param mixed objects and lists with a long text in them: any other value is as soon written in one go. */
  private writeMixed(value: Json, mixed: ReadonlySet<Json>, pieces: Pieces): void {
    if (typeof value === 'string') {
      const range = value.length < LONG ? undefined : this.findRange(value)
      if (range) pieces.range(range)
      else pieces.text(JSON.stringify(value))
    } else if (!mixed.has(value)) pieces.text(JSON.stringify(value))
    else if (Array.isArray(value)) {
      pieces.text('[')
      for (let i = 0; i < value.length; i++) {
        if (i > 0) pieces.text(',')
        this.writeMixed(value[i] ?? null, mixed, pieces)
      }
      pieces.text(']')
    } else if (typeof value === 'object' && value !== null) this.writeObject(value, mixed, pieces)
  }

  private writeObject(value: JsonObject, mixed: ReadonlySet<Json>, pieces: Pieces): void {
    let separator = '{'
    for (const name in value) {
      const child = value[name]
      if (child === undefined) continue
      pieces.text(PLAIN.test(name) ? `${separator}"${name}":` : `${separator}${JSON.stringify(name)}:`)
      separator = ','
      this.writeMixed(child, mixed, pieces)
    }
    pieces.text('}')
  }

  /** Walks over the values in the order of the text. */
  private find(value: Json): boolean {
    if (typeof value === 'string') return this.keep(value)
    if (typeof value !== 'object' || value === null) return true
    if (Array.isArray(value)) {
      for (const child of value) if (!this.find(child)) return false
      return true
    }
    for (const name in value) {
      const first = name.charCodeAt(0)
      if (first >= 0x30 && first <= 0x39) return false
      this.at++
      const child = value[name]
      if (child !== undefined && !this.find(child)) return false
    }
    return true
  }

  private keep(text: string): boolean {
    const number = this.at++
    const { length } = text
    if (length < LONG) return true
    const { long } = this.literals
    let { next } = this
    while ((long[next] ?? number) < number) next += 3
    const [found, from, to] = [long[next], long[next + 1], long[next + 2]]
    this.next = next
    if (found !== number || from === undefined || to === undefined) return false
    const same = this.byLength.get(length)
    if (same) same.texts.push({ text, from, to })
    else this.byLength.set(length, { texts: [{ text, from, to }], next: 0 })
    return true
  }

  private findRange(value: string): Range | undefined {
    const same = this.byLength.get(value.length)
    if (!same) return undefined
    const { texts } = same
    const most = Math.min(texts.length, MAX_COMPARED)
    for (let tried = 0; tried < most; tried++) {
      const at = (same.next + tried) % texts.length
      const found = texts[at]
      if (found?.text !== value) continue
      same.next = (at + 1) % texts.length
      return found
    }
    return undefined
  }
}

/** True where a value holds a long text. @param mixed receives each object and list that does. */
function holdsLong(value: Json, mixed: Set<Json>): boolean {
  if (typeof value === 'string') return value.length >= LONG
  if (typeof value !== 'object' || value === null) return false
  let holds = false
  if (Array.isArray(value)) for (const child of value) holds = holdsLong(child, mixed) || holds
  else {
    for (const name in value) {
      const child = value[name]
      if (child !== undefined) holds = holdsLong(child, mixed) || holds
    }
  }
  if (holds) mixed.add(value)
  return holds
}
