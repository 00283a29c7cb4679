/**
 * Parses a large JSON object in pieces. One string of all of it is memory that comes fresh from the system, page by page: that takes longer
 * than decoding and parsing (330 KB: 450 µs, in pieces 130), and each such string brings the next collection nearer.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { MACHINES_ON } from '../switch.ts'

const COMMA = 0x2c
const COLON = 0x3a
const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d
const OPENING_BRACKET = 0x5b
const CLOSING_BRACKET = 0x5d

/** RFC 8259 section 2. */
const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

/** Places at which a text may be cut, as its measuring has found; of a text that is no JSON both may hold anything. */
export interface Cuts {
  /** Colons and commas of the root in turn, behind them its closing brace. */
  readonly places: readonly number[]
  /** Commas one level deeper; undefined where they are too many. */
  readonly inner: readonly number[] | undefined
}

export class JsonReader {
  /** Length of the text as JavaScript counts it, once it has been read; undefined where it could not be. */
  characters: number | undefined
  private readonly bytes: Buffer
  private readonly cuts: Cuts
  private readonly large: number
  private next = 0
  /** Bytes of characters of which JavaScript counts fewer. */
  private beyond = 0

  /** @param bytes valid UTF-8. @param large bytes from which on a list is parsed in several pieces, and of each of them about. */
  constructor(bytes: Buffer, cuts: Cuts, large: number) {
    this.bytes = bytes
    this.cuts = cuts
    this.large = large
  }

  /**
   * Each piece is parsed by itself, and between them stand the marks that belong there: so all of it is JSON, whatever the cuts are.
   * @returns undefined for what is no JSON object, and for one that has to be parsed as a whole.
   */
  read(): JsonObject | undefined {
    if (!MACHINES_ON) return undefined
    try {
      const body = this.members()
      if (body) this.characters = this.bytes.length - this.beyond
      return body
    } catch {
      return undefined
    }
  }

  private members(): JsonObject | undefined {
    const { bytes } = this
    const { places } = this.cuts
    const end = places.at(-1) ?? -1
    let before = bytes.indexOf(OPENING_BRACE)
    if (places.length % 2 !== 0 || before === -1 || bytes[end] !== CLOSING_BRACE) return undefined
    if (!this.isBlank(0, before) || !this.isBlank(end + 1, bytes.length)) return undefined
    const body: JsonObject = {}
    for (let i = 0; i < places.length; i += 2) {
      const [colon, to] = [places[i], places[i + 1]] as [number, number]
      if (bytes[colon] !== COLON || (to !== end && bytes[to] !== COMMA)) return undefined
      const name = this.parse(before + 1, colon)
      if (typeof name !== 'string' || name === '__proto__') return undefined
      body[name] = (to - colon > this.large ? this.list(colon + 1, to) : undefined) ?? this.parse(colon + 1, to)
      before = to
    }
    return body
  }

  /** @returns undefined for what is no list. */
  private list(from: number, to: number): Json[] | undefined {
    const { bytes } = this
    const { inner } = this.cuts
    let start = from
    let end = to - 1
    while (isSpace(bytes[start])) start++
    while (isSpace(bytes[end])) end--
    if (!inner || bytes[start] !== OPENING_BRACKET || bytes[end] !== CLOSING_BRACKET || end <= start) return undefined
    while ((inner[this.next] ?? start) < start) this.next++
    const list: Json[] = []
    for (let at = start + 1; at <= end; ) {
      const { cut, commas } = this.group(at, end, inner)
      if (commas === 0) list.push(this.parse(at, cut))
      else for (const element of JSON.parse(`[${this.text(at, cut)}]`) as Json[]) list.push(element)
      at = cut + 1
    }
    return list
  }

  /**
   * Elements that are parsed together: a large one by itself, since a bracket in front of it would have it copied, and letters beyond ASCII
   * in another element would double its memory. @returns where they end, and how many commas stand between them.
   */
  private group(at: number, end: number, inner: readonly number[]): { cut: number; commas: number } {
    let commas = 0
    let before = end
    for (;;) {
      const comma = inner[this.next] ?? end
      const cut = comma < end ? comma : end
      const isFull = cut - at >= this.large
      if (isFull && commas > 0) return { cut: before, commas: commas - 1 }
      if (cut < end) this.next++
      if (cut === end || isFull) return { cut, commas }
      before = cut
      commas++
    }
  }

  private parse(from: number, to: number): Json {
    return JSON.parse(this.text(from, to)) as Json
  }

  private text(from: number, to: number): string {
    const text = this.bytes.toString('utf8', from, to)
    this.beyond += to - from - text.length
    return text
  }

  private isBlank(from: number, to: number): boolean {
    for (let at = from; at < to; at++) if (!isSpace(this.bytes[at])) return false
    return true
  }
}
