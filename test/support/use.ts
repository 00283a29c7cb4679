import type { LedgerReader } from '../../src/ledger/reader.ts'
import type { UseQuery, UseRow } from '../../src/ledger/types.ts'
import { withMoves } from '../../src/ledger/use.ts'

/** The sums of a query: those of its generations, and what entries have moved in its days. */
export async function scanUse(ledger: LedgerReader, query: UseQuery): Promise<readonly UseRow[]> {
  return withMoves(ledger, query, await ledger.use(query))
}
