/** The journal on SQLite: holds and settlements, appended, one commit per turn of the event loop. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Clock, Timer } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import type { DrawnNumbers } from '../core/ids.ts'
import { COUNT_COLUMNS } from '../core/ledger-counts.ts'
import { LOSS_MARK } from '../core/ledger-entries.ts'
import { countValues } from '../core/row-counts.ts'
import type { DatedCharges, GenerationRecord, HoldRow, Journal, Reconciliation, SettleRow } from '../ledger/types.ts'
import { BatchQueue, type BatchReport } from './batch.ts'
import { foldCarried, pruneGenerations } from './carried.ts'
import { ChargedSums, removedCharges, takeOff } from './charged.ts'
import { type CheckpointReport, Checkpoints } from './checkpoints.ts'
import { forgetAllMinutes, KeyMinutes } from './key-minutes.ts'
import { planRecovery } from './recovery.ts'
import { DAY_MS, findRecord, joinRecord, type OwnedRow, sumByAccount, TICKS } from './rows.ts'
import { SettledBelow } from './settled-below.ts'
import { asRefusal, type Durability, integer, memoryDatabase, openDatabase, text } from './sqlite.ts'
import type { SqliteAuditLog } from './sqlite-audit-log.ts'
import { SqliteEntries } from './sqlite-entries.ts'
import { SqliteLedger } from './sqlite-ledger.ts'
import { drawnNumbers, openHolds } from './sqlite-numbers.ts'
import { SqliteReaders } from './sqlite-readers.ts'
import { SqliteRollups } from './sqlite-rollups.ts'
import { holdFrom, SETTLED_COLUMNS, settlementFrom } from './sqlite-rows.ts'
import { SqliteSessionSums } from './sqlite-session-sums.ts'

/** Problems of the journal for the operator, without the content of any row. */
export type JournalReport = BatchReport | CheckpointReport

export interface JournalOptions {
  durability: Durability
  clock: Clock
  report?: ((report: JournalReport) => void) | undefined
  /** Takes the entries of the ledger's changes; absent: one without a key. */
  auditLog?: SqliteAuditLog | undefined
}

/** Milliseconds until settlements that were refused are tried again. */
const RETRY_AFTER = 1000
/** Generations of one page of the export, which takes less than a millisecond: a scan works in slices of 5 ms at most. */
const EXPORT_PAGE = 100

const INSERT_HOLD = `INSERT INTO hold (seq, tag, key, payer, model, endpoint, hold, floor) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (seq) DO UPDATE SET hold = excluded.hold, floor = excluded.floor WHERE tag = excluded.tag`
const SETTLED = ['seq', 'status', 'cost', 'estimated', 'facts', 'at', ...COUNT_COLUMNS]
const INSERT_SETTLEMENT = `INSERT INTO settlement (${SETTLED.join(', ')}) VALUES (${SETTLED.map(() => '?').join(', ')})
  ON CONFLICT (seq) DO NOTHING`

const NAMED = 'seq IN (SELECT value FROM json_each(?))'
const FORGET_HOLDS = `DELETE FROM hold WHERE ${NAMED} AND seq IN (SELECT seq FROM settlement)`
const FORGET_SETTLEMENTS = `DELETE FROM settlement WHERE ${NAMED}`
const SETTLED_AMONG = 'SELECT seq, tag FROM hold JOIN settlement USING (seq) WHERE seq IN (SELECT value FROM json_each(?))'

export class SqliteJournal implements Journal {
  private readonly db: DatabaseSync
  private readonly clock: Clock
  private readonly report: (report: JournalReport) => void
  private readonly queue: BatchQueue
  private readonly begin: StatementSync
  private readonly commit: StatementSync
  private readonly insertHold: StatementSync
  private readonly insertSettlement: StatementSync
  private readonly selectHold: StatementSync
  private readonly selectSettlement: StatementSync
  readonly checkpoints: Checkpoints
  private retryTimer: Timer | undefined
  private readonly settledBelow: SettledBelow
  private readonly charged: ChargedSums
  private readonly keyMinutes: KeyMinutes
  private readonly rollups: SqliteRollups
  private readonly sessionSums: SqliteSessionSums
  readonly entries: SqliteEntries
  /** Readers that go through the ledger step by step. */
  readonly readers: SqliteReaders
  readonly ledger: SqliteLedger
  readonly hold: Journal['hold']
  readonly settle: Journal['settle']
  readonly committed: Journal['committed']
  readonly isInMemory: boolean

  constructor(db: DatabaseSync, options: Omit<JournalOptions, 'durability'>) {
    this.db = db
    this.clock = options.clock
    this.report = options.report ?? (() => {})
    this.begin = db.prepare('BEGIN IMMEDIATE')
    this.commit = db.prepare('COMMIT')
    this.insertHold = db.prepare(INSERT_HOLD)
    this.insertSettlement = db.prepare(INSERT_SETTLEMENT)
    this.selectHold = db.prepare('SELECT * FROM hold WHERE seq = ?')
    this.selectSettlement = db.prepare('SELECT * FROM settlement WHERE seq = ?')
    const last = integer(db.prepare('SELECT ifnull(max(seq), 0) AS seq FROM hold').get()?.seq)
    this.isInMemory = db.location() === null
    this.checkpoints = new Checkpoints(db, { clock: this.clock, report: this.report })
    this.settledBelow = new SettledBelow(db)
    this.charged = new ChargedSums(db)
    this.keyMinutes = new KeyMinutes(db)
    this.rollups = new SqliteRollups(db, last)
    this.sessionSums = new SqliteSessionSums(db)
    this.entries = new SqliteEntries(db, () => this.checkpoints.logged(1), options.auditLog)
    this.readers = new SqliteReaders(db, (rows) => this.checkpoints.logged(rows))
    this.queue = new BatchQueue(
      {
        write: (holds, settles) => this.write(holds, settles),
        knows: (seq) => this.knows(seq),
        refused: (cause) => this.refused(cause),
      },
      last,
    )
    this.hold = this.queue.hold
    this.settle = this.queue.settle
    this.committed = this.queue.committed
    const { charged, rollups, sessionSums, entries, readers } = this
    this.ledger = new SqliteLedger({ db, journal: this, charged, rollups, sessionSums, entries, readers, flush: this.queue.flush })
  }

  lastSeq(): number {
    return this.queue.last
  }

  drawnNumbers(now: number): DrawnNumbers {
    this.queue.flush()
    return drawnNumbers(this.db, now, this.queue.last)
  }

  unsettled(): Reconciliation {
    this.queue.flush()
    return planRecovery(openHolds(this.db))
  }

  reconcile(): Reconciliation {
    const found = this.unsettled()
    try {
      if (found.count > 0) this.charged.settleOpen(this.rollups, this.readers)
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : cause
      throw new Fault('unavailable', { message: `store ${this.db.location()}: what was left open cannot be settled: ${why}`, cause })
    }
    try {
      this.settledBelow.raise(this.queue.last + 1)
    } catch {
      // On a full disk: the next start looks further back.
    }
    return found
  }

  spent(): Map<string, bigint> {
    return sumByAccount(this.charges(Number.MAX_SAFE_INTEGER))
  }

  charges(since: number): Iterable<DatedCharges> {
    return this.charged.charges(Math.floor(since / DAY_MS))
  }

  carried(): Map<string, bigint> {
    return sumByAccount(removedCharges(this.db))
  }

  /** Removes the oldest settled generations admitted before a moment; their sums stay. @throws what SQLite throws. */
  prune(before: number, most: number): number {
    const count = pruneGenerations(
      this.db,
      { charged: this.charged, rollups: this.rollups, readers: this.readers, now: this.clock.now() },
      before,
      most,
    )
    if (count > 0) this.checkpoints.logged(count)
    return count
  }

  /** Brings the tables of sums of use up to date, see `SqliteRollups`. @throws what SQLite throws. */
  roll(now: number, most: number): number {
    const rolled = this.rollups.roll(now, most, this.queue.last)
    const sessions = rolled >= most ? rolled : this.sessionSums.roll(now, most, this.queue.last)
    const folded = sessions >= most ? sessions : foldCarried(this.db, this.charged, now, most)
    const count = folded >= most ? folded : this.settledBelow.advance(now, most, this.queue.last)
    if (count > 0) this.checkpoints.logged(count)
    return count
  }

  /** Removes the oldest day of the sums of use. @returns whether there was one before the moment. @throws what SQLite throws. */
  forgetUse(before: number): boolean {
    return this.rollups.forget(before)
  }

  find(id: string): GenerationRecord | undefined {
    return findRecord(
      id,
      (seq) => this.queue.queuedHold(seq) ?? holdFrom(this.selectHold.get(seq)),
      (seq) => settlementFrom(this.selectSettlement.get(seq)) ?? this.queue.queuedSettle(seq),
    )
  }

  *export(since = 0): Iterable<GenerationRecord> {
    this.queue.flush()
    const page = this.db.prepare(
      `SELECT hold.*, ${SETTLED_COLUMNS} FROM hold LEFT JOIN settlement USING (seq) WHERE hold.seq > ? ORDER BY hold.seq LIMIT ${EXPORT_PAGE}`,
    )
    let after = Math.max(0, Math.ceil(since * TICKS)) - 1
    for (;;) {
      const rows = page.all(after)
      for (const row of rows) {
        const hold = holdFrom(row)
        if (!hold) continue
        after = hold.seq
        yield joinRecord(hold, row.settled === null ? undefined : settlementFrom(row))
      }
      if (rows.length < EXPORT_PAGE) return
    }
  }

  /** In one transaction; of those named only the settled ones go. @throws what SQLite throws; then all are still there. */
  forget(seqs: readonly number[]): void {
    if (seqs.length === 0) return
    const named = JSON.stringify(seqs)
    this.charged.atOnce(() => {
      takeOff(this.db, { where: NAMED, value: named })
      forgetAllMinutes(this.db)
      this.entries.forget()
      this.db.prepare(FORGET_HOLDS).run(named)
      this.db.prepare(FORGET_SETTLEMENTS).run(named)
    })
    this.checkpoints.logged(seqs.length)
  }

  /** Of generations named by their sequence, those that are settled and committed, with their tags. */
  settledAmong(seqs: readonly number[]): Map<number, string> {
    const rows = this.db.prepare(SETTLED_AMONG).all(JSON.stringify(seqs))
    return new Map(rows.map((row) => [integer(row.seq), text(row.tag)]))
  }

  close(): void {
    if (!this.db.isOpen) return
    this.queue.flush()
    this.checkpoints.close()
    this.retryTimer?.cancel()
    this.charged.close()
    this.rollups.close()
    this.db.close()
  }

  private write(holds: readonly HoldRow[], settles: readonly SettleRow[]): void {
    const { charged, entries, insertHold, insertSettlement, keyMinutes, readers, rollups, sessionSums, settledBelow } = this
    const duplicates: number[] = []
    const lateHolds: number[] = []
    const lateSettles: number[] = []
    const settled: OwnedRow[] = []
    const inSession: OwnedRow[] = []
    let mark = settledBelow.seq
    let unsummed: ReturnType<SqliteSessionSums['write']> = []
    try {
      this.begin.run()
      for (const row of holds) {
        const done = insertHold.run(row.seq, row.tag, row.key, row.payer ?? '', row.model, row.endpoint, row.hold, row.floor)
        if (done.changes > 0) {
          keyMinutes.note(row)
          if (row.seq < mark) lateHolds.push(row.seq)
          continue
        }
        duplicates.push(row.seq)
        charged.numberTaken(row.seq)
      }
      for (const row of settles) {
        const done = insertSettlement.run(row.seq, row.status, row.cost, row.estimated ? 1 : 0, row.facts, row.at, ...countValues(row))
        if (done.changes === 0) {
          duplicates.push(row.seq)
          continue
        }
        const owned: OwnedRow = [row, charged.settle(row, this.findHold)]
        settled.push(owned)
        if (row.use?.session !== '') inSession.push(owned)
        if (row.seq < rollups.below) lateSettles.push(row.seq)
        if (row.facts.includes(LOSS_MARK)) entries.settled(row, () => this.findHold(row.seq))
        if (row.seq < readers.highest) readers.settledLate(row.seq)
      }
      if (settled.length > 0) charged.write()
      if (lateSettles.length > 0) rollups.add(lateSettles)
      if (inSession.length > 0) unsummed = sessionSums.write(inSession)
      if (lateHolds.length > 0) mark = settledBelow.lower(lateHolds)
      this.commit.run()
    } catch (cause) {
      charged.ended(false)
      keyMinutes.refused(holds)
      if (this.db.isOpen && this.db.isTransaction) this.db.exec('ROLLBACK')
      throw cause
    }
    settledBelow.seq = mark
    if (settled.length > 0) {
      charged.ended(true)
      rollups.committed(settled)
      if (unsummed.length > 0) sessionSums.committed(unsummed)
    }
    this.checkpoints.logged(holds.length + settles.length)
    for (const seq of duplicates) this.report({ kind: 'duplicate', seq })
  }

  private readonly findHold = (seq: number): HoldRow | undefined => holdFrom(this.selectHold.get(seq))

  private knows(seq: number): boolean {
    try {
      return this.selectHold.get(seq) !== undefined
    } catch {
      return true
    }
  }

  private refused(cause: unknown): void {
    this.report({ kind: 'refused', cause })
    if (!this.queue.pending || this.retryTimer || !this.db.isOpen) return
    this.retryTimer = this.clock.after(RETRY_AFTER, () => {
      this.retryTimer = undefined
      this.queue.flush()
    })
  }
}

/**
 * Opens the journal at `path` alone, without keys.
 * @throws Fault `unavailable` naming the file, as `openDatabase` does.
 */
export function openJournal(path: string, options: JournalOptions): SqliteJournal {
  const db = openDatabase(path, options.durability)
  try {
    return new SqliteJournal(db, options)
  } catch (thrown) {
    const refusal = asRefusal(db, thrown)
    db.close()
    throw refusal
  }
}

/** A journal that is gone with its process. */
export function openMemoryJournal(options: Omit<JournalOptions, 'durability'>): SqliteJournal {
  return new SqliteJournal(memoryDatabase(), options)
}
