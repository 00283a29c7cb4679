/** Straight code for the counts of the ledger, written from the table of its columns, since each request and each row runs it. */
import { BY_DAY, COUNTS } from '../src/core/ledger-counts.ts'

type Count = (typeof COUNTS)[number]

/** Characters of a line, as the formatter has them. */
const LINE = 140

/** An object with a line for each count. */
const object = (member: (count: Count, at: number) => string, of = COUNTS): string => `{
${of.map((count, at) => `    ${member(count, at)},\n`).join('')}  }`

/** A list in one line, or with a line for each count. */
function list(value: (count: Count) => string): string {
  const values = COUNTS.map(value)
  const line = `  return [${values.join(', ')}]`
  return line.length <= LINE ? line : `  return [\n${values.map((text) => `    ${text},\n`).join('')}  ]`
}

/** A count that came later may be absent, as in rows that were written before: there are none. */
const members = (of: readonly Count[]): string =>
  of.map(({ count, since }) => `  ${count}${since === undefined ? '' : '?'}: number\n`).join('')
const columns = (of: readonly Count[]): string => of.map(({ column }) => `  ${column}: number\n`).join('')
const countIn = (row: string, { count, since }: Count): string => `${row}.${count}${since === undefined ? '' : ' ?? 0'}`
const added = (count: Count): string => {
  const [a, b] = [countIn('a', count), countIn('b', count)]
  return `${count.count}: ${count.since === undefined ? `${a} + ${b}` : `(${a}) + (${b})`}`
}

/** The source text of `src/core/row-counts.ts`. */
export function rowCounts(): string {
  return `/**
 * Counts of the ledger as rows and sums have them. \`npm run generate\` writes this file from \`src/core/ledger-counts.ts\`.
 */

/** Of a row. */
export interface RowCounts {
${members(COUNTS)}}

/** The same by their columns. */
export interface CountColumns {
${columns(COUNTS)}}

/** Those that sums by day and model have. */
export interface DayCounts {
${members(BY_DAY)}}

export interface DayColumns {
${columns(BY_DAY)}}

export function noRowCounts(): RowCounts {
  return ${object(({ count }) => `${count}: 0`)}
}

export function noSums(): CountColumns {
  return ${object(({ column }) => `${column}: 0`)}
}

/** Those of a report of usage, for one. */
export function toRowCounts(from: { readonly [count in keyof RowCounts]?: number | undefined }): Required<RowCounts> {
  return ${object(({ count }) => `${count}: from.${count} ?? 0`)}
}

/** In the order of the columns. */
export function countValues(row: RowCounts): number[] {
${list((count) => countIn('row', count))}
}

/** In the order of the columns. */
export function sumValues(sum: CountColumns): number[] {
${list(({ column }) => `sum.${column}`)}
}

export function rowCountsFrom<Value>(
  row: { readonly [column in keyof CountColumns]?: Value },
  read: (value: Value | undefined) => number,
): RowCounts {
  return ${object(({ column, count }) => `${count}: read(row.${column})`)}
}

/** @param most of one row. */
export function addRow(sum: CountColumns, row: RowCounts, most: number): void {
${COUNTS.map((count) => `  sum.${count.column} += Math.min(${countIn('row', count)}, most)\n`).join('')}}

export function addRowCounts(a: RowCounts, b: RowCounts): RowCounts {
  return ${object(added)}
}

export function areAll(row: RowCounts, test: (count: number) => boolean): boolean {
${COUNTS.map((count) => `  if (!test(${countIn('row', count)})) return false\n`).join('')}  return true
}

export function noDayCounts(): DayCounts {
  return ${object(({ count }) => `${count}: 0`, BY_DAY)}
}

export function dayCountsFrom<Value>(
  row: { readonly [column in keyof DayColumns]?: Value },
  read: (value: Value | undefined) => number,
): DayCounts {
  return ${object(({ column, count }) => `${count}: read(row.${column})`, BY_DAY)}
}

/** @param first where they begin in a row of values. */
export function dayCountsAt<Value>(
  row: readonly (Value | undefined)[],
  first: number,
  read: (value: Value | undefined) => number,
): DayCounts {
  return ${object(({ count }, at) => `${count}: read(row[first${at === 0 ? '' : ` + ${at}`}])`, BY_DAY)}
}

export function addDayCounts(a: DayCounts, b: DayCounts): DayCounts {
  return ${object(added, BY_DAY)}
}
`
}
