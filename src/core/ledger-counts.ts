/**
 * The counts that each generation has in the ledger as columns of their own, each declared once. From this table come the columns and the sums
 * of both databases, the rows of the ledger, its export, the lists of the API and of the command line. What runs for each request or row
 * is straight code in `src/core/row-counts.ts`, which `npm run generate` writes.
 */
interface LedgerCount {
  /** The column; the member of an exported row is `<column>_tokens`. */
  readonly column: string
  /** The member of a row, and of the report of usage that it comes from (`token-kinds.ts`). */
  readonly count: string
  readonly side: 'input' | 'output'
  /** All of the side; the others are parts of it. */
  readonly whole?: true
  /** Lists of the API show it as `<shown>_tokens`. */
  readonly shown: string
  /** Text of the OpenAPI document; absent: its name says it. */
  readonly text?: string
  /** Its heading on the command line; absent: as lists show it. */
  readonly heading?: string
  /** Sums by day and model have it, and the lists that are made of them. */
  readonly byDay?: true
  /** The version of the schema whose step has added the column (`src/store/migrations.ts`); absent: the first one. */
  readonly since?: number
}

/** Later columns stand behind earlier ones: the rates of a row are written in this order. */
export const LEDGER_COUNTS = [
  {
    column: 'input',
    count: 'input',
    side: 'input',
    whole: true,
    shown: 'prompt',
    text: 'All input tokens, cached ones among them.',
    byDay: true,
  },
  {
    column: 'output',
    count: 'output',
    side: 'output',
    whole: true,
    shown: 'completion',
    text: 'All output tokens, reasoning among them.',
    byDay: true,
  },
  { column: 'cached', count: 'cached', side: 'input', shown: 'cached', text: 'Input tokens read from a cache.' },
  {
    column: 'cache_write',
    count: 'cacheWrite',
    side: 'input',
    shown: 'cache_write',
    text: 'Input tokens written to a cache.',
    heading: 'written',
  },
  { column: 'reasoning', count: 'reasoning', side: 'output', shown: 'reasoning', byDay: true },
] as const satisfies readonly LedgerCount[]

type Count = (typeof LEDGER_COUNTS)[number] & LedgerCount

/** Typed as what a row of the table may have. */
export const COUNTS: readonly Count[] = LEDGER_COUNTS

export const COUNT_COLUMNS = LEDGER_COUNTS.map(({ column }) => column)

/** Those that sums by day and model have. */
export const BY_DAY = COUNTS.filter((count): count is Extract<Count, { byDay: true }> => count.byDay === true)

/** In the order of lists: the input with its parts, then the output. */
export const LISTED_COUNTS: readonly Count[] = [
  ...COUNTS.filter(({ side }) => side === 'input'),
  ...COUNTS.filter(({ side }) => side === 'output'),
]

/** The versions of the schema that have added columns. */
export const COUNT_VERSIONS: readonly number[] = [...new Set(COUNTS.flatMap(({ since }) => since ?? []))].sort((a, b) => a - b)

/** The columns of a version of the schema; absent: of the first one. */
export function columnsUpTo(version = 0): string[] {
  return COUNTS.filter(({ since = 0 }) => since <= version).map(({ column }) => column)
}

/** In the order of the details of a generation: both sides, then the parts of the output and of the input. */
export const DETAILED_COUNTS: readonly Count[] = [
  ...COUNTS.filter(({ whole }) => whole),
  ...COUNTS.filter(({ side, whole }) => side === 'output' && !whole),
  ...COUNTS.filter(({ side, whole }) => side === 'input' && !whole),
]
