/** The partial matches of a text that comes in pieces, as it stands and as it is folded: each character is read once. */

import type { PartialMatchAutomaton, PartialMatches } from '../machines/linear-regex/partial-matches.ts'
import { isInWord, isOfOtherScript, MAX_WORD_LENGTH, seenAs } from './fold.ts'

export class GrowingText {
  private readonly plain: PartialMatches
  /** Over the folded text; undefined while folding changes nothing that a partial match could reach. */
  private seen: PartialMatches | undefined
  /** The same with the running word read as one of two scripts, which it may become. */
  private mixed: PartialMatches | undefined
  /** Characters that are read. */
  private at = 0
  /** Half a character may be a whole one soon. */
  private half = ''
  /** The end of the last character that folding changed. */
  private changed = 0
  /** Beginning of the running word, and place of its last Greek or Cyrillic letter; -1 without one. */
  private word = -1
  private other = -1
  /** The running word has letters of two scripts side by side. */
  private isMixed = false
  /** Words that have turned out to be of two scripts, and are read anew. */
  mixedWords = 0
  private before = 0

  /** @param before the text in front, of which the last character decides what may begin. */
  constructor(automaton: PartialMatchAutomaton, before: string) {
    this.plain = automaton.begin(before)
  }

  /** Reads the next piece. */
  read(piece: string): void {
    const text = this.half + piece
    const whole = text.length - (isHigh(text.charCodeAt(text.length - 1)) ? 1 : 0)
    this.half = text.slice(whole)
    for (let i = 0; i < whole; ) {
      const rune = text.codePointAt(i) ?? 0
      const size = rune > 0xffff ? 2 : 1
      if (rune < 0x80) this.takeLatin(rune)
      else this.take(rune, size)
      this.before = rune
      this.at += size
      i += size
    }
  }

  /** Beginning of the earliest partial match; the end of what was read where there is none. */
  get earliest(): number {
    const { at, plain, seen, mixed, other } = this
    let earliest = Math.min(at, plain.earliest)
    if (seen) earliest = Math.min(earliest, seen.earliest)
    if (mixed) earliest = Math.min(earliest, mixed.earliest)
    if (other < 0) return earliest
    // A word that may turn out to be of two scripts is read anew then; none is longer than this.
    const open = Math.max(this.word, at - MAX_WORD_LENGTH)
    return other >= open ? Math.min(earliest, open) : earliest
  }

  /** False where surely no shape has ended. */
  get ended(): boolean {
    return this.plain.ended || this.seen?.ended === true || this.mixed?.ended === true
  }

  /** The text has lost so many characters at its beginning; no partial match began among them. */
  shift(count: number): void {
    this.at -= count
    this.changed -= count
    this.other -= count
    if (this.word >= 0) this.word = Math.max(0, this.word - count)
    // Both texts are the same from here on, and so are their partial matches.
    if (this.changed <= 0) this.seen = undefined
    this.plain.shift(count)
    this.seen?.shift(count)
    this.mixed?.shift(count)
  }

  private takeLatin(rune: number): void {
    const { at } = this
    if (!isLatin(rune)) this.endWord()
    else if (this.word < 0) this.word = at
    else if (isOfOtherScript(this.before)) this.mix()
    this.plain.read(rune, at, at + 1)
    this.seen?.read(rune, at, at + 1)
    this.mixed?.read(rune, at, at + 1)
  }

  private take(rune: number, size: number): void {
    const { at, plain } = this
    const char = String.fromCodePoint(rune)
    if (!isInWord(char)) this.endWord()
    else {
      if (this.word < 0) this.word = at
      if (isOfOtherScript(rune)) {
        this.other = at
        if (isLatin(this.before)) this.mix()
      }
    }
    const { isMixed } = this
    const seen = seenAs(char, isMixed)
    const mixed = isMixed || this.word < 0 ? seen : seenAs(char, true)
    if (mixed !== seen) this.mixed ??= (this.seen ?? plain).copy()
    if (seen !== char) this.seen ??= plain.copy()
    if (mixed !== char) this.changed = at + size
    plain.read(rune, at, at + size)
    this.readAll(this.seen, seen, size)
    this.readAll(this.mixed, mixed, size)
  }

  private readAll(matches: PartialMatches | undefined, text: string, size: number): void {
    if (matches) for (const char of text) matches.read(char.codePointAt(0) ?? 0, this.at, this.at + size)
  }

  /** The running word is of two scripts: what was read so far counts as it would then be read. */
  private mix(): void {
    if (this.isMixed) return
    this.isMixed = true
    this.mixedWords++
    this.seen = this.mixed ?? this.seen
    this.mixed = undefined
  }

  private endWord(): void {
    this.word = -1
    this.other = -1
    this.isMixed = false
    this.mixed = undefined
  }
}

function isLatin(rune: number): boolean {
  const lower = rune | 0x20
  return rune < 0x80 && lower >= 0x61 && lower <= 0x7a
}

export function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}
