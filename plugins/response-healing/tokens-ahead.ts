/**
 * Recognises the token that begins at a place of a text, such as a fence, a comment, a name or a constant. The text may still grow: a result
 * is undefined where it depends on the next characters. A text that has ended always has a result.
 */

import { CONSTANT_NAMES } from './literals.ts'

/** Look-ahead in characters: a text that needs more is read as in a sound document. */
export const REACH = 256

/** Stands for whatever comes behind white space that is longer than the reach. */
export const FAR = '\u0000'

export interface Sight {
  readonly text: string
  /** True where nothing more will come. */
  readonly ended: boolean
}

export const isSpace = (unit: string): boolean => unit === ' ' || unit === '\n' || unit === '\r' || unit === '\t'
export const isCloser = (unit: string): boolean => unit === '}' || unit === ']'
/** Characters that a bare word begins with. */
export const isLetter = (unit: string): boolean => /[\p{L}_$]/u.test(unit)
export const isDigit = (unit: string): boolean => unit >= '0' && unit <= '9'

/** Opening quote to the ones that close it. */
const CLOSING: Readonly<Record<string, string>> = { '"': '"', "'": "'", '“': '”"', '”': '”"', '‘': "’'", '’': "’'" }

export const isQuote = (unit: string): boolean => CLOSING[unit] !== undefined
export const closes = (quote: string, unit: string | undefined): boolean => unit !== undefined && CLOSING[quote]?.includes(unit) === true

/** Index of the first character from `at` that is no white space; the text's length where there is none. */
export function pastSpace(text: string, at: number): number {
  let i = at
  while (i < text.length && isSpace(text.charAt(i))) i++
  return i
}

/** The next character that is no white space; '' at the end of an ended text, `FAR` where it is out of reach. */
export function nextUnit({ text, ended }: Sight, at: number): string | undefined {
  const end = Math.min(text.length, at + REACH)
  let i = at
  while (i < end && isSpace(text.charAt(i))) i++
  if (i - at >= REACH) return FAR
  if (i < text.length) return text[i]
  return ended ? '' : undefined
}

export function lineBetween(text: string, from: number, to: number): boolean {
  const line = text.indexOf('\n', from)
  return line !== -1 && line < to
}

/** True if three back quotes stand at `at`: the end of a fence. */
export function fenceAt({ text, ended }: Sight, at: number): boolean | undefined {
  const found = text.slice(at, at + 3)
  if (found === '```') return true
  return found.length < 3 && '```'.startsWith(found) && !ended ? undefined : false
}

/** True if a comment begins at `at`. */
export function commentAt({ text, ended }: Sight, at: number): boolean | undefined {
  if (text[at] !== '/') return false
  if (at + 1 < text.length) return text[at + 1] === '/' || text[at + 1] === '*'
  return ended ? false : undefined
}

/** True if a bare key and its colon stand at `at`: `name:`, `first name :`, or `name":` whose opening quote is missing. */
export function bareKeyAt({ text, ended }: Sight, at: number): boolean | undefined {
  const end = Math.min(text.length, at + REACH)
  let i = at
  while (i < end && /[\p{L}\p{N}_$ .-]/u.test(text.charAt(i))) i++
  if (i === at) return i >= text.length && !ended ? undefined : false
  if (i < text.length && (text[i] === '"' || text[i] === "'")) i = pastSpace(text, i + 1)
  if (i >= end) return ended || i - at >= REACH ? false : undefined
  return text[i] === ':'
}

/**
 * True if a whole quoted key and its colon stand at `at`. What begins as sound JSON goes on behind a text is no key.
 * @param words only keys of letters, digits, `_` and `-` count, so that most other texts are ruled out at their first space.
 */
export function quotedKeyAt({ text, ended }: Sight, at: number, words = false): boolean | undefined {
  if (at >= text.length) return ended ? false : undefined
  if (!isQuote(text.charAt(at))) return false
  const first = nextUnit({ text, ended }, at + 1)
  if (first === undefined) return undefined
  if (first === '' || first === ',' || isCloser(first)) return false
  const close = closingQuote(text, at, words)
  if (close === -1) return ended || text.length - at > REACH ? false : undefined
  if (close === -2) return false
  const next = nextUnit({ text, ended }, close + 1)
  return next === undefined ? undefined : next === ':'
}

/** Index of the quote that closes the one at `at`; -1 where the text ends before, -2 where a line, or the words, end first. */
export function closingQuote(text: string, at: number, words = false): number {
  const end = Math.min(text.length, at + REACH)
  for (let i = at + 1; i < end; i++) {
    const unit = text.charAt(i)
    if (closes(text.charAt(at), unit)) return i
    if (unit === '\n' || (words && !/[\p{L}\p{N}_-]/u.test(unit))) return -2
    if (unit === '\\') i++
  }
  return -1
}

/** True if one of the constants stands alone at `at`. */
export function keywordAt({ text, ended }: Sight, at: number): boolean | undefined {
  let i = at
  while (i < text.length && i - at < 10 && /\w/.test(text.charAt(i))) i++
  const word = text.slice(at, i)
  if (i >= text.length && !ended) return CONSTANT_NAMES.some((one) => one.startsWith(word)) ? undefined : false
  return CONSTANT_NAMES.includes(word)
}

const LITERAL = /-?\d[\d.eE+-]*|true|false|null/y

/** True if a number or a constant stands alone at `at`: before a comma, a bracket, a text, or another one. */
export function literalAt(sight: Sight, at: number): boolean | undefined {
  const { text, ended } = sight
  const word = /^[\w.+-]*/.exec(text.slice(at, at + REACH))?.[0] ?? ''
  if (at + word.length >= text.length && !ended) return /^(?:-|\d|[tfn])/.test(word) ? undefined : false
  LITERAL.lastIndex = at
  if (word === '' || LITERAL.exec(text)?.[0] !== word) return false
  const next = nextUnit(sight, at + word.length)
  if (next === undefined) return undefined
  if (next === '' || next === ',' || isCloser(next) || isQuote(next)) return true
  const where = pastSpace(text, at + word.length)
  return where > at + word.length && literalAt(sight, where)
}
