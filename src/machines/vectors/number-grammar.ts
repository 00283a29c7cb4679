/** The inside of a JSON array of numbers as a table (RFC 8259, sections 2, 5 and 6): one look-up per byte. */

export const START = 0
/** After a comma, and in the blanks behind it. */
export const COMMA = 1
const BLANK = 2
const MINUS = 3
const ZERO = 4
const INTEGER = 5
const POINT = 6
const FRACTION = 7
/** From here on: the rare classes, so that one comparison finds them. */
export const RARE = 8
const EXPONENT = 8
const PLUS_EXPONENT = 9
/** Digits of an exponent without a minus. */
export const EXPONENT_DIGITS = 10
const MINUS_EXPONENT = 11
const SMALL_DIGITS = 12
/** Blanks behind a number. */
const AFTER = 13
/** The array's own bracket. */
export const CLOSED = 14
export const BROKEN = 15

const STATES = 16

/** Kinds of bytes; whatever is not named is 0. */
const [BLANKS, MINUS_SIGN, PLUS_SIGN, NOUGHT, DIGIT, DOT, LETTER, COMMA_SIGN, BRACKET] = [1, 2, 3, 4, 5, 6, 7, 8, 9]

/** Kind of each byte. */
export const KIND: Uint8Array = kinds()

/** `STEP[state << 4 | kind]`: the next state. */
export const STEP: Uint8Array = steps()

function kinds(): Uint8Array {
  const kind = new Uint8Array(256)
  for (const blank of [0x20, 0x09, 0x0a, 0x0d]) kind[blank] = BLANKS
  kind[0x2d] = MINUS_SIGN
  kind[0x2b] = PLUS_SIGN
  kind[0x30] = NOUGHT
  for (let digit = 0x31; digit <= 0x39; digit++) kind[digit] = DIGIT
  kind[0x2e] = DOT
  kind[0x65] = LETTER
  kind[0x45] = LETTER
  kind[0x2c] = COMMA_SIGN
  kind[0x5d] = BRACKET
  return kind
}

function steps(): Uint8Array {
  const step = new Uint8Array(STATES * STATES).fill(BROKEN)
  const row = (states: readonly number[], moves: readonly (readonly [kind: number, next: number])[]): void => {
    for (const state of states) for (const [kind, next] of moves) step[(state << 4) | kind] = next
  }
  const value = [
    [MINUS_SIGN, MINUS],
    [NOUGHT, ZERO],
    [DIGIT, INTEGER],
  ] as const
  const ended = [
    [BLANKS, AFTER],
    [COMMA_SIGN, COMMA],
    [BRACKET, CLOSED],
  ] as const
  const digits = (next: number) =>
    [
      [NOUGHT, next],
      [DIGIT, next],
    ] as const
  row([START], [...value, [BLANKS, START]])
  row([COMMA, BLANK], [...value, [BLANKS, BLANK]])
  row(
    [MINUS],
    [
      [NOUGHT, ZERO],
      [DIGIT, INTEGER],
    ],
  )
  row([ZERO], [...ended, [DOT, POINT], [LETTER, EXPONENT]])
  row([INTEGER], [...ended, ...digits(INTEGER), [DOT, POINT], [LETTER, EXPONENT]])
  row([POINT], digits(FRACTION))
  row([FRACTION], [...ended, ...digits(FRACTION), [LETTER, EXPONENT]])
  row([EXPONENT], [...digits(EXPONENT_DIGITS), [PLUS_SIGN, PLUS_EXPONENT], [MINUS_SIGN, MINUS_EXPONENT]])
  row([PLUS_EXPONENT], digits(EXPONENT_DIGITS))
  row([EXPONENT_DIGITS], [...ended, ...digits(EXPONENT_DIGITS)])
  row([MINUS_EXPONENT], digits(SMALL_DIGITS))
  row([SMALL_DIGITS], [...ended, ...digits(SMALL_DIGITS)])
  row([AFTER], ended)
  return step
}
