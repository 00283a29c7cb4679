/** Opens the store that a URL names. */
import type { DatabaseSync } from 'node:sqlite'
import type { AuditKeys } from '../core/audit-keys.ts'
import type { Clock } from '../core/clock.ts'
import { badField } from '../core/faults.ts'
import type { AuditLogStore } from './audit-log.ts'
import type { AuditReaders } from './audit-readers.ts'
import type { ByokKeyStore } from './byok-keys.ts'
import type { Checkpoints } from './checkpoints.ts'
import { type CompactionKeyStore, SqliteCompactionKeys } from './compaction-keys.ts'
import type { EventStore } from './events.ts'
import { type GivenIdStore, SqliteGivenIds } from './given-ids.ts'
import type { GuardrailStore } from './guardrails.ts'
import { type JournalReport, SqliteJournal } from './journal.ts'
import { type KeyStore, SqliteKeys } from './keys.ts'
import type { LevelStore } from './levels.ts'
import { type CheckedTable, checkedTables } from './page-check.ts'
import type { RefusalStore } from './refusals.ts'
import { asRefusal, type Durability, isChecked, memoryDatabase, openDatabase } from './sqlite.ts'
import { SqliteAuditLog } from './sqlite-audit-log.ts'
import { SqliteAuditReaders } from './sqlite-audit-readers.ts'
import { SqliteByokKeys } from './sqlite-byok-keys.ts'
import { SqliteEvents } from './sqlite-events.ts'
import { SqliteGuardrails } from './sqlite-guardrails.ts'
import { SqliteLevels } from './sqlite-levels.ts'
import { SqliteRefusals } from './sqlite-refusals.ts'

export interface Store {
  readonly journal: SqliteJournal
  readonly keys: KeyStore
  readonly guardrails: GuardrailStore
  readonly compactionKeys: CompactionKeyStore
  readonly byokKeys: ByokKeyStore
  readonly levels: LevelStore
  readonly events: EventStore
  readonly auditLog: AuditLogStore
  readonly auditReaders: AuditReaders
  readonly refusals: RefusalStore
  readonly givenIds: GivenIdStore
  /** The file to check beside the work; absent where the start has checked all of it. */
  readonly unchecked?: UncheckedFile | undefined
  /** Returns the error that a start throws for one that was thrown while it read the store: damage names the file. */
  refusal?(thrown: unknown): unknown
  /** Commits what waits and gives the file free; calling it again does nothing. */
  close(): void
}

export interface UncheckedFile {
  readonly path: string
  readonly tables: readonly CheckedTable[]
  readonly checkpoints: Pick<Checkpoints, 'count' | 'whileStill'>
}

/** Refusals, given ids and entries of the audit log that a gateway without a file remembers. */
const MAX_IN_MEMORY = 10_000

export interface StoreOptions {
  clock: Clock
  /** Default `process`. */
  durability?: Durability
  /** Sign the audit log; absent: nothing does. */
  auditKeys?: AuditKeys | undefined
  /** Called with what an operator should know of: refused batches, second settlements. */
  report?: (report: JournalReport) => void
}

/**
 * @param url `sqlite:./path` (relative to the working directory) or `memory:`.
 * @throws Fault `bad_request` for another URL, `unavailable` naming the file where it cannot be had.
 */
export function openStore(url: string, options: StoreOptions): Store {
  if (url === 'memory:') return openTables(memoryDatabase(), options, MAX_IN_MEMORY)
  const path = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : ''
  if (path === '') throw badField('store.url', 'expected sqlite:<path> or memory:')
  const db = openDatabase(path, options.durability ?? 'process')
  try {
    return openTables(db, options)
  } catch (thrown) {
    const refusal = asRefusal(db, thrown)
    db.close()
    throw refusal
  }
}

/** @param most refusals, given ids, findings and entries of the audit log that are kept. */
function openTables(db: DatabaseSync, { clock, report, auditKeys }: StoreOptions, most?: number): Store {
  const auditLog = new SqliteAuditLog(db, { clock, keys: auditKeys, most })
  const journal = new SqliteJournal(db, { clock, report, auditLog })
  const path = db.location() ?? ''
  return {
    journal,
    keys: new SqliteKeys(db, clock, auditLog),
    guardrails: new SqliteGuardrails(db, most, auditLog),
    compactionKeys: new SqliteCompactionKeys(db, auditLog),
    byokKeys: new SqliteByokKeys(db, auditLog),
    levels: new SqliteLevels(db, auditLog),
    events: new SqliteEvents(db, auditLog),
    auditLog,
    auditReaders: new SqliteAuditReaders(db, auditLog),
    refusals: new SqliteRefusals(db, most),
    givenIds: new SqliteGivenIds(db, most),
    unchecked: isChecked(db) ? undefined : { path, tables: checkedTables(db), checkpoints: journal.checkpoints },
    refusal: (thrown) => asRefusal(db, thrown),
    close: () => journal.close(),
  }
}
