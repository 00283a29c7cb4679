/**
 * Reads a provider's JSON reply as it comes, cut anywhere. Vectors stay the bytes that they are; what stands around
 * them is kept with a vector's number in its place and parsed at the end, so that no number of a vector ever becomes
 * an object of its own. What is accepted is what `JSON.parse` accepts, with arrays of numbers where vectors are expected.
 */
import { Fault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { BROKEN, CLOSED, COMMA, EXPONENT_DIGITS, KIND, RARE, START, STEP } from './number-grammar.ts'

/** One vector as it came: the text of a JSON array, or base64 without its quotes. */
export interface RawVector {
  form: 'numbers' | 'base64'
  /** In order; views of the reply's own chunks. */
  pieces: readonly Buffer[]
  /** Number of numbers; 0 for base64, which has to be decoded to know. */
  count: number
}

export interface ScanRules {
  /** Members whose values are vectors, or lists of vectors. */
  keys: ReadonlySet<string>
  /** Most numbers of one vector. */
  length: number
  /** Takes the vectors in the order in which they come. @throws Fault to end the scan. */
  take(vector: RawVector): void
}

/** Bytes around the vectors. */
const MAX_AROUND = 16 * 1024 * 1024
/** Room for them at first: that of a vector or two. */
const FIRST_AROUND = 512
/** Bytes of a number, blanks around it included: many times what any printer writes. */
const NUMBER_BYTES = 64
/** Longer texts are no member's name that is looked for. */
const MAX_KEY_LENGTH = 32
/** No number so large is part of a vector; beyond it comes infinity. */
const MAX_EXPONENT = 300

const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN = 0x5b
const CLOSE = 0x5d
const COMMA_SIGN = 0x2c
const BRACKET = Buffer.from('[')

/** State of the scan: around vectors, in a text there, behind a key, behind its bracket, between vectors, in one. */
type Place = 'around' | 'text' | 'keyed' | 'opened' | 'list' | 'numbers' | 'base64'

export class ReplyScan {
  private readonly rules: ScanRules
  private place: Place = 'around'
  private around = Buffer.allocUnsafeSlow(FIRST_AROUND)
  private aroundSize = 0
  /** Beginning, in the chunk at hand, of the bytes that are not yet put away; -1 where there are none. */
  private from = 0
  private taken = 0
  private text = ''
  private escaped = false
  private inList = false
  private pieces: Buffer[] = []
  private state = START
  private count = 0
  private size = 0
  private exponent = 0

  constructor(rules: ScanRules) {
    this.rules = rules
  }

  /** @throws Fault `upstream_garbled` where the reply cannot be read. */
  push(chunk: Buffer): void {
    this.from = 0
    if (this.place === 'numbers' || this.place === 'base64' || this.place === 'opened') this.from = -1
    for (let at = 0; at < chunk.length; ) at = this.step(chunk, at)
    this.putAway(chunk, chunk.length)
  }

  /** Text around the vectors, with the vectors' numbers in their places. @throws Fault. */
  end(): JsonObject {
    if (this.aroundSize === 0 && this.taken === 0) throw new Fault('upstream_empty')
    if (this.place !== 'around') throw garbled()
    let body: unknown
    try {
      body = JSON.parse(this.around.toString('utf8', 0, this.aroundSize))
    } catch (cause) {
      throw new Fault('upstream_garbled', { cause })
    }
    if (!isObject(body)) throw garbled()
    return body
  }

  /** Reads on from `at` in the place where the scan stands. @returns where to go on. */
  private step(chunk: Buffer, at: number): number {
    switch (this.place) {
      case 'around':
        return this.readAround(chunk, at)
      case 'text':
        return this.readText(chunk, at)
      case 'keyed':
        return this.readKeyed(chunk, at)
      case 'opened':
        return this.readOpened(chunk, at)
      case 'list':
        return this.readList(chunk, at)
      case 'numbers':
        return this.readNumbers(chunk, at)
      case 'base64':
        return this.readBase64(chunk, at)
    }
  }

  private readAround(chunk: Buffer, at: number): number {
    for (let i = at; i < chunk.length; i++) {
      const byte = chunk[i]
      if (byte === QUOTE) {
        this.place = 'text'
        this.text = ''
        return i + 1
      }
      if (byte === COLON && this.rules.keys.has(this.text)) {
        this.place = 'keyed'
        return i + 1
      }
    }
    return chunk.length
  }

  private readText(chunk: Buffer, at: number): number {
    for (let i = at; i < chunk.length; i++) {
      const byte = chunk[i]
      if (this.escaped) this.escaped = false
      else if (byte === BACKSLASH) this.escaped = true
      else if (byte === QUOTE) {
        this.remember(chunk, at, i)
        this.place = 'around'
        return i + 1
      }
    }
    this.remember(chunk, at, chunk.length)
    return chunk.length
  }

  /** The last text before a colon is a name. */
  private remember(chunk: Buffer, from: number, to: number): void {
    if (this.text.length > MAX_KEY_LENGTH) return
    this.text += chunk.toString('latin1', from, Math.min(to, from + MAX_KEY_LENGTH + 1))
  }

  private readKeyed(chunk: Buffer, at: number): number {
    const byte = chunk[at]
    if (isBlank(byte)) return at + 1
    this.inList = false
    if (byte === OPEN) {
      this.putAway(chunk, at)
      this.place = 'opened'
    } else if (byte === QUOTE) this.begin(chunk, at, 'base64')
    // A bare number would look like the place of a vector.
    else if (byte === 0x2d || (byte !== undefined && byte >= 0x30 && byte <= 0x39)) throw garbled()
    else {
      this.text = ''
      this.place = 'around'
      return at
    }
    return at + 1
  }

  /** Behind the first bracket of a vector's member: a vector, or a list of them. */
  private readOpened(chunk: Buffer, at: number): number {
    const byte = chunk[at]
    if (isBlank(byte)) return at + 1
    if (byte !== OPEN && byte !== QUOTE && byte !== CLOSE) {
      this.begin(chunk, at, 'numbers')
      this.pieces.push(BRACKET)
      return at
    }
    this.keep(BRACKET)
    this.from = at
    this.inList = true
    this.place = 'list'
    return at
  }

  private readList(chunk: Buffer, at: number): number {
    const byte = chunk[at]
    if (byte === OPEN) {
      this.begin(chunk, at, 'numbers')
      this.pieces.push(BRACKET)
    } else if (byte === QUOTE) this.begin(chunk, at, 'base64')
    else if (byte === CLOSE) {
      this.text = ''
      this.place = 'around'
    } else if (byte !== COMMA_SIGN && !isBlank(byte)) throw garbled()
    return at + 1
  }

  private begin(chunk: Buffer, at: number, place: 'numbers' | 'base64'): void {
    this.putAway(chunk, at)
    this.place = place
    this.pieces = []
    this.state = START
    this.count = 1
    this.size = 0
  }

  private readNumbers(chunk: Buffer, at: number): number {
    let { state, count } = this
    for (let i = at; i < chunk.length; i++) {
      // A byte 0 is of no kind that a number has.
      const byte = chunk[i] ?? 0
      state = STEP[(state << 4) | (KIND[byte] ?? 0)] ?? BROKEN
      if (state === COMMA) count++
      else if (state >= RARE) {
        if (state === BROKEN) throw garbled()
        if (state === CLOSED) {
          this.count = count
          this.close(chunk, at, i + 1, 'numbers')
          return i + 1
        }
        this.watchExponent(state, byte)
      }
    }
    this.size += chunk.length - at
    if (count > this.rules.length || this.size > (this.rules.length + 1) * NUMBER_BYTES) throw garbled()
    this.pieces.push(chunk.subarray(at))
    this.state = state
    this.count = count
    return chunk.length
  }

  private watchExponent(state: number, byte: number): void {
    this.exponent = state === EXPONENT_DIGITS ? this.exponent * 10 + byte - 0x30 : 0
    if (this.exponent > MAX_EXPONENT) throw garbled()
  }

  private readBase64(chunk: Buffer, at: number): number {
    const quote = chunk.indexOf(QUOTE, at)
    if (quote !== -1) {
      this.count = 0
      this.close(chunk, at, quote, 'base64')
      return quote + 1
    }
    this.pieces.push(chunk.subarray(at))
    // Four bytes a number, four characters for three bytes.
    this.count += chunk.length - at
    if (this.count > this.rules.length * 6) throw garbled()
    return chunk.length
  }

  /** A vector is whole: its number takes its place. */
  private close(chunk: Buffer, at: number, end: number, form: RawVector['form']): void {
    if (this.count > this.rules.length) throw garbled()
    if (end > at) this.pieces.push(chunk.subarray(at, end))
    const { pieces, count } = this
    this.pieces = []
    // Between blanks, so that no digit behind the vector becomes part of its number.
    this.keep(Buffer.from(` ${this.taken} `, 'latin1'))
    this.taken++
    this.text = ''
    this.place = this.inList ? 'list' : 'around'
    this.from = form === 'base64' ? end + 1 : end
    this.rules.take({ form, pieces, count })
  }

  /** Puts the bytes before `to` that belong to no vector away. */
  private putAway(chunk: Buffer, to: number): void {
    if (this.from !== -1 && to > this.from) this.keep(chunk.subarray(this.from, to))
    this.from = -1
  }

  /** Copied, since a view of a few bytes would hold the whole chunk, and with it the text of vectors written anew. */
  private keep(bytes: Buffer): void {
    const size = this.aroundSize + bytes.length
    if (size > MAX_AROUND) throw garbled()
    if (size > this.around.length) {
      const wider = Buffer.allocUnsafeSlow(Math.max(size, this.around.length * 2))
      this.around.copy(wider, 0, 0, this.aroundSize)
      this.around = wider
    }
    bytes.copy(this.around, this.aroundSize)
    this.aroundSize = size
  }
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

function garbled(): Fault {
  return new Fault('upstream_garbled')
}
