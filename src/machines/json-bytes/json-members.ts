/** Finds the members of a JSON object in its bytes. Values are skipped, not parsed: a parser that reads them later finds their faults. */
import { closingQuote } from './json-texts.ts'

export interface Member {
  readonly name: string
  /** Place of the name's first quote. */
  readonly at: number
  /** Beginning and end of the value. */
  readonly from: number
  readonly to: number
}

/** As many as one object of a request may have (`pipeline/request/read.ts`). */
const MAX_MEMBERS = 16_384

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d
const OPENING_BRACKET = 0x5b
const CLOSING_BRACKET = 0x5d

/** RFC 8259 section 2: space, tab, line feed, carriage return. */
function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

function skipSpace(bytes: Buffer, at: number): number {
  let next = at
  while (isSpace(bytes[next])) next++
  return next
}

/** @param at the opening quote. @returns just behind the closing one, -1 without one. */
function stringEnd(bytes: Buffer, at: number): number {
  const end = closingQuote(bytes, at + 1)
  return end === -1 ? -1 : end + 1
}

/** @param at an opening brace or bracket. @returns just behind its counterpart, -1 without one. */
function containerEnd(bytes: Buffer, at: number): number {
  let depth = 0
  for (let i = at; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) {
      i = stringEnd(bytes, i) - 1
      if (i < 0) return -1
    } else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) depth++
    else if ((byte === CLOSING_BRACE || byte === CLOSING_BRACKET) && --depth === 0) return i + 1
  }
  return -1
}

function valueEnd(bytes: Buffer, at: number): number {
  const first = bytes[at]
  if (first === QUOTE) return stringEnd(bytes, at)
  if (first === OPENING_BRACE || first === OPENING_BRACKET) return containerEnd(bytes, at)
  let end = at
  while (end < bytes.length && bytes[end] !== COMMA && bytes[end] !== CLOSING_BRACE && !isSpace(bytes[end])) end++
  return end === at ? -1 : end
}

/** A name as the parser reads it: escapes stand for letters. */
function memberName(bytes: Buffer, from: number, to: number): string | undefined {
  const text = bytes.toString('utf8', from + 1, to - 1)
  if (!text.includes('\\')) return text
  try {
    return String(JSON.parse(`"${text}"`))
  } catch {
    return undefined
  }
}

/**
 * The members in their order; a name may stand twice, and a parser then takes the last one.
 * @param start where the object begins; spaces may stand before it. @param end where the bytes that count end.
 * @returns undefined for what is no object, and for one with more than 16,384 members.
 */
export function scanMembers(bytes: Buffer, start = 0, end = bytes.length): Member[] | undefined {
  const members: Member[] = []
  let at = skipSpace(bytes, start)
  if (bytes[at] !== OPENING_BRACE) return undefined
  at = skipSpace(bytes, at + 1)
  if (bytes[at] === CLOSING_BRACE) return skipSpace(bytes, at + 1) >= end ? members : undefined
  while (bytes[at] === QUOTE && members.length < MAX_MEMBERS) {
    const nameEnd = stringEnd(bytes, at)
    if (nameEnd === -1) return undefined
    const name = memberName(bytes, at, nameEnd)
    const colon = skipSpace(bytes, nameEnd)
    if (name === undefined || bytes[colon] !== COLON) return undefined
    const from = skipSpace(bytes, colon + 1)
    const to = valueEnd(bytes, from)
    if (to === -1) return undefined
    members.push({ name, at, from, to })
    at = skipSpace(bytes, to)
    if (bytes[at] === CLOSING_BRACE) return skipSpace(bytes, at + 1) >= end ? members : undefined
    if (bytes[at] !== COMMA) return undefined
    at = skipSpace(bytes, at + 1)
  }
  return undefined
}
