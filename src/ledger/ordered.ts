import type { SessionSlice } from './types.ts'

/** Rows of which some are shown in order: to sort all of thousands would hold up the event loop. */
export class Ordered<Row> {
  private readonly rows: readonly Row[]
  private readonly values: Float64Array
  /** Rising. */
  private readonly sorted: Float64Array
  private readonly order: (a: Row, b: Row) => number

  /** @param order of which a higher value is never behind a lower one. */
  constructor(rows: readonly Row[], valueIn: (row: Row) => number, order: (a: Row, b: Row) => number) {
    this.rows = rows
    this.order = order
    this.values = new Float64Array(rows.length)
    for (const [at, row] of rows.entries()) this.values[at] = valueIn(row)
    this.sorted = this.values.toSorted()
  }

  slice({ offset, limit }: SessionSlice): Row[] {
    const { length } = this.sorted
    const highest = this.sorted[length - 1 - offset]
    if (highest === undefined) return []
    const lowest = this.sorted[Math.max(0, length - offset - limit)] ?? highest
    const within: { readonly row: Row; readonly value: number }[] = []
    let before = 0
    for (const [at, row] of this.rows.entries()) {
      const value = this.values[at] ?? 0
      if (value > highest) before++
      else if (value >= lowest) within.push({ row, value })
    }
    // Numbers are compared in a fraction of the time that the whole order takes.
    within.sort((a, b) => b.value - a.value || this.order(a.row, b.row))
    return within.slice(offset - before, offset - before + limit).map(({ row }) => row)
  }
}
