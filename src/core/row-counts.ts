/**
 * Counts of the ledger as rows and sums have them. `npm run generate` writes this file from `src/core/ledger-counts.ts`.
 */

/** Of a row. */
export interface RowCounts {
  input: number
  output: number
  cached: number
  cacheWrite: number
  reasoning: number
}

/** The same by their columns. */
export interface CountColumns {
  input: number
  output: number
  cached: number
  cache_write: number
  reasoning: number
}

/** Those that sums by day and model have. */
export interface DayCounts {
  input: number
  output: number
  reasoning: number
}

export interface DayColumns {
  input: number
  output: number
  reasoning: number
}

export function noRowCounts(): RowCounts {
  return {
    input: 0,
    output: 0,
    cached: 0,
    cacheWrite: 0,
    reasoning: 0,
  }
}

export function noSums(): CountColumns {
  return {
    input: 0,
    output: 0,
    cached: 0,
    cache_write: 0,
    reasoning: 0,
  }
}

/** Those of a report of usage, for one. */
export function toRowCounts(from: { readonly [count in keyof RowCounts]?: number | undefined }): Required<RowCounts> {
  return {
    input: from.input ?? 0,
    output: from.output ?? 0,
    cached: from.cached ?? 0,
    cacheWrite: from.cacheWrite ?? 0,
    reasoning: from.reasoning ?? 0,
  }
}

/** In the order of the columns. */
export function countValues(row: RowCounts): number[] {
  return [row.input, row.output, row.cached, row.cacheWrite, row.reasoning]
}

/** In the order of the columns. */
export function sumValues(sum: CountColumns): number[] {
  return [sum.input, sum.output, sum.cached, sum.cache_write, sum.reasoning]
}

export function rowCountsFrom<Value>(
  row: { readonly [column in keyof CountColumns]?: Value },
  read: (value: Value | undefined) => number,
): RowCounts {
  return {
    input: read(row.input),
    output: read(row.output),
    cached: read(row.cached),
    cacheWrite: read(row.cache_write),
    reasoning: read(row.reasoning),
  }
}

/** @param most of one row. */
export function addRow(sum: CountColumns, row: RowCounts, most: number): void {
  sum.input += Math.min(row.input, most)
  sum.output += Math.min(row.output, most)
  sum.cached += Math.min(row.cached, most)
  sum.cache_write += Math.min(row.cacheWrite, most)
  sum.reasoning += Math.min(row.reasoning, most)
}

export function addRowCounts(a: RowCounts, b: RowCounts): RowCounts {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cached: a.cached + b.cached,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    reasoning: a.reasoning + b.reasoning,
  }
}

export function areAll(row: RowCounts, test: (count: number) => boolean): boolean {
  if (!test(row.input)) return false
  if (!test(row.output)) return false
  if (!test(row.cached)) return false
  if (!test(row.cacheWrite)) return false
  if (!test(row.reasoning)) return false
  return true
}

export function noDayCounts(): DayCounts {
  return {
    input: 0,
    output: 0,
    reasoning: 0,
  }
}

export function dayCountsFrom<Value>(
  row: { readonly [column in keyof DayColumns]?: Value },
  read: (value: Value | undefined) => number,
): DayCounts {
  return {
    input: read(row.input),
    output: read(row.output),
    reasoning: read(row.reasoning),
  }
}

/** @param first where they begin in a row of values. */
export function dayCountsAt<Value>(
  row: readonly (Value | undefined)[],
  first: number,
  read: (value: Value | undefined) => number,
): DayCounts {
  return {
    input: read(row[first]),
    output: read(row[first + 1]),
    reasoning: read(row[first + 2]),
  }
}

export function addDayCounts(a: DayCounts, b: DayCounts): DayCounts {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
  }
}
