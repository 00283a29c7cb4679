/**
 * The counts that each generation has in the ledger as columns of their own, each declared once. From this table come the columns and the sums
 * of both databases, the rows of the ledger, its export, the lists of the API and their files. What every request runs is straight
 * code in `src/ledger/row-counts.ts`, which `npm run generate` writes.
 */
interface LedgerCount {
  /** The column, and the export's member before `_tokens`. */
  readonly column: string
  /** The member of a row, and the count of a report of usage (`token-kinds.ts`). */
  readonly count: string
}

/** Later columns stand behind earlier ones: rows that were written before are read by their places. */
export const LEDGER_COUNTS = [
  { column: 'input', count: 'input' },
  { column: 'output', count: 'output' },
  { column: 'cached', count: 'cached' },
  { column: 'cache_write', count: 'cacheWrite' },
  { column: 'reasoning', count: 'reasoning' },
] as const satisfies readonly LedgerCount[]
