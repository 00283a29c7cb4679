/** Orders in disguise: letters spaced or scrambled, text coded in base64 or hexadecimal digits. */

import { NEXT } from '../../machines/linear-regex/shape.ts'
import { scramble } from './word-survey.ts'

/** A part of a text with a hidden content, such as an encoded order. */
export interface Hidden {
  readonly start: number
  readonly end: number
  /** The hidden content; gaps between words may be missing. */
  readonly text: string
  readonly tight: boolean
}

/** Letters one by one with the same kind of gap: `i g n o r e`. */
const SPACED = /(?<![A-Za-z0-9])[A-Za-z](?:[ \t._*|/+~-]{1,3}[A-Za-z](?![A-Za-z0-9])){5,400}/g
/** Characters behind it that are read with it. */
const REST = 48
const WRAPPED_BASE64 = /(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/]{60,76}\r?\n){1,200}[A-Za-z0-9+/]{1,76}={0,2}/g
const HEX = /(?<![0-9A-Za-z])(?:0x)?[0-9a-f]{2}(?:[ :,-]?(?:0x)?[0-9a-f]{2}){9,}(?![0-9A-Za-z])/gi
const ESCAPED_HEX = /(?:\\x[0-9a-f]{2}){6,}/gi
/** Least units of a code that is long enough to hold an order. */
const MIN_BASE64_LENGTH = 16
const MIN_HEX_LENGTH = 20
/** Least units of a line where a code is broken into several. */
const LINE = 60
/** Bytes of a coded text that are looked at before it is decoded whole. */
const SAMPLE = 48
/** Decoded characters that are read: an order comes early in what hides it, or the text is long enough to be a document. */
const MOST = 65_536

export function* spaced(text: string): Generator<Hidden> {
  SPACED.lastIndex = 0
  for (let hit = SPACED.exec(text); hit !== null; hit = SPACED.exec(text)) {
    const end = SPACED.lastIndex
    // One word may be spaced and the rest of the order not.
    const rest = text.slice(end, end + REST)
    yield { start: hit.index, end, text: (hit[0] + rest).replace(/[^A-Za-z]/g, ''), tight: true }
    SPACED.lastIndex = end
  }
}

export function* coded(text: string): Generator<Hidden> {
  let wrapped = false
  for (const [start, end] of runs(text, BASE64_UNITS, MIN_BASE64_LENGTH)) {
    if (end - start >= LINE) wrapped = true
    const plainText = readable(text.slice(start, end), 'base64')
    if (plainText !== undefined) yield { start, end: paddedEnd(text, end), text: plainText, tight: false }
  }
  if (wrapped) yield* decoded(text, WRAPPED_BASE64, 'base64')
  for (const [start, end] of runs(text, HEX_UNITS, MIN_HEX_LENGTH)) {
    // The run may hold more than the code: what stands around it counts, too.
    const from = Math.max(0, start - 1)
    for (const each of decoded(text.slice(from, end + 1), HEX, 'hex')) yield { ...each, start: each.start + from, end: each.end + from }
  }
  if (text.includes('\\x')) yield* decoded(text, ESCAPED_HEX, 'hex')
}

function* decoded(text: string, form: RegExp, encoding: 'base64' | 'hex'): Generator<Hidden> {
  for (const { 0: code, index } of text.matchAll(form)) {
    const bare = encoding === 'hex' ? code.replace(/0x|\\x|[^0-9a-f]/gi, '') : code.replace(/\s/g, '')
    const plainText = readable(bare, encoding)
    if (plainText !== undefined) yield { start: index, end: index + code.length, text: plainText, tight: false }
  }
}

const BASE64_UNITS = characterUnits('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-')
const HEX_UNITS = characterUnits('0123456789abcdefABCDEFxX :,-')

function characterUnits(characters: string): Uint8Array {
  const units = new Uint8Array(128)
  for (const char of characters) units[char.charCodeAt(0)] = 1
  return units
}

/** Runs of at least `shortest` units of one kind. Only every so many units one is looked at: no run lies between two looks. */
function* runs(text: string, units: Uint8Array, shortest: number): Generator<[start: number, end: number]> {
  const { length } = text
  for (let at = shortest - 1, floor = 0; at < length; at += shortest) {
    if (units[text.charCodeAt(at)] !== 1) continue
    let start = at
    while (start > floor && units[text.charCodeAt(start - 1)] === 1) start--
    let end = at + 1
    while (end < length && units[text.charCodeAt(end)] === 1) end++
    floor = end
    if (end - start >= shortest) {
      yield [start, end]
      at = end - 1
    }
  }
}

/** Signs that fill a code up (RFC 4648, 4) belong to it. */
function paddedEnd(text: string, end: number): number {
  let last = end
  while (last - end < 2 && text[last] === '=') last++
  return last
}

/** @returns the decoded content, if it is text. */
function readable(code: string, encoding: 'base64' | 'hex'): string | undefined {
  const sample = Buffer.from(code.slice(0, SAMPLE), encoding)
  if (sample.length < 8) return undefined
  let plain = 0
  for (const byte of sample) if ((byte >= 0x20 && byte < 0x7f) || byte === 0x0a || byte === 0x0d || byte === 0x09 || byte >= 0x80) plain++
  if (plain < sample.length * 0.95) return undefined
  const plainText = Buffer.from(code.slice(0, MOST * 2), encoding).toString('utf8')
  // Bytes that were no text come out as replacement characters.
  return plainText.includes('\ufffd\ufffd') ? undefined : plainText
}

/** Words whose inner letters may be in any order (docs/contract.md#guardrails), by first letter, last letter and length. */
const WORDS = ['ignore', 'bypass', 'override', 'reveal', 'delete', 'system', 'prompt', 'instructions']
const SCRAMBLED =
  /(?<![a-z0-9])(?:i[gnor]{4}e|b[yaps]{4}s|o[verid]{6}e|r[eva]{4}l|d[elt]{4}e|s[yste]{4}m|p[romp]{4}t|i[nstructio]{10}s)(?![a-z0-9])/g
const sorted = (word: string): string => [...word].sort().join('')
for (const word of WORDS) scramble(word)
const byLetters = new Map(WORDS.map((word) => [word[0] + sorted(word), word]))
/** Words that a scrambled one stands with when it is an order; a slip of the pen stands alone. */
const COMPANY =
  /\b(?:ignore|bypass|override|reveal|delete|system|prompts?|instructions?|previous|prior|above|rules|safety|guidelines|filters?|restrictions?)\b/
/** First letters of bypass, override, reveal and delete, and of their objects. */
const VERBS: ReadonlySet<string> = new Set(['b', 'o', 'r', 'd'])
const OBJECTS = /\b(?:secrets?|passwords?|hidden|files|databases?|security|admin|checks|polic(?:y|ies)|safeguards?|credentials)\b/
const NEAR = 60

export interface Scrambled {
  readonly start: number
  readonly end: number
}

/** @param low the text in small letters. Words that are only written wrong by accident do not count: two must come together. */
export function scrambled(low: string): Scrambled[] {
  const found: Scrambled[] = []
  for (const hit of low.matchAll(SCRAMBLED)) {
    const [word] = hit
    const meant = byLetters.get(word[0] + sorted(word))
    if (meant !== undefined && meant !== word && meant.at(-1) === word.at(-1))
      found.push({ start: hit.index, end: hit.index + word.length })
  }
  if (found.length === 0) return found
  return found.filter(({ start, end }, i) => {
    const before = found[i - 1]
    const after = found[i + 1]
    if ((before && start - before.end <= NEAR) || (after && after.start - end <= NEAR)) return true
    const around = [low.slice(Math.max(0, start - NEAR), start), low.slice(end, end + NEAR)]
    return around.some((words) => COMPANY.test(words)) || (VERBS.has(low.charAt(start)) && around.some((words) => OBJECTS.test(words)))
  })
}

/** A word of the list with its inner letters in any order but the right one. */
function disordered(word: string): string {
  const letters = [...new Set(word.slice(1, -1))].join('')
  const inner = word.slice(1, -1)
  const others = [...inner].map((right, i) => {
    const wrong = letters.replace(right, '')
    return `${inner.slice(0, i)}[${wrong}][${letters}]{${inner.length - i - 1}}`
  })
  return `${word[0]}(?:${others.join('|')})${word.at(-1)}`
}

/** Shapes of what is in disguise. A scrambled word counts by what comes up to `NEAR` characters later. */
export const HIDDEN_SHAPES: readonly string[] = [
  `\\b[A-Za-z](?:[ \\t._*|/+~-]{1,3}[A-Za-z]){5,}(?s:.){0,${REST + 1}}`,
  `\\b(?:[A-Za-z0-9+/]{60,76}\\r?\\n)*[A-Za-z0-9+/_-]{16,}={0,2}${NEXT}`,
  `\\b(?i)(?:0x)?[0-9a-f]{2}(?:[ :,-]?(?:0x)?[0-9a-f]{2}){9,}${NEXT}`,
  `(?i)(?:\\\\x[0-9a-f]{2})+${NEXT}`,
  `\\b(?i)(?:${WORDS.map(disordered).join('|')})(?s:.){0,${NEAR + 14}}`,
]
