/** Beginning of the document in an answer: behind prose, a fence, or nothing. */
import { bareKeyAt, commentAt, isDigit, isLetter, isQuote, keywordAt, nextUnit, pastSpace, type Sight } from './tokens-ahead.ts'

/** Some models think aloud, in braces too, before they answer. */
const THOUGHT = '<think>'
const THOUGHT_END = '</think>'

export interface Beginning {
  /** Index of the bracket; undefined where none has been found yet. */
  at?: number
  /** No bracket before this index begins the document. */
  searched: number
  /** Only a text that has one of these can change the answer. */
  awaits?: RegExp
}

const BRACKET = /[{[]/
const THOUGHT_ENDS = />/
const QUOTE = /"/

/**
 * @param start index of the answer's first character that is no white space.
 * @param from what an earlier search returned, so that no character is looked at twice.
 */
export function beginningAt(sight: Sight, start: number, from: number): Beginning {
  const { text } = sight
  if (text.startsWith(THOUGHT, start) && from < text.length) {
    const end = text.indexOf(THOUGHT_END, start)
    if (end === -1) return { searched: start, awaits: THOUGHT_ENDS }
    return beginningAt(sight, pastSpace(text, end + THOUGHT_END.length), Math.max(from, end + THOUGHT_END.length))
  }
  if (text[start] === '"' && from < text.length) {
    const whole = isText(sight, start)
    if (whole === true) return { searched: text.length }
    // Behind its closing quote anything may follow.
    if (whole === undefined) return text.indexOf('"', start + 1) === -1 ? { searched: start, awaits: QUOTE } : { searched: start }
  }
  for (let at = from; at < text.length; at++) {
    const unit = text[at]
    if (unit !== '{' && unit !== '[') continue
    const begins = unit === '{' ? objectBegins(sight, at) : listBegins(sight, at, at === start || fenced(text, at))
    if (begins === undefined) return { searched: at }
    if (begins) return { at, searched: at }
  }
  return { searched: text.length, awaits: BRACKET }
}

/** A text alone is a sound document too, whatever brackets stand in it. */
function isText({ text, ended }: Sight, at: number): boolean | undefined {
  let end = at + 1
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1
  if (pastSpace(text, end + 1) < text.length) return false
  return ended ? end < text.length : undefined
}

/** Right behind the opening of a fence. */
function fenced(text: string, at: number): boolean {
  return /```\w*\s*$/.test(text.slice(Math.max(0, at - 40), at))
}

function objectBegins(sight: Sight, at: number): boolean | undefined {
  const next = nextUnit(sight, at + 1)
  if (next === undefined) return undefined
  const where = pastSpace(sight.text, at + 1)
  if (next === '}' || next === '' || isQuote(next)) return true
  if (next === '/') return commentAt(sight, where)
  return isLetter(next) || isDigit(next) ? bareKeyAt(sight, where) : false
}

/** Prose has brackets too: `[1]` there is a note. */
function listBegins(sight: Sight, at: number, first: boolean): boolean | undefined {
  const next = nextUnit(sight, at + 1)
  if (next === undefined) return undefined
  if (next === '{' || next === '[' || isQuote(next)) return true
  if (!first) return false
  if (next === ']' || next === '' || next === '-' || isDigit(next)) return true
  if (next === '/') return commentAt(sight, pastSpace(sight.text, at + 1))
  return isLetter(next) ? keywordAt(sight, pastSpace(sight.text, at + 1)) : false
}
