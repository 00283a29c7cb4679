import type { LedgerReader } from '../../src/ledger/reader.ts'
import { scanSessions } from '../../src/ledger/session-use.ts'
import type { SessionQuery, SessionUse } from '../../src/ledger/types.ts'

/** All sessions of a query, the one that was used last first. */
export async function allSessions(ledger: LedgerReader, query: SessionQuery): Promise<readonly SessionUse[]> {
  const scan = await scanSessions(ledger, query)
  return scan.rows({ offset: 0, limit: scan.total })
}
