/** The books of a process that owns workers: the store of record, and what workers of this or an earlier run have left. */
import { type Bookkeeping, type BooksNews, journalPath, openBookkeeping } from './cluster/bookkeeping.ts'
import type { Station } from './cluster/owner-desk.ts'
import { type Leftover, leftovers, removeJournal, takeIn } from './cluster/owner-leftovers.ts'
import type { StoreConfig } from './config/types.ts'
import type { Clock } from './core/clock.ts'
import { Credit } from './ledger/credit.ts'
import type { Reconciliation } from './ledger/types.ts'
import { LocalRecord } from './store/local-record.ts'
import { joinRecoveries } from './store/recovery.ts'

export interface OwnerBooksOptions {
  store: StoreConfig
  /** Workers of this run. */
  count: number
  clock: Clock
  report: (news: BooksNews) => void
  /** Told of a journal whose worker's end had left generations open. */
  recovered: (slot: number, report: Reconciliation) => void
}

export class OwnerBooks {
  readonly books: Bookkeeping
  /** Absent where workers join a store of record by themselves. */
  readonly record: LocalRecord | undefined
  private readonly options: OwnerBooksOptions
  private reports: Reconciliation[]

  private constructor(books: Bookkeeping, options: OwnerBooksOptions) {
    const { credit, journal, keys } = books
    this.books = books
    this.options = options
    this.reports = [books.recovered]
    this.record = credit instanceof Credit ? new LocalRecord({ journal, keys, credit, clock: options.clock }) : undefined
  }

  /** Opens the store and takes in what is left of earlier runs. @throws Fault `unavailable` naming the file or the store. */
  static async open(options: OwnerBooksOptions): Promise<OwnerBooks> {
    const { store, clock, report } = options
    const books = await openBookkeeping({ ...store, clock, report })
    const owner = new OwnerBooks(books, options)
    try {
      await owner.takeInAll()
      return owner
    } catch (thrown) {
      await books.close()
      throw thrown
    }
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
    const journal = this.journals().find((left) => left.slot === slot)
    if (journal) await this.takeInOne(journal, nodes[0])
    for (const node of nodes) record.nodeGone(node)
  }

  /** Closes the store, once no worker is left. */
  async close(): Promise<void> {
    try {
      await this.takeInAll()
    } finally {
      await this.record?.close()
      await this.books.close()
    }
  }

  private journals(): Leftover[] {
    const path = journalPath({ ...this.options.store, worker: { slot: 0, count: 0 } })
    return path === undefined ? [] : leftovers(path.slice(0, -1))
  }

  private async takeInAll(): Promise<void> {
    for (const journal of this.journals()) {
      if (this.record) await this.takeInOne(journal)
      else if (journal.slot > this.options.count) await this.handInFor(journal)
      else continue
      removeJournal(journal.path)
    }
  }

  private async takeInOne({ slot, path }: Leftover, node = path): Promise<void> {
    const { record } = this
    if (!record) return
    const { clock, store, report } = this.options
    const { recovered } = await takeIn(path, node, { record, clock, durability: store.durability, report })
    this.note(slot, recovered)
  }

  /** As the worker itself would at its start, under the name under which it had leased credit. */
  private async handInFor({ slot }: Leftover): Promise<void> {
    const { store, clock, count, report } = this.options
    const books = await openBookkeeping({ ...store, clock, report, worker: { slot, count } })
    this.note(slot, books.recovered)
    await books.close()
  }

  private note(slot: number, found: Reconciliation): void {
    if (found.count === 0) return
    this.reports.push(found)
    this.options.recovered(slot, found)
  }
}
