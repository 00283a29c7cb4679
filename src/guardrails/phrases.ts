/** Lists of phrases: words as they are, whatever their case and the spaces between them. */

import { NEXT } from '../machines/linear-regex/shape.ts'
import { type Detector, Matches } from './detector.ts'

/** A place in the tree of all phrases: however many there are, a text is walked once. */
interface Node {
  /** A phrase ends here. */
  ends: boolean
  /** By UTF-16 unit; spaces of any number and kind are one space. */
  readonly next: Map<number, Node>
}

const SPACE = 0x20
const SPACES = /\s/
const LETTER = /[\p{L}\p{N}_]/u
/** Scripts that do not part words. */
const UNPARTED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

/** A phrase that begins or ends with a letter or digit matches whole words only, in scripts that part words. */
export function phraseDetector(phrases: readonly string[]): Detector {
  const root: Node = { ends: false, next: new Map() }
  for (const phrase of phrases) plant(root, lowered(phrase.trim().replace(/\s+/g, ' ')))
  return {
    verbatim: true,
    shapes: phrasePatterns(phrases),
    find(text, from) {
      const low = lowered(text)
      const matches = new Matches()
      for (let at = from; at < low.length; at++) {
        const node = root.next.get(low.charCodeAt(at))
        if (!node || !beginsWord(low, at)) continue
        const end = longest(low, at + 1, node)
        if (end === -1) continue
        matches.add(at, end)
        at = end - 1
      }
      return matches.list
    },
  }
}

/** Characters of all phrases up to which each is followed to its end. */
const MUCH = 20_000
/** Of longer lists: characters of a phrase by which it is known; behind them up to its length is taken for it. */
const KNOWN = 24
const ANY_SPACES = '[\\s\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}]+'

function phrasePatterns(phrases: readonly string[]): string[] {
  const long = phrases.reduce((sum, { length }) => sum + length, 0) > MUCH
  return phrases.map((phrase) => {
    const chars = [...phrase.trim().replace(/\s+/g, ' ')]
    const known = long ? chars.slice(0, KNOWN) : chars
    const source = known
      .map((char) => (char === ' ' ? ANY_SPACES : char.replace(/[^\p{L}\p{N}]/gu, (sign) => `\\x{${hex(sign)}}`)))
      .join('')
    return `(?i)${source}${known.length < chars.length ? `(?s:.){0,${Math.min(1000, chars.length * 2)}}` : NEXT}`
  })
}

function hex(char: string): string {
  return (char.codePointAt(0) ?? 0).toString(16)
}

function plant(root: Node, phrase: string): void {
  let node = root
  for (let i = 0; i < phrase.length; i++) {
    const unit = phrase.charCodeAt(i)
    let next = node.next.get(unit)
    if (!next) {
      next = { ends: false, next: new Map() }
      node.next.set(unit, next)
    }
    node = next
  }
  node.ends = true
}

/** @returns the end of the longest phrase that goes on from here; -1 where none does. */
function longest(low: string, from: number, first: Node): number {
  let node: Node | undefined = first
  let best = -1
  for (let at = from; ; ) {
    if (node.ends && endsWord(low, at)) best = at
    const spaces = spacesAt(low, at)
    node = node.next.get(spaces > 0 ? SPACE : low.charCodeAt(at))
    if (!node || at >= low.length) return best
    at += Math.max(1, spaces)
  }
}

/** Spaces that count as one; more than a line or two part the words. */
const MAX_SPACES = 16

function spacesAt(low: string, at: number): number {
  let count = 0
  while (count < MAX_SPACES && at + count < low.length && SPACES.test(low.charAt(at + count))) count++
  return count
}

function beginsWord(low: string, at: number): boolean {
  return at === 0 || !joined(low.charAt(at)) || !joined(low.charAt(at - 1))
}

function endsWord(low: string, at: number): boolean {
  return at >= low.length || !joined(low.charAt(at - 1)) || !joined(low.charAt(at))
}

/** A character that a longer word might run into. */
function joined(char: string): boolean {
  const unit = char.charCodeAt(0)
  if (unit < 0x80) return (unit >= 0x30 && unit <= 0x39) || (unit >= 0x61 && unit <= 0x7a) || unit === 0x5f
  return LETTER.test(char) && !UNPARTED.test(char)
}

/** Small letters, unit by unit in the same place. */
export function lowered(text: string): string {
  const low = text.toLowerCase()
  return low.length === text.length ? low : text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}
