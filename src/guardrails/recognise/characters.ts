/** Kinds of characters, by UTF-16 unit; beyond the end of a text a unit is NaN and of no kind. */

export function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39
}

/** ASCII letter. */
export function isLetter(unit: number): boolean {
  const lower = unit | 0x20
  return lower >= 0x61 && lower <= 0x7a
}

/** ASCII letter, digit or underscore. */
export function isWord(unit: number): boolean {
  return isDigit(unit) || isLetter(unit) || unit === 0x5f
}

export const SPACE = 0x20
export const DASH = 0x2d
export const DOT = 0x2e
export const COMMA = 0x2c

/** The text before an offset, in which a word may show what a number is. */
export function wordsBefore(text: string, start: number, room = 40): string {
  return text.slice(Math.max(0, start - room), start)
}
