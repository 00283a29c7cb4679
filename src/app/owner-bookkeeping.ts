/** The ledger of a process that owns workers: the store of record, and what workers of this or an earlier run have left. */
import { existsSync } from 'node:fs'
import { type Bookkeeping, type BookkeepingReport, journalPath, openBookkeeping, workerPrefix } from '../cluster/bookkeeping.ts'
import { type TakingIn, takeIn, takeInAll } from '../cluster/leftovers.ts'
import type { OwnerRecord } from '../cluster/owner-record.ts'
import type { WorkerHandle } from '../cluster/owner-server.ts'
import { within } from '../cluster/record-calls.ts'
import type { ExportedFrom } from '../cluster/upkeep.ts'
import type { StoreConfig } from '../config/config.ts'
import type { AuditKeys } from '../core/audit-keys.ts'
import type { Clock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import { Credit } from '../ledger/credit.ts'
import type { Reconciliation } from '../ledger/types.ts'
import { LocalRecord } from '../store/local-record.ts'
import { joinRecoveries } from '../store/recovery.ts'

export interface OwnerBookkeepingOptions {
  store: StoreConfig
  /** Exports for which generations are kept beyond their retention. */
  exports: readonly ExportedFrom[]
  /** Sign the audit log. */
  auditKeys: AuditKeys
  /** Workers of this run. */
  count: number
  clock: Clock
  report: (report: BookkeepingReport) => void
  /** Called for a journal whose worker's end had left generations open. */
  recovered: (slot: number, report: Reconciliation) => void
}

type WorkersRecord = LocalRecord | OwnerRecord

/** Milliseconds at the end for what workers have left. */
const MAX_CLOSE_MS = 2_000

export class OwnerBookkeeping {
  readonly own: Bookkeeping
  /** As the workers have it. */
  readonly record: WorkersRecord
  private readonly options: OwnerBookkeepingOptions
  private reports: Reconciliation[]

  private constructor(bookkeeping: Bookkeeping, options: OwnerBookkeepingOptions) {
    const { credit, journal, ledger, keys, guardrails, compactionKeys, byokKeys, levels, givenIds, events, auditLog, refusals } =
      bookkeeping
    this.own = bookkeeping
    this.options = options
    this.reports = [bookkeeping.recovered]
    const kept = { keys, guardrails, compactionKeys, byokKeys, levels, givenIds, events, auditLog, refusals: refusals.store }
    const stores = { journal, ledger, ...kept, clock: options.clock }
    const record = credit instanceof Credit ? new LocalRecord({ ...stores, credit }) : bookkeeping.workersRecord
    if (!record) throw new TypeError('no store of record for workers')
    this.record = record
  }

  /** Opens the store and takes in what is left of earlier runs. @throws Fault `unavailable` naming the file or the store. */
  static async open(options: OwnerBookkeepingOptions): Promise<OwnerBookkeeping> {
    const { store, exports, auditKeys, clock, report } = options
    return new OwnerBookkeeping(await openBookkeeping({ ...store, exports, auditKeys, clock, isOwner: true, report }), options)
  }

  /** Generations that the start has settled because a crash had left it open. */
  get recovered(): Reconciliation {
    return joinRecoveries(this.reports)
  }

  /** Takes over what a dead worker has left: its generations, then its leases. @throws Fault; then call it again. */
  async inherit(slot: number, workerHandle: WorkerHandle): Promise<void> {
    await workerHandle.idle()
    const nodes = [...workerHandle.nodes]
    const path = journalPath({ ...this.options.store, worker: { slot } })
    if (path !== undefined && existsSync(path)) this.note(slot, (await takeIn(path, nodes[0] ?? path, this.into)).recovered)
    for (const node of nodes) this.record.nodeGone(node)
  }

  /** Closes the store, once no worker is left. */
  async close(): Promise<void> {
    const prefix = workerPrefix(this.options.store)
    try {
      if (prefix !== undefined) await this.takeInLeft(prefix)
    } finally {
      await this.record.close()
      await this.own.close()
    }
  }

  /** Takes in files that were left behind; if the store of record is another server that does not answer in time, the rest waits in them for the next start. */
  private async takeInLeft(prefix: string): Promise<void> {
    const { into } = this
    const all = takeInAll(prefix, into, async ({ path }) => (await takeIn(path, path, into)).recovered)
    const noted = all.then((found) => {
      for (const each of found) this.note(0, each)
    })
    if (this.record instanceof LocalRecord) return noted
    await within(this.options.clock, MAX_CLOSE_MS, noted).catch((thrown: unknown) => {
      if (!(thrown instanceof Fault) || thrown.code !== 'unavailable') throw thrown
    })
  }

  private get into(): TakingIn {
    const { clock, store, report } = this.options
    return { record: { take: (node, rows) => this.record.inherit(node, rows) }, clock, durability: store.durability, report }
  }

  private note(slot: number, found: Reconciliation): void {
    if (found.count === 0) return
    this.reports.push(found)
    this.options.recovered(slot, found)
  }
}
