/**
 * Numbers in frames of the pass lanes, which are not parsed: a frame with one that no client can read is read and written anew instead.
 */

const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const DOT = 0x2e
const COLON = 0x3a
const LETTER_X = 0x78
const LETTER_E = 0x65
const BACKSLASH = 0x5c
const SPACE = 0x20

/** Digits of an index that is surely a whole number of JavaScript. */
const MAX_INDEX_DIGITS = 15
/** Digits of the largest double (1.8e308), and of its exponent. */
const MAX_DIGITS = 308
const MAX_EXPONENT_DIGITS = 2

const MAX_DEPTH = 8

/** The one member of such a name that is a text: of citations of Anthropic's. */
const TEXT_INDEX = 'encrypted_index'

const isDigit = (unit: number): boolean => unit >= 0x30 && unit <= 0x39

export class FrameNumbers {
  /** Members whose name ends in `index`, by the number of objects and lists around them: the object of the frame is 1. */
  readonly indexes: number[] = new Array<number>(MAX_DEPTH).fill(0)
  /** Objects, likewise. */
  readonly objects: number[] = new Array<number>(MAX_DEPTH).fill(0)

  /**
   * Walks over the JSON from `from` to `to`.
   * @returns false where an index is no whole number from zero on, a number may be beyond what a double holds (RFC 8259, section 6), or a
   * name is written with an escape.
   */
  read(text: string, from: number, to: number): boolean {
    const { indexes, objects } = this
    indexes.fill(0)
    objects.fill(0)
    const hasEscapes = text.slice(from, to).includes('\\')
    let depth = 0
    /** Inside of the last string: the name, where a colon follows. */
    let name = from
    let nameEnd = from
    for (let at = from; at < to; at++) {
      const unit = text.charCodeAt(at)
      if (unit === QUOTE) {
        name = at + 1
        nameEnd = stringEnd(text, name)
        at = nameEnd
      } else if (unit === COLON) {
        if (text.charCodeAt(nameEnd - 1) === LETTER_X && text.startsWith('index', nameEnd - 5)) {
          if (!startsIndex(text, at + 1)) {
            if (text.slice(name, nameEnd) !== TEXT_INDEX) return false
          } else if (depth < MAX_DEPTH) indexes[depth] = (indexes[depth] ?? 0) + 1
        } else if (hasEscapes && text.slice(name, nameEnd).includes('\\')) return false
      } else if (unit === 0x7b || unit === 0x5b) {
        depth++
        if (unit === 0x7b && depth < MAX_DEPTH) objects[depth] = (objects[depth] ?? 0) + 1
      } else if (unit === 0x7d || unit === 0x5d) depth--
      else if (isDigit(unit)) {
        const end = numberEnd(text, at)
        if (end === -1) return false
        at = end - 1
      }
    }
    return true
  }
}

/** The index of the quote that ends a string. */
function stringEnd(text: string, from: number): number {
  const end = text.indexOf('"', from)
  if (end === -1) return text.length
  if (text.charCodeAt(end - 1) !== BACKSLASH) return end
  let at = from
  for (; at < text.length && text.charCodeAt(at) !== QUOTE; at++) if (text.charCodeAt(at) === BACKSLASH) at++
  return at
}

/** True where the value behind a colon is a whole number from zero on. */
function startsIndex(text: string, at: number): boolean {
  const from = text.charCodeAt(at) === SPACE ? at + 1 : at
  let end = from
  while (isDigit(text.charCodeAt(end))) end++
  if (end === from || end - from > MAX_INDEX_DIGITS) return false
  const next = text.charCodeAt(end)
  return next === COMMA || next === 0x7d || next <= SPACE
}

/** @returns just behind a number that begins at `at`, -1 for one that may be too large. */
function numberEnd(text: string, at: number): number {
  let end = at
  while (isDigit(text.charCodeAt(end))) end++
  if (end - at > MAX_DIGITS) return -1
  if (text.charCodeAt(end) === DOT) for (end++; isDigit(text.charCodeAt(end)); ) end++
  if ((text.charCodeAt(end) | SPACE) !== LETTER_E) return end
  end++
  const isSmall = text.charCodeAt(end) === MINUS
  const from = isDigit(text.charCodeAt(end)) ? end : end + 1
  for (end = from; isDigit(text.charCodeAt(end)); ) end++
  return isSmall || end - from <= MAX_EXPONENT_DIGITS ? end : -1
}
