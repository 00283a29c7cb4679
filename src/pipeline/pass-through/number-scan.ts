/** Finds the long whole numbers of a body that comes in pieces: some providers have ids of int64 (platform.minimax.io, "File Management"). */

/** Digits of an id: fewer are counts, or years. */
export const MIN_DIGITS = 9
const MAX_DIGITS = 20

const [ZERO, NINE, POINT, PLUS, MINUS, LOWER_E, UPPER_E] = [0x30, 0x39, 0x2e, 0x2b, 0x2d, 0x65, 0x45]
/** In front of digits that are no number of their own, but a part of one: of a vector, or below zero. */
const joins = (byte: number): boolean => byte === POINT || byte === PLUS || byte === MINUS || byte === LOWER_E || byte === UPPER_E

export class NumberScan {
  private readonly onNumber: (digits: string) => void
  private digits = ''
  private isPart = false

  constructor(onNumber: (digits: string) => void) {
    this.onNumber = onNumber
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; at++) {
      const from = at
      while (isDigit(chunk[at])) at++
      if (at > from && !this.isPart && this.digits.length <= MAX_DIGITS)
        this.digits += chunk.toString('latin1', from, Math.min(at, from + MAX_DIGITS + 1))
      const next = chunk[at]
      if (next === undefined) return
      this.end()
      this.isPart = joins(next)
    }
  }

  end(): void {
    const { digits } = this
    this.digits = ''
    if (digits.length >= MIN_DIGITS && digits.length <= MAX_DIGITS) this.onNumber(digits)
  }
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE
