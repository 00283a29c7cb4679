/** Stores of one database in memory, beside keys, guardrails and a journal of the test's own. */
import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../../src/core/clock.ts'
import { SqliteCompactionKeys } from '../../../src/store/compaction-keys.ts'
import { SqliteGivenIds } from '../../../src/store/given-ids.ts'
import { SqliteKeys } from '../../../src/store/keys.ts'
import { memoryDatabase } from '../../../src/store/sqlite.ts'
import { SqliteAuditLog } from '../../../src/store/sqlite-audit-log.ts'
import { SqliteAuditReaders } from '../../../src/store/sqlite-audit-readers.ts'
import { SqliteByokKeys } from '../../../src/store/sqlite-byok-keys.ts'
import { SqliteEvents } from '../../../src/store/sqlite-events.ts'
import { SqliteGuardrails } from '../../../src/store/sqlite-guardrails.ts'
import { SqliteLevels } from '../../../src/store/sqlite-levels.ts'
import { SqliteRefusals } from '../../../src/store/sqlite-refusals.ts'

export function memoryStores(db: DatabaseSync = memoryDatabase()) {
  const auditLog = new SqliteAuditLog(db)
  return {
    compactionKeys: new SqliteCompactionKeys(db),
    byokKeys: new SqliteByokKeys(db),
    levels: new SqliteLevels(db),
    events: new SqliteEvents(db),
    auditLog,
    auditReaders: new SqliteAuditReaders(db, auditLog),
    refusals: new SqliteRefusals(db),
    givenIds: new SqliteGivenIds(db),
  }
}

/** The same with keys and guardrails, whose changes have entries in the audit log. */
export function memoryStoresWithKeys(clock: Clock) {
  const db = memoryDatabase()
  const auditLog = new SqliteAuditLog(db, { clock })
  const events = new SqliteEvents(db, auditLog)
  const compactionKeys = new SqliteCompactionKeys(db, auditLog)
  const byokKeys = new SqliteByokKeys(db, auditLog)
  const levels = new SqliteLevels(db, auditLog)
  const guardrails = new SqliteGuardrails(db, undefined, auditLog)
  return { ...memoryStores(db), auditLog, events, compactionKeys, byokKeys, levels, guardrails, keys: new SqliteKeys(db, clock, auditLog) }
}
