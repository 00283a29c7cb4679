/** The counts of the ledger in lists of the API, by their names there: in rows, in the OpenAPI document, in CSV files. */
import type { COUNTS } from '../core/ledger-counts.ts'

type Listed = Pick<(typeof COUNTS)[number], 'count' | 'shown' | 'text'>

export function shownCounts<Name extends Listed['count']>(
  counts: readonly (Listed & { count: Name })[],
  row: { readonly [count in Name]?: number | undefined },
): Record<string, number> {
  const shown: Record<string, number> = {}
  for (const { count, shown: name } of counts) shown[`${name}_tokens`] = row[count] ?? 0
  return shown
}

/** @param field describes one. */
export function countFields<Field>(counts: readonly Listed[], field: (text?: string) => Field): Record<string, Field> {
  return Object.fromEntries(counts.map(({ shown, text }) => [`${shown}_tokens`, field(text)]))
}

export const countColumns = (counts: readonly Listed[]): string[] => counts.map(({ shown }) => `${shown}_tokens`)
