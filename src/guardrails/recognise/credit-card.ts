/** Payment card numbers: known issuer ranges, lengths and groupings, and the check digit (ISO/IEC 7812-1, Luhn). */
import { entryAt } from '../../core/entry-at.ts'
import { type Detector, type Match, Matches } from '../detector.ts'
import { COMMA, DASH, DOT, isDigit, isWord, SPACE } from './characters.ts'

/** First digits from, to, and the lengths that the scheme issues. */
type Range = readonly [from: string, to: string, lengths: readonly number[]]

const SIXTEEN_UP = [16, 17, 18, 19]
const RANGES: readonly Range[] = [
  ['4', '4', [13, 16, 19]],
  ['51', '55', [16]],
  ['2221', '2720', [16]],
  ['34', '34', [15]],
  ['37', '37', [15]],
  ['6011', '6011', SIXTEEN_UP],
  ['644', '649', SIXTEEN_UP],
  ['65', '65', SIXTEEN_UP],
  ['62', '62', SIXTEEN_UP],
  ['81', '82', [16]],
  ['3528', '3589', SIXTEEN_UP],
  ['300', '305', [14]],
  ['3095', '3095', [14]],
  ['36', '36', [14]],
  ['38', '39', [14]],
  ['2200', '2204', SIXTEEN_UP],
  ['9792', '9792', [16]],
  ['508', '508', [16]],
  ['5018', '5018', [16, 18, 19]],
  ['5020', '5020', [16, 18, 19]],
  ['5038', '5038', [16, 18, 19]],
  ['5893', '5893', [16, 18, 19]],
  ['6304', '6304', [16, 18, 19]],
  ['6759', '6763', [16, 18, 19]],
]
/** The same by their first digit; none begins with 0, 1 or 7. */
const BY_FIRST = [...'0123456789'].map((digit) => RANGES.filter(([from, to]) => from.charAt(0) <= digit && digit <= to.charAt(0)))
const SHORTEST = 13
const LONGEST = 19
/** Groups in which cards and their owners write the digits. */
const GROUPINGS: ReadonlySet<string> = new Set([
  '4-4-4-4',
  '4-6-5',
  '4-6-4',
  '4-4-4-4-3',
  '4-4-4-1',
  '4-4-5',
  '6-13',
  '4-4-4-4-2',
  '4-4-4-5',
  '8-8',
])
const MAX_GROUPS = 5
const CANDIDATE = /[0-9](?:[ -]?[0-9]){12}/g

/** A run of digits, perhaps in groups. */
interface Digits {
  readonly text: string
  /** Offset of each digit. */
  readonly at: readonly number[]
  /** Index of the first digit of each group. */
  readonly groups: readonly number[]
  readonly separator: number
}

function find(text: string, from: number): readonly Match[] {
  const matches = new Matches()
  CANDIDATE.lastIndex = from
  for (let hit = CANDIDATE.exec(text); hit !== null; hit = CANDIDATE.exec(text)) {
    const run = digitsFrom(text, hit.index)
    collect(text, run, matches)
    CANDIDATE.lastIndex = entryAt(run.at, run.at.length - 1) + 1
  }
  return matches.list
}

/** Every digit that follows with at most one separator of one kind between two of them. */
function digitsFrom(text: string, start: number): Digits {
  const at: number[] = []
  const groups = [0]
  let separator = 0
  let digits = ''
  for (let i = start; ; i++) {
    const unit = text.charCodeAt(i)
    if (isDigit(unit)) {
      at.push(i)
      digits += text[i]
    } else if ((unit === SPACE || unit === DASH) && isDigit(text.charCodeAt(i + 1)) && (separator === 0 || separator === unit)) {
      separator = unit
      groups.push(at.length)
    } else return { text: digits, at, groups, separator }
  }
}

/** Cards begin and end where groups do. */
function collect(text: string, run: Digits, matches: Matches): void {
  const { groups, at } = run
  const ends = [...groups.slice(1), at.length]
  for (let first = 0; first < groups.length; ) {
    const last = cardEnd(text, run, first, ends)
    if (last === -1) first++
    else {
      matches.add(entryAt(at, entryAt(groups, first)), entryAt(at, entryAt(ends, last) - 1) + 1)
      first = last + 1
    }
  }
}

/** @returns the group that a card which begins with group `first` ends with; -1 where none does. */
function cardEnd(text: string, { text: digits, at, groups }: Digits, first: number, ends: readonly number[]): number {
  const start = groups[first]
  const begin = start === undefined ? undefined : at[start]
  if (start === undefined || begin === undefined) return -1
  if (!BY_FIRST[digits.charCodeAt(start) - 0x30]?.length) return -1
  if (first === 0 && !standsFree(text, begin)) return -1
  for (let last = Math.min(groups.length, first + LONGEST) - 1; last >= first; last--) {
    const end = ends[last]
    if (end === undefined) return -1
    const length = end - start
    if (length > LONGEST) continue
    if (length < SHORTEST) return -1
    if (!groupedAsCard(groups, ends, first, last)) continue
    const final = at[end - 1]
    if (final === undefined) return -1
    if (last === groups.length - 1 && !endsFree(text, final + 1)) continue
    const number = digits.slice(start, start + length)
    if (isIssued(number) && luhn(number)) return last
  }
  return -1
}

function groupedAsCard(groups: readonly number[], ends: readonly number[], first: number, last: number): boolean {
  const count = last - first + 1
  // All in one, or digit by digit.
  const start = groups[first]
  const end = ends[last]
  if (count === 1 || (start !== undefined && end !== undefined && end - start === count)) return true
  if (count > MAX_GROUPS) return false
  const sizes: number[] = []
  for (let group = first; group <= last; group++) {
    const from = groups[group]
    const to = ends[group]
    if (from === undefined || to === undefined) return false
    sizes.push(to - from)
  }
  return GROUPINGS.has(sizes.join('-'))
}

/** A digit that no other number or word runs into; a decimal's fraction is no card. */
function standsFree(text: string, start: number): boolean {
  const before = text.charCodeAt(start - 1)
  if (isWord(before)) return false
  return !((before === DOT || before === COMMA) && isDigit(text.charCodeAt(start - 2)))
}

function endsFree(text: string, end: number): boolean {
  const behind = text.charCodeAt(end)
  if (isWord(behind)) return false
  return !((behind === DOT || behind === COMMA) && isDigit(text.charCodeAt(end + 1)))
}

function isIssued(number: string): boolean {
  const ranges = BY_FIRST[number.charCodeAt(0) - 0x30]
  if (!ranges) return false
  for (const [from, to, lengths] of ranges) {
    if (!lengths.includes(number.length)) continue
    const head = number.slice(0, from.length)
    if (head >= from && head <= to) return true
  }
  return false
}

/** The check digit of ISO/IEC 7812-1 annex B. @param number decimal digits. */
export function luhn(number: string): boolean {
  let sum = 0
  for (let i = 0; i < number.length; i++) {
    const digit = number.charCodeAt(number.length - 1 - i) - 0x30
    const twice = digit * 2
    sum += i % 2 === 0 ? digit : twice > 9 ? twice - 9 : twice
  }
  return sum % 10 === 0
}

const shapes = ['\\b[0-9](?:[ -]?[0-9]){12,19}[ -]?(?s:.){0,2}']

export const creditCard: Detector = { find, shapes, digits: true }
