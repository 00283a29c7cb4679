/** Texts of a JSON source by their values, and what is written out of them: each stands in the bytes of its sender, and is not encoded again. */
import type { Json, JsonObject } from './json.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Bytes of a string that are looked at one by one: a search costs as much to begin as these together. */
const NEAR = 48

/** Index of the quote that ends the string whose inside begins at `from`; -1 where there is none. */
export function closingQuote(bytes: Buffer, from: number): number {
  const near = Math.min(bytes.length, from + NEAR)
  let at = from
  while (at < near) {
    const byte = bytes[at]
    if (byte === QUOTE) return at
    at += byte === BACKSLASH ? 2 : 1
  }
  // An escape that began before `at` is behind us.
  for (let quote = bytes.indexOf(QUOTE, at); quote !== -1; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let slashes = 0
    while (quote - slashes > at && bytes[quote - slashes - 1] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return quote
  }
  return -1
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

/** Shorter texts are as soon written as found. */
const LONG = 256

/** Texts of one length that are compared with one that is to be written. */
const MOST_COMPARED = 4

interface SourceText extends Range {
  readonly text: string
}

interface SameLength {
  readonly texts: SourceText[]
  /** Which one is likely next: most bodies have them in the order in which they came. */
  next: number
}

/** Where the strings of a JSON text stand, names among them, with their quotes: beginning and end in turn. */
function literalsIn(bytes: Buffer): number[] {
  const places: number[] = []
  for (let at = bytes.indexOf(QUOTE); at !== -1; at = bytes.indexOf(QUOTE, at)) {
    const end = closingQuote(bytes, at + 1) + 1
    if (end === 0) break
    places.push(at, end)
    at = end
    // Between two strings there is little: a search costs as much to begin.
    while (at < bytes.length && bytes[at] !== QUOTE) at++
  }
  return places
}

export class SourceTexts {
  private readonly byLength = new Map<number, SameLength>()
  private readonly places: readonly number[]
  private at = 0

  private constructor(places: readonly number[]) {
    this.places = places
  }

  /**
   * @param root what `bytes` parse to, with no name twice in any object.
   * @returns undefined where a name begins with a digit: the parsed object may have it in another place.
   */
  static of(bytes: Buffer, root: JsonObject): SourceTexts | undefined {
    const texts = new SourceTexts(literalsIn(bytes))
    return texts.find(root) && texts.at === texts.places.length ? texts : undefined
  }

  write(value: Json, pieces: Pieces): void {
    if (typeof value === 'string') {
      const range = value.length < LONG ? undefined : this.rangeOf(value)
      if (range) pieces.range(range)
      else pieces.text(JSON.stringify(value))
    } else if (Array.isArray(value)) {
      pieces.text('[')
      for (let i = 0; i < value.length; i++) {
        if (i > 0) pieces.text(',')
        this.write(value[i] ?? null, pieces)
      }
      pieces.text(']')
    } else if (typeof value === 'object' && value !== null) this.writeObject(value, pieces)
    else pieces.text(JSON.stringify(value))
  }

  private writeObject(value: JsonObject, pieces: Pieces): void {
    let separator = '{'
    for (const name in value) {
      const child = value[name]
      if (child === undefined) continue
      pieces.text(`${separator}${JSON.stringify(name)}:`)
      separator = ','
      this.write(child, pieces)
    }
    pieces.text(separator === '{' ? '{}' : '}')
  }

  /** Walks over the values in the order of the text. */
  private find(value: Json): boolean {
    if (typeof value === 'string') {
      const [from, to] = [this.places[this.at], this.places[this.at + 1]]
      this.at += 2
      if (from === undefined || to === undefined) return false
      if (value.length >= LONG) this.keep({ text: value, from, to })
      return true
    }
    if (typeof value !== 'object' || value === null) return true
    if (Array.isArray(value)) {
      for (const child of value) if (!this.find(child)) return false
      return true
    }
    for (const name in value) {
      const first = name.charCodeAt(0)
      if (first >= 0x30 && first <= 0x39) return false
      this.at += 2
      const child = value[name]
      if (child !== undefined && !this.find(child)) return false
    }
    return true
  }

  private keep(text: SourceText): void {
    const { length } = text.text
    const same = this.byLength.get(length)
    if (same) same.texts.push(text)
    else this.byLength.set(length, { texts: [text], next: 0 })
  }

  private rangeOf(value: string): Range | undefined {
    const same = this.byLength.get(value.length)
    if (!same) return undefined
    const { texts } = same
    const most = Math.min(texts.length, MOST_COMPARED)
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
