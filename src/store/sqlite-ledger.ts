/** Reads of the embedded ledger: each in pages of a few milliseconds, between which requests go on. */

import type { DatabaseSync } from 'node:sqlite'
import { chargedAccounts } from '../core/payers.ts'
import type { ChargeQuery, ChargeStatement } from '../ledger/charge-sums.ts'
import { Pace } from '../ledger/pace.ts'
import type { LastUse, LedgerReader } from '../ledger/reader.ts'
import { searchPages } from '../ledger/search.ts'
import { sessionNamePages, sessionSumPages } from '../ledger/session-use.ts'
import type {
  ByokUse,
  ByokUseQuery,
  FoundPage,
  GenerationRecord,
  GenerationSearch,
  Journal,
  KeyCharges,
  SessionMove,
  SessionName,
  SessionNamePage,
  SessionPage,
  SessionQuery,
  SessionUse,
  Sums,
  UsePage,
  UseQuery,
  UseRow,
} from '../ledger/types.ts'
import { usePages } from '../ledger/use.ts'
import { sqliteByokUse } from './byok-use.ts'
import { type ChargedSums, removedUnread } from './charged.ts'
import { lastMinutes } from './key-minutes.ts'
import { DAY_MS, HOUR_MS, sumByAccount } from './rows.ts'
import { SqliteCharges } from './sqlite-charges.ts'
import type { SqliteEntries } from './sqlite-entries.ts'
import type { SqliteReaders } from './sqlite-readers.ts'
import type { SqliteRollups } from './sqlite-rollups.ts'
import { SqliteSearch } from './sqlite-search.ts'
import { SqliteSessionNames } from './sqlite-session-names.ts'
import type { SqliteSessionSums } from './sqlite-session-sums.ts'
import { SqliteSessionUse } from './sqlite-session-use.ts'
import { SqliteUse } from './sqlite-use.ts'

export interface SqliteLedgerParts {
  readonly db: DatabaseSync
  readonly journal: Pick<Journal, 'find' | 'export' | 'lastSeq'>
  readonly charged: ChargedSums
  readonly rollups: SqliteRollups
  readonly sessionSums: SqliteSessionSums
  readonly entries: SqliteEntries
  readonly readers: SqliteReaders
  /** Writes what waits. */
  flush(): void
}

/** Methods throw what SQLite throws. */
export class SqliteLedger implements LedgerReader {
  readonly entries: SqliteEntries
  readonly readers: SqliteReaders
  readonly lists = undefined
  private readonly parts: SqliteLedgerParts
  private useSums: SqliteUse | undefined
  private names: SqliteSessionNames | undefined
  private sums: SqliteSessionUse | undefined
  private found: SqliteSearch | undefined
  private chargeSums: SqliteCharges | undefined

  constructor(parts: SqliteLedgerParts) {
    this.parts = parts
    this.entries = parts.entries
    this.readers = parts.readers
  }

  async find(id: string): Promise<GenerationRecord | undefined> {
    return this.parts.journal.find(id)
  }

  export(since?: number): Iterable<GenerationRecord> {
    return this.parts.journal.export(since)
  }

  spent(): Promise<Sums> {
    return summed(this.parts.charged.pages('all'))
  }

  carried(): Promise<Sums> {
    return summed(this.parts.charged.pages('removed'))
  }

  async removedUnread(): Promise<Sums> {
    return sumByAccount(removedUnread(this.parts.db))
  }

  async byokUse(query: ByokUseQuery): Promise<readonly ByokUse[]> {
    this.parts.flush()
    return sqliteByokUse(this.parts.db, query)
  }

  async lastUses(keys: readonly string[]): Promise<readonly LastUse[]> {
    this.parts.flush()
    return lastMinutes(this.parts.db, keys)
  }

  async windows(): Promise<undefined> {}

  use(query: UseQuery): Promise<readonly UseRow[]> {
    return usePages(query, (after) => this.usePage(query, after))
  }

  usePage(query: UseQuery, after: string): UsePage {
    const { db, journal, rollups, flush } = this.parts
    if (after === '') {
      flush()
      // Else all of today would count as left by an earlier process until the first round of sums, and be read at once.
      rollups.begin(journal.lastSeq())
    }
    this.useSums ??= new SqliteUse(db, rollups)
    return this.useSums.read(query, after)
  }

  charges(query: ChargeQuery): Promise<ChargeStatement> {
    const { db, rollups, entries, flush } = this.parts
    this.chargeSums ??= new SqliteCharges({ db, rollups, entries, flush, use: (wanted, after) => this.usePage(wanted, after) })
    return this.chargeSums.read(query)
  }

  async rebuildUse(): Promise<number> {
    const { rollups, sessionSums, flush } = this.parts
    flush()
    const day = rollups.rebuild()
    sessionSums.rebuild((day * DAY_MS) / HOUR_MS)
    return day * DAY_MS
  }

  sessionNames(query: SessionQuery): Promise<readonly SessionName[]> {
    return sessionNamePages((after) => this.sessionNamePage(query, after))
  }

  sessionNamePage(query: SessionQuery, after: string): SessionNamePage {
    const { db, sessionSums, flush } = this.parts
    if (after === '') flush()
    this.names ??= new SqliteSessionNames(db, sessionSums)
    return this.names.read(query, after)
  }

  sessionSums(query: SessionQuery, of: readonly SessionName[]): Promise<readonly SessionUse[]> {
    return sessionSumPages((after) => this.sessionSumPage(query, after, of))
  }

  sessionSumPage(query: SessionQuery, after: string, of: readonly SessionName[]): SessionPage {
    const { db, sessionSums } = this.parts
    this.sums ??= new SqliteSessionUse(db, sessionSums)
    return this.sums.read(query, after, of)
  }

  async sessionMoves(query: SessionQuery): Promise<readonly SessionMove[]> {
    this.parts.flush()
    return this.entries.sessionMoves(query)
  }

  search(query: GenerationSearch, before: string): Promise<FoundPage> {
    this.parts.flush()
    this.found ??= new SqliteSearch(this.parts.db)
    const { found } = this
    return searchPages(query, before, (wanted, next) => found.page(wanted, next))
  }
}

/** By account, beside requests: to read the sums of all keys at once would hold them up. */
async function summed(pages: Iterable<readonly KeyCharges[]>): Promise<Sums> {
  const sums = new Map<string, bigint>()
  const pace = new Pace()
  for (const page of pages) {
    for (const charge of page) for (const account of chargedAccounts(charge)) sums.set(account, (sums.get(account) ?? 0n) + charge.cost)
    if (pace.over) await pace.rest()
  }
  return sums
}
