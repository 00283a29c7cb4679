/** The ledger for its operator, over the admin port: the running process owns its file, so the command line asks it. */
import { exportRow } from '../ledger/export.ts'
import type { Journal } from '../ledger/types.ts'
import { type Verdict, verify } from '../ledger/verify.ts'

/** One row per generation as JSON lines, in the order of admission. */
export function* exportLines(journal: Journal): Generator<string> {
  for (const record of journal.export()) yield `${JSON.stringify(exportRow(record))}\n`
}

/** The sum of the entries against the balances, and the rules that every row keeps. */
export function verdict(journal: Journal): Verdict {
  return verify(journal.export(), journal.spent())
}

interface LedgerReply {
  status: number
  text?: { type: string; content: string }
  chunks?: { type: string; content: Iterable<string> }
}

/** Routes of the admin listener. The export is as long as the ledger, so it leaves row by row. */
export function ledgerRoutes(journal: Journal): Map<string, () => LedgerReply> {
  return new Map<string, () => LedgerReply>([
    ['GET /ledger/export', () => ({ status: 200, chunks: { type: 'application/x-ndjson', content: exportLines(journal) } })],
    ['GET /ledger/verify', () => ({ status: 200, text: { type: 'application/json', content: JSON.stringify(verdict(journal)) } })],
  ])
}
