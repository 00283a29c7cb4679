/** Size of the pages of a long task, in rows: as many as one statement reads or removes within the time that it may take. */

/** Bounds of a page, in rows, and the time that it should take. */
export interface PageSize {
  readonly least: number
  readonly most: number
  /** Milliseconds. */
  readonly target: number
}

/** The size of the next page, from how long the last one took. */
export class AdaptivePage {
  private readonly bounds: PageSize
  size: number

  constructor(bounds: PageSize) {
    this.bounds = bounds
    this.size = bounds.least
  }

  /** @param ms that a page of `size` generations took. */
  took(ms: number): void {
    const { least, most, target } = this.bounds
    const fitting = ms > 0 ? (this.size * target) / ms : most
    // No more than twice as many at once: one quick page says little.
    this.size = Math.floor(Math.min(most, Math.max(least, Math.min(fitting, this.size * 2))))
  }
}
