/** A text as a reader sees it: characters that are invisible or only look different are replaced, with the way back. */
import { entryAt } from '../core/entry-at.ts'

export interface Folded {
  readonly text: string
  /** Place in the original of each unit of `text`; one entry more for its end. */
  readonly at: Uint32Array
}

/** Invisible: soft hyphen, joiners, zero-width spaces, marks of direction, variation selectors, tags. */
const INVISIBLE =
  '\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufe00-\\ufe0f\\ufeff'
/** Forms of other characters: wide, superscript, mathematical, enclosed, presentation forms; spaces and dashes of all kinds. */
const FORMS =
  '\\u00a0\\u00aa\\u00b2\\u00b3\\u00b9\\u00ba\\u1680\\u2000-\\u200a\\u2010-\\u2015\\u2024\\u2026\\u202f\\u205f\\u2070-\\u209f\\u2100-\\u214f\\u2212\\u2460-\\u24ff\\u3000\\ufb00-\\ufb06\\ufe50-\\ufe6f\\uff01-\\uffee'
const FOLDABLE = new RegExp(
  `[${INVISIBLE}${FORMS}]|[\\u{1d400}-\\u{1d7ff}\\u{1f100}-\\u{1f1e5}\\u{e0000}-\\u{e01ef}]|[A-Za-z][\\u0370-\\u052f]|[\\u0370-\\u052f][A-Za-z]`,
  'u',
)
const DROPPED = new RegExp(`[${INVISIBLE}\\u{e0000}-\\u{e01ef}]`, 'u')
const CHANGED = new RegExp(`[${FORMS}\\u{1d400}-\\u{1d7ff}\\u{1f100}-\\u{1f1e5}]`, 'u')
const MIXED = /[A-Za-z][\u0370-\u052f]|[\u0370-\u052f][A-Za-z]/
const DASHES = /[\u2010-\u2015\u2212]/
/** Greek and Cyrillic letters that look like Latin ones: read as these where scripts are mixed in one word. */
const ALIKE: ReadonlyMap<string, string> = pairs(
  'аaеeоoрpсcуyхxіiјjѕsһhԁdԛqԝwкkАAВBЕEКKМMНHОOРPСCТTХXУYІIЈJЅSοoαaνvιiκkρpυuτtεeΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧX',
)

/** Each character with the one behind it. */
function pairs(all: string): Map<string, string> {
  const chars = [...all]
  return new Map(chars.flatMap((char, i) => (i % 2 === 0 ? [[char, entryAt(chars, i + 1)] as const] : [])))
}

/** @returns undefined for a text without characters to fold: nearly all texts. */
export function folded(text: string): Folded | undefined {
  if (!FOLDABLE.test(text)) return undefined
  const mixed = MIXED.test(text) ? mixedWords(text) : undefined
  const places: number[] = []
  let result = ''
  let at = 0
  for (const char of text) {
    const seen = seenAs(char, mixed?.[at] === 1)
    for (let i = 0; i < seen.length; i++) places.push(at)
    result += seen
    at += char.length
  }
  places.push(at)
  return { text: result, at: Uint32Array.from(places) }
}

const WORD = new RegExp(`[\\p{L}\\p{M}${INVISIBLE}]+`, 'gu')

/** By unit: 1 within words in which letters of Latin and of another script stand side by side. */
function mixedWords(text: string): Uint8Array {
  const mixed = new Uint8Array(text.length)
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (MIXED.test(word)) mixed.fill(1, index, index + word.length)
  }
  return mixed
}

const IN_WORD = new RegExp(`^[\\p{L}\\p{M}${INVISIBLE}]$`, 'u')

/** True for what stands within a word: letters, their marks, and what is invisible. */
export function isInWord(char: string): boolean {
  return IN_WORD.test(char)
}

/** True for Greek and Cyrillic, which beside Latin letters are read as these. */
export function isOfOtherScript(rune: number): boolean {
  return rune >= 0x370 && rune <= 0x52f
}

/** A word of a growing text that may still turn out to be of two scripts is followed that far. */
export const MAX_WORD_LENGTH = 128

/** @param mixed the character stands in a word of two scripts. @returns nothing for what is invisible. */
export function seenAs(char: string, mixed: boolean): string {
  if (char <= '\x7f') return char
  if (DROPPED.test(char)) return ''
  const latin = mixed ? ALIKE.get(char) : undefined
  if (latin !== undefined) return latin
  if (!CHANGED.test(char)) return char
  return DASHES.test(char) ? '-' : char.normalize('NFKC')
}
