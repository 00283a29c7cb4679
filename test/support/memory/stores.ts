/** Stores of one database in memory, beside keys, guardrails and a journal of the test's own. */
import { SqliteCompactionKeys } from '../../../src/store/compaction-keys.ts'
import { SqliteGivenIds } from '../../../src/store/given-ids.ts'
import { memoryDatabase } from '../../../src/store/sqlite.ts'
import { SqliteAuditLog } from '../../../src/store/sqlite-audit-log.ts'
import { SqliteEvents } from '../../../src/store/sqlite-events.ts'
import { SqliteRefusals } from '../../../src/store/sqlite-refusals.ts'

export function memoryStores() {
  const db = memoryDatabase()
  return {
    compactionKeys: new SqliteCompactionKeys(db),
    events: new SqliteEvents(db),
    auditLog: new SqliteAuditLog(db),
    refusals: new SqliteRefusals(db),
    givenIds: new SqliteGivenIds(db),
  }
}
