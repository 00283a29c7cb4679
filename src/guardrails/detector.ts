/** A detector finds matches in a text. */

export interface Match {
  /** UTF-16 offsets; `end` is the first unit behind the match. */
  readonly start: number
  readonly end: number
  /** The text that is reported, if it is not the matched text itself: the decoded content of an encoded text. */
  readonly shown?: string | undefined
}

/** Synchronous and linear in the text. */
export interface Detector {
  /** All matches, in any order. @param from nothing is looked for before this offset, which is context only. */
  find(text: string, from: number): readonly Match[]
  /** A cheap look: false where nothing can match. */
  readonly may?: ((text: string) => boolean) | undefined
  /** Nothing without a decimal digit matches. */
  readonly digits?: true | undefined
  /** As `find`, in slices of a few milliseconds: for what takes longer than the rest. */
  readonly sliced?: ((text: string, from: number) => Generator<void, readonly Match[]>) | undefined
  /** Operations for each character that it reads, at the most: for what `sliced` is there for. */
  readonly work?: number | undefined
  /** It may match the end of the text: a match that ends where a piece of the text ends does not count. */
  readonly ends?: true | undefined
  /** True if matches may hold characters that folding replaces: it reads the text as it is, too. */
  readonly verbatim?: true | undefined
  /**
   * RE2 patterns for texts that are still growing. Each match, with what stands behind it and decides, lies in a match of
   * one of them that begins no later. Those that begin with `\\b` begin only where no letter or digit stands before.
   */
  readonly shapes: readonly string[]
}

export const NO_MATCHES: readonly Match[] = Object.freeze([])

/** Collects matches without an array where there are none. */
export class Matches {
  private found: Match[] | undefined

  add(start: number, end: number, shown?: string): void {
    this.found ??= []
    this.found.push(shown === undefined ? { start, end } : { start, end, shown })
  }

  /** The first unit behind the match that was added last; 0 before there is one. */
  get end(): number {
    return this.found?.at(-1)?.end ?? 0
  }

  get list(): readonly Match[] {
    return this.found ?? NO_MATCHES
  }
}
