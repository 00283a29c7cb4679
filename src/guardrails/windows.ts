/** Long texts in pieces, so that no single step takes long; what begins in a piece is found whole, as far as it is not longer than the overlap. */

/** A piece of a text: matches are its own that begin in [from, to), in units of the whole text. */
export interface Window {
  readonly text: string
  /** Beginning of the piece in the whole text. */
  readonly base: number
  readonly from: number
  readonly to: number
}

export interface WindowSize {
  /** Units that a window answers for. */
  readonly size: number
  /** Units behind it that a match may reach into. */
  readonly ahead: number
}

/** Units before a window that boundaries may be judged by. */
const BEFORE = 64

/** @returns the whole text as the one window where it is short. */
export function* textWindows(text: string, { size, ahead }: WindowSize): Generator<Window> {
  const { length } = text
  for (let from = 0; from < length || from === 0; ) {
    const to = length - from <= size + ahead ? length : from + size
    const base = Math.max(0, from - BEFORE)
    const end = Math.min(length, to + ahead)
    yield { text: base === 0 && end === length ? text : text.slice(base, end), base, from, to }
    from = to
    if (length === 0) return
  }
}
