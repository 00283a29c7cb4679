/** The ledger of a process that owns workers: the store of record, and what workers of this or an earlier run have left. */
import { existsSync } from 'node:fs'
import { type Bookkeeping, type BookkeepingNews, journalPath, openBookkeeping, workerPrefix } from '../cluster/bookkeeping.ts'
import { type TakingIn, takeIn, takeInAll } from '../cluster/leftovers.ts'
import type { Station } from '../cluster/owner-desk.ts'
import type { ExportedFrom } from '../cluster/upkeep.ts'
import type { StoreConfig } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import { Credit } from '../ledger/credit.ts'
import type { Reconciliation } from '../ledger/types.ts'
import { LocalRecord } from '../store/local-record.ts'
import { joinRecoveries } from '../store/recovery.ts'

export interface OwnerBookkeepingOptions {
  store: StoreConfig
  /** What generations are kept for beyond their retention. */
  exports: readonly ExportedFrom[]
  /** Workers of this run. */
  count: number
  clock: Clock
  report: (news: BookkeepingNews) => void
  /** Called for a journal whose worker's end had left generations open. */
  recovered: (slot: number, report: Reconciliation) => void
}

export class OwnerBookkeeping {
  readonly own: Bookkeeping
  /** Absent where workers join a store of record by themselves. */
  readonly record: LocalRecord | undefined
  private readonly options: OwnerBookkeepingOptions
  private reports: Reconciliation[]

  private constructor(bookkeeping: Bookkeeping, options: OwnerBookkeepingOptions) {
    const { credit, journal, keys, guardrails, compactionKeys, givenIds, events, refusals } = bookkeeping
    this.own = bookkeeping
    this.options = options
    this.reports = [bookkeeping.recovered]
    this.record =
      credit instanceof Credit
        ? new LocalRecord({
            journal,
            keys,
            guardrails,
            compactionKeys,
            givenIds,
            events,
            refusals: refusals.store,
            credit,
            clock: options.clock,
          })
        : undefined
  }

  /** Opens the store and takes in what is left of earlier runs. @throws Fault `unavailable` naming the file or the store. */
  static async open(options: OwnerBookkeepingOptions): Promise<OwnerBookkeeping> {
    const { store, exports, clock, report } = options
    return new OwnerBookkeeping(await openBookkeeping({ ...store, exports, clock, report }), options)
  }

  /** What the start has settled because a crash had left it open. */
  get recovered(): Reconciliation {
    return joinRecoveries(this.reports)
  }

  /** Takes over what a dead worker has left: its generations, then its leases. @throws Fault; then call it again. */
  async inherit(slot: number, station: Station): Promise<void> {
    const { record } = this
    if (!record) return
    await station.idle()
    const nodes = [...station.nodes]
    const path = journalPath({ ...this.options.store, worker: { slot, count: this.options.count } })
    if (path !== undefined && existsSync(path)) this.note(slot, (await takeIn(path, nodes[0] ?? path, this.into(record))).recovered)
    for (const node of nodes) record.nodeGone(node)
  }

  /** Closes the store, once no worker is left. */
  async close(): Promise<void> {
    const { record } = this
    const prefix = workerPrefix(this.options.store)
    try {
      if (record && prefix !== undefined) {
        const into = this.into(record)
        for (const found of await takeInAll(prefix, into, async ({ path }) => (await takeIn(path, path, into)).recovered))
          this.note(0, found)
      }
    } finally {
      await record?.close()
      await this.own.close()
    }
  }

  private into(record: LocalRecord): TakingIn {
    const { clock, store, report } = this.options
    return { record, clock, durability: store.durability, report }
  }

  private note(slot: number, found: Reconciliation): void {
    if (found.count === 0) return
    this.reports.push(found)
    this.options.recovered(slot, found)
  }
}
