/** Which kept rows are sought: by their moment, and by the names in their columns. */
import { TICKS } from '../../core/ids.ts'
import type { RowBlock } from './kept-rows.ts'
import { AT, type ColumnNames } from './slice-rows.ts'
import { SLICE_GROUPS, type SliceFilter, type SliceRange } from './slice-types.ts'

type RowFilter = (rows: Uint32Array, row: number) => boolean

/** @returns undefined where no row can be sought, since none has such a name. */
export function rowFilter(filter: SliceFilter, names: ColumnNames): RowFilter | undefined {
  const terms: { readonly at: number; readonly numbers: ReadonlySet<number> }[] = []
  for (const group of SLICE_GROUPS) {
    const wanted = filter[group]
    if (wanted === undefined) continue
    const numbers = new Set(wanted.map((name) => names[group].find(name)).filter((number) => number !== undefined))
    if (numbers.size === 0) return undefined
    terms.push({ at: AT[group], numbers })
  }
  if (terms.length === 0) return () => true
  return (rows, row) => terms.every(({ at, numbers }) => numbers.has(rows[row + at] ?? 0))
}

/** Sequences of a block that are in the range, from that of its first moment on: from the first, and below the end. */
export function timeBounds({ at }: RowBlock, { from, until }: Pick<SliceRange, 'from' | 'until'>): { first: number; end: number } {
  return { first: Math.ceil((from - at) * TICKS), end: Math.ceil((until - at) * TICKS) }
}
