/** One pass over a text that shows which searches can match: words that occur, and words of odd form. */

export interface Survey {
  /** By the number of a beginning, as `beginnings` gave it out. */
  readonly seen: Uint8Array
  /** Many letters stand alone, one after the other. */
  readonly spaced: boolean
  /** A word has the outer letters and the length of one that could be scrambled. */
  readonly scrambled: boolean
}

const BASE = 27
/** The most that a byte holds. */
const MOST = 255
const LETTERS = 4
const FIRST_LETTER = 0x61
/** Letters that stand alone in ordinary text are fewer. */
const MANY = 6

/** Numbers of beginnings by the code of their letters; where there are more than a byte has, some share one. */
const given = new Map<number, number>()
/** The same as a table of half a megabyte: made for the first text that is looked at. */
let numbers: Uint8Array | undefined

function buildTable(): Uint8Array {
  const table = new Uint8Array(BASE ** LETTERS)
  for (const [code, number] of given) table[code] = number
  return table
}

/** The first four letters of a word as a number; shorter words end in nothing. */
function wordCode(word: string): number {
  let code = 0
  for (let i = 0; i < LETTERS; i++) code = code * BASE + (i < word.length ? word.charCodeAt(i) - FIRST_LETTER + 1 : 0)
  return code
}

/** @param words beginnings of four letters, or whole words of fewer. @returns their numbers. */
export function beginnings(words: string): readonly number[] {
  return words.split(' ').map((word) => {
    const code = wordCode(word)
    const number = given.get(code) ?? (given.size % MOST) + 1
    given.set(code, number)
    return number
  })
}

/** By first letter, last letter and length; the longest has twelve. */
const shapes = new Uint8Array(BASE * BASE * 16)

/** A word whose inner letters are looked for in any order. */
export function scramble(word: string): void {
  shapes[shapeCode(word.charCodeAt(0), word.charCodeAt(word.length - 1), word.length)] = 1
}

function shapeCode(first: number, last: number, length: number): number {
  return ((first - FIRST_LETTER) * BASE + last - FIRST_LETTER) * 16 + length
}

/** @param low text in small letters. */
export function survey(low: string): Survey {
  numbers ??= buildTable()
  const table = numbers
  const seen = new Uint8Array(MOST + 1)
  const { length } = low
  let spaced = false
  let scrambled = false
  let alone = 0
  for (let at = 0; at < length; ) {
    let letter = low.charCodeAt(at) - FIRST_LETTER
    if (!(letter >= 0 && letter < 26)) {
      at++
      continue
    }
    const start = at
    let code = 0
    do {
      if (at - start < LETTERS) code = code * BASE + letter + 1
      at++
      letter = low.charCodeAt(at) - FIRST_LETTER
    } while (letter >= 0 && letter < 26)
    const size = at - start
    if (size === 1) {
      if (++alone >= MANY) spaced = true
      continue
    }
    alone = 0
    for (let missing = size; missing < LETTERS; missing++) code *= BASE
    seen[table[code] ?? 0] = 1
    if (size < 16 && shapes[shapeCode(low.charCodeAt(start), low.charCodeAt(at - 1), size)] === 1) scrambled = true
  }
  return { seen, spaced, scrambled }
}
