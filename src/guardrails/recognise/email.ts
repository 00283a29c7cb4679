/** Addresses of mail (RFC 5321, 4.1.2; RFC 6531 for other letters), found from their at sign. */
import { entryAt } from '../../core/entry-at.ts'
import { type Detector, type Match, Matches } from '../detector.ts'
import { isDigit, isLetter, isWord } from './characters.ts'

const MAX_LOCAL_LENGTH = 64
const MAX_DOMAIN_LENGTH = 253
/** Last labels that are endings of files: `logo@2x.png`. */
const ENDINGS: ReadonlySet<string> = new Set(
  'png jpg jpeg gif svg webp ico avif bmp css scss less js jsx mjs cjs ts tsx json xml yaml yml toml lock log txt csv html htm'.split(' '),
)
const AT = 0x40

function find(text: string, from: number): readonly Match[] {
  const matches = new Matches()
  for (let at = text.indexOf('@', from); at !== -1; at = text.indexOf('@', at + 1)) {
    const start = localStart(text, at, Math.max(from, matches.end))
    if (start === at) continue
    const end = domainEnd(text, at)
    if (end === -1 || isRemote(text, start, at, end)) continue
    matches.add(start, end)
  }
  return matches.list
}

/** @returns `at` where nothing usable stands before it. */
function localStart(text: string, at: number, floor: number): number {
  let start = at
  while (start > floor && at - start < MAX_LOCAL_LENGTH && isLocal(text.charCodeAt(start - 1))) start--
  while (start < at && !(isWord(text.charCodeAt(start)) || text.charCodeAt(start) >= 0x80)) start++
  return text[at - 1] === '.' ? at : start
}

/** The signs of RFC 5322, 3.2.3 that addresses really have; others end what stands before. */
function isLocal(unit: number): boolean {
  return isWord(unit) || unit === 0x2e || unit === 0x2b || unit === 0x2d || unit === 0x25 || unit === 0x27 || isOther(unit)
}

/** Letters beyond ASCII; punctuation and spaces of their own block are none. */
function isOther(unit: number): boolean {
  return (
    unit >= 0xc0 &&
    unit !== 0xd7 &&
    unit !== 0xf7 &&
    !(unit >= 0x2000 && unit <= 0x2bff) &&
    !(unit >= 0x3000 && unit <= 0x303f) &&
    unit < 0xfe00
  )
}

/** @returns -1 where no domain with a dot follows. */
function domainEnd(text: string, at: number): number {
  let end = at + 1
  while (end - at <= MAX_DOMAIN_LENGTH && isDomain(text.charCodeAt(end))) end++
  while (end > at + 1 && !isName(text.charCodeAt(end - 1))) end--
  const labels = text.slice(at + 1, end).split('.')
  if (labels.length < 2 || labels.some((label) => label === '' || label.length > 63 || label.startsWith('-') || label.endsWith('-')))
    return -1
  const last = entryAt(labels, labels.length - 1).toLowerCase()
  return isTop(last) && !ENDINGS.has(last) ? end : -1
}

function isDomain(unit: number): boolean {
  return unit === 0x2d || unit === 0x2e || isName(unit)
}

function isName(unit: number): boolean {
  return isDigit(unit) || isLetter(unit) || isOther(unit)
}

/** A label that can stand last: letters alone, or the coded form of other scripts. */
function isTop(label: string): boolean {
  if (label.startsWith('xn--')) return label.length > 5
  return label.length >= 2 && /^[a-z\u00c0-\uffff]+$/.test(label)
}

/** `git@host.com:group/project` and `scheme://user@host` name machines. */
function isRemote(text: string, start: number, at: number, end: number): boolean {
  if (text.charCodeAt(end) === AT) return true
  if (text[end] === ':' && /^:[\w.~-]*\//.test(text.slice(end, end + 64))) return true
  return text.slice(Math.max(0, start - 3), start) === '://' || (text[end] === ':' && text.slice(start, at) === 'git')
}

/** Of other scripts: a superset of `isOther`. */
const OTHER = '\\x{c0}-\\x{1fff}\\x{2c00}-\\x{fdff}\\x{10000}-\\x{10ffff}'
const shapes = [`[\\w.+%'${OTHER}-]+@[\\w.${OTHER}-]*(?::[\\w.~-]{0,63}/?)?(?s:.)?`]

export const email: Detector = { find, shapes, may: (text) => text.includes('@') }
