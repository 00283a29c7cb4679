/** Opens the store that a URL names. */
import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../core/clock.ts'
import { badField } from '../core/faults.ts'
import type { LocalEntries } from '../ledger/entries.ts'
import type { Journal, LedgerReaders } from '../ledger/types.ts'
import { MemoryJournal } from './batch.ts'
import type { Checkpoints } from './checkpoints.ts'
import { type CompactionKeyStore, MemoryCompactionKeys, SqliteCompactionKeys } from './compaction-keys.ts'
import type { EventStore } from './events.ts'
import { type GivenIdStore, memoryGivenIds, SqliteGivenIds } from './given-ids.ts'
import type { GuardrailStore } from './guardrails.ts'
import { type JournalNews, SqliteJournal } from './journal.ts'
import { type KeyStore, SqliteKeys } from './keys.ts'
import { MemoryGuardrails } from './memory-guardrails.ts'
import { MemoryKeys } from './memory-keys.ts'
import { type CheckedTable, checkedTables } from './page-check.ts'
import type { RefusalStore } from './refusals.ts'
import type { Prunable } from './retention.ts'
import { asRefusal, type Durability, isChecked, openDatabase } from './sqlite.ts'
import { memoryEvents, SqliteEvents } from './sqlite-events.ts'
import { SqliteGuardrails } from './sqlite-guardrails.ts'
import { memoryRefusals, SqliteRefusals } from './sqlite-refusals.ts'

export interface Store {
  readonly journal: { readonly entries: LocalEntries } & Journal & Prunable
  readonly keys: KeyStore
  readonly guardrails: GuardrailStore
  readonly compactionKeys: CompactionKeyStore
  /** Absent in memory. */
  readonly readers?: LedgerReaders
  readonly events: EventStore
  readonly refusals: RefusalStore
  readonly givenIds: GivenIdStore
  /** Where the start has not checked the whole file: what is left to check. */
  readonly unchecked?: UncheckedFile | undefined
  /** What a start throws of what it was refused with: damage names the file. */
  refusal?(thrown: unknown): unknown
  /** Commits what waits and gives the file free; calling it again does nothing. */
  close(): void
}

export interface UncheckedFile {
  readonly path: string
  readonly tables: readonly CheckedTable[]
  readonly checkpoints: Pick<Checkpoints, 'count' | 'whileStill'>
}

export interface StoreOptions {
  clock: Clock
  /** Default `process`. */
  durability?: Durability
  /** Called with what an operator should know of: refused batches, second settlements. */
  report?: (news: JournalNews) => void
}

/**
 * @param url `sqlite:./path` (relative to the working directory) or `memory:`.
 * @throws Fault `bad_request` for another URL, `unavailable` naming the file where it cannot be had.
 */
export function openStore(url: string, options: StoreOptions): Store {
  const { clock, report } = options
  if (url === 'memory:') {
    const journal = new MemoryJournal(report)
    const events = memoryEvents()
    return {
      journal,
      events,
      keys: new MemoryKeys(clock, events),
      guardrails: new MemoryGuardrails(),
      compactionKeys: new MemoryCompactionKeys(),
      refusals: memoryRefusals(),
      givenIds: memoryGivenIds(),
      close: () => journal.close(),
    }
  }
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

function openTables(db: DatabaseSync, { clock, report }: StoreOptions): Store {
  const journal = new SqliteJournal(db, { clock, report })
  const path = db.location() ?? ''
  return {
    journal,
    keys: new SqliteKeys(db, clock),
    guardrails: new SqliteGuardrails(db),
    compactionKeys: new SqliteCompactionKeys(db),
    readers: journal.readers,
    events: new SqliteEvents(db),
    refusals: new SqliteRefusals(db),
    givenIds: new SqliteGivenIds(db),
    unchecked: isChecked(db) ? undefined : { path, tables: checkedTables(db), checkpoints: journal.checkpoints },
    refusal: (thrown) => asRefusal(db, thrown),
    close: () => journal.close(),
  }
}
