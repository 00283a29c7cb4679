/** JSON as parsed: the shapes every other folder speaks of. */
export type Json = string | number | boolean | null | Json[] | JsonObject
export interface JsonObject {
  [key: string]: Json | undefined
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value of a JSON text; undefined where it is none. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** Elements of a list that are objects; none where it is no list. */
export function asObjects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** The text, where it is one. */
export function asString(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The object itself, without its undefined members: absent stays absent when it is written. */
export function present<T extends object>(fields: T): Present<T> {
  for (const key in fields) if (fields[key] === undefined) delete fields[key]
  return fields as Present<T>
}

/** The same fields; one that may be undefined may be missing instead. */
export type Present<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** Beginning of every escape of an ASCII character. */
const ASCII_ESCAPE = '\\u00'
const DIGIT_4 = 0x34
const DIGIT_7 = 0x37

/**
 * True if a letter or an underscore is written as an escape (RFC 8259 section 7), so that a search for a word in the raw text may miss it.
 * No serialiser in use writes them so; a backslash that is itself escaped may cause a needless true.
 * @param raw JSON text, as bytes or with one character per byte.
 */
export function escapesLetters(raw: Buffer | string): boolean {
  // One character is found much faster than four, and most texts have none.
  if (typeof raw === 'string' && !raw.includes('\\')) return false
  for (let at = raw.indexOf(ASCII_ESCAPE); at !== -1; at = raw.indexOf(ASCII_ESCAPE, at + ASCII_ESCAPE.length)) {
    const digit = typeof raw === 'string' ? raw.charCodeAt(at + ASCII_ESCAPE.length) : raw[at + ASCII_ESCAPE.length]
    if (digit !== undefined && digit >= DIGIT_4 && digit <= DIGIT_7) return true
  }
  return false
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a

/** Digits of the largest double (1.8e308); a longer number may be larger. */
const MAX_DIGITS = 308

/** Upper bounds of a JSON text. */
export interface JsonBounds {
  depth: number
  members: number
  commas: number
}

/** Counts of the containers and members of a JSON text, taken in one walk before it is parsed. */
export class JsonSize {
  /** Objects and arrays; -1 where the text nests too deep. */
  containers = 0
  /** Members of all objects together. */
  members = 0
  /** Members of objects and elements of arrays, but for the last of each. */
  commas = 0
  /** False where every number surely parses to a finite one: none has an exponent from 0 on, or more than 308 digits. */
  mayOverflow = false

  /**
   * Stops where the text holds more than it may. V8 parses any depth but cannot stringify it again. A text that is no JSON
   * may get any size.
   */
  measure(text: string, most: JsonBounds): this {
    const { depth: deepest, members: mostMembers, commas: mostCommas } = most
    let depth = 0
    let containers = 0
    let members = 0
    let commas = 0
    let mayOverflow = false
    /** End of the last string: a number stands between two strings, or at an end of the text. */
    let from = 0
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      if (unit === QUOTE) {
        if (i - from > MAX_DIGITS) mayOverflow = true
        i = closingQuote(text, i + 1)
        if (i === -1) break
        from = i
      } else if (unit === COMMA) {
        if (++commas > mostCommas) break
      } else if (unit === COLON) {
        if (++members > mostMembers) break
      } else if (unit < LETTERS) continue
      else if (unit === 0x7b || unit === 0x5b) {
        containers++
        if (++depth > deepest) {
          containers = -1
          break
        }
      } else if (unit === 0x7d || unit === 0x5d) depth--
      else if ((unit | 0x20) === LETTER_E && isDigit(text.charCodeAt(i - 1)) && text.charCodeAt(i + 1) !== MINUS) mayOverflow = true
    }
    this.containers = containers
    this.members = members
    this.commas = commas
    this.mayOverflow = mayOverflow || text.length - from > MAX_DIGITS
    return this
  }
}

/** Spaces, digits, commas and colons are below: most of what stands between strings. */
const LETTERS = 0x3b
const LETTER_E = 0x65
const MINUS = 0x2d
const isDigit = (unit: number): boolean => unit >= 0x30 && unit <= 0x39

/** Path of the first number whose magnitude is above `most`, such as `[0].value`, or '' for the value itself. */
export function pathOfLarger(value: Json | undefined, most: number): string | undefined {
  if (typeof value === 'number') return Math.abs(value) > most ? '' : undefined
  if (typeof value !== 'object' || value === null) return undefined
  const isList = Array.isArray(value)
  for (const [key, member] of isList ? value.entries() : Object.entries(value)) {
    const found = pathOfLarger(member, most)
    if (found !== undefined) return `${isList ? `[${key}]` : `.${key}`}${found}`
  }
  return undefined
}

/** True if any object of a JSON text has more than `most` members; repeated names are counted each time. */
export function membersExceed(text: string, most: number): boolean {
  /** Members so far of each object that is open. */
  const open: number[] = []
  let members = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === QUOTE) {
      i = closingQuote(text, i + 1)
      if (i === -1) return false
    } else if (unit === COLON) {
      if (++members > most) return true
    } else if (unit === 0x7b || unit === 0x5b) {
      open.push(members)
      members = 0
    } else if (unit === 0x7d || unit === 0x5d) members = open.pop() ?? 0
  }
  return false
}

/** Of JSON that stands as a text within a body, such as arguments of a call. */
const WITHIN: JsonBounds = { depth: 128, members: 16_384, commas: 262_144 }

/**
 * The object that a text within a body says; what the body's own bounds cannot see is bounded here.
 * @returns undefined for anything else, also for an object that nests too deep or has too many members.
 */
export function objectWithin(text: string): JsonObject | undefined {
  const { containers, members, commas } = new JsonSize().measure(text, WITHIN)
  if (containers < 1 || members > WITHIN.members || commas > WITHIN.commas) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Index of the quote that ends the string whose inside begins at `from`; -1 where there is none. */
function closingQuote(text: string, from: number): number {
  let i = from
  for (;;) {
    // A search is quicker than a walk, however short the string.
    const at = text.indexOf('"', i)
    if (at === -1) return -1
    let escapes = 0
    while (at - escapes > i && text.charCodeAt(at - escapes - 1) === BACKSLASH) escapes++
    if (escapes % 2 === 0) return at
    i = at + 1
  }
}

/**
 * Bytes of all names and texts in a value, with some for numbers and marks: at least those of its texts, in UTF-8.
 * @param enough at which nothing more is counted.
 */
export function jsonBytes(root: Json, enough = Number.POSITIVE_INFINITY): number {
  let bytes = 0
  const rest: Json[] = [root]
  for (let value = rest.pop(); value !== undefined && bytes < enough; value = rest.pop()) {
    bytes += MARKS
    if (typeof value === 'string') bytes += Buffer.byteLength(value)
    else if (typeof value === 'number') bytes += NUMBER
    else if (Array.isArray(value)) for (const child of value) rest.push(child)
    else if (isObject(value)) {
      for (const name in value) {
        const child = value[name]
        if (child === undefined) continue
        bytes += Buffer.byteLength(name) + MARKS
        rest.push(child)
      }
    }
  }
  return bytes
}

/** Quotes, colons, commas, brackets. */
const MARKS = 4
/** Characters of the longest number that is written. */
const NUMBER = 24

/** `JSON.stringify` escapes only surrogates that stand alone; an escaped backslash is taken whole, so what follows it is no escape. */
const UNREADABLE = /\\(?:\\|u0000|ud[89a-f][0-9a-f]{2})/gi

/**
 * JSON texts without the escapes that a database may refuse.
 * A JSON text as every store can read it: PostgreSQL refuses to take apart a JSON text with an escaped NUL or a lone surrogate
 * (PostgreSQL 15, 8.14 "JSON Types"). @param text written by `JSON.stringify` or alike.
 */
export function readableJson(text: string): string {
  return text.includes('\\u') ? text.replace(UNREADABLE, (found) => (found === '\\\\' ? found : '\\ufffd')) : text
}

/** Escapes in a JSON text, a whole pair as one of them: it may be written so (Python, `json.dumps`). */
const SURROGATES = /\\(?:ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|ud[89a-f][\da-f]{2}|.)/gis
const HALF_LENGTH = '\\ud83d'.length

/** A JSON text with U+FFFD in the place of each escape of a half. */
export const withoutHalves = (text: string): string =>
  text.replace(SURROGATES, (found) => (found.length === HALF_LENGTH ? '\ufffd' : found))

/** True where a text, read as JSON, holds an escape of half a character. */
export const holdsHalfEscape = (text: string): boolean => (text.includes('\\ud') || text.includes('\\uD')) && withoutHalves(text) !== text
