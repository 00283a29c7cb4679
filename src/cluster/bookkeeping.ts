/** Where a process keeps its books: in a file of its own, or in a journal whose rows it hands in to a store of record. */
import { hostname } from 'node:os'
import type { Clock } from '../core/clock.ts'
import { Credit, type CreditBook } from '../ledger/credit.ts'
import { oldestCounted } from '../ledger/spend-windows.ts'
import type { Journal, LedgerReader, Reconciliation } from '../ledger/types.ts'
import type { Shared } from '../shared/index.ts'
import { type JournalNews, openJournal } from '../store/journal.ts'
import type { KeyStore } from '../store/keys.ts'
import { MemoryJournal } from '../store/memory.ts'
import { openStore, type Store } from '../store/open.ts'
import type { ConnectionNews } from '../store/postgres/connection.ts'
import type { StoreOfRecord } from '../store/record.ts'
import type { Durability } from '../store/sqlite.ts'
import type { ClusterNews } from './index.ts'
import { nodeName } from './node-name.ts'

export interface Bookkeeping {
  readonly journal: Journal
  readonly credit: CreditBook
  readonly keys: KeyStore
  /** What is shown of generations, of this process and of all others. */
  readonly ledger: LedgerReader
  /** What a crash had left open: settled when the books were opened, but by a command beside the gateway only told. */
  readonly recovered: Reconciliation
  /** Processes that keep books with this one, itself among them, as last known. */
  processes(): number
  /** Commits what waits, hands it in where there is somebody to take it, and gives files and connections free. */
  close(): Promise<void>
}

/** One of several processes on one machine. */
export interface WorkerPlace {
  /** 1 to `count`; the process that started them is none. */
  readonly slot: number
  readonly count: number
  /** Highest sequence in the owner's store: a clock that went back repeats none. */
  readonly last?: number
  /** The store of record of the process that started this one; absent where workers reach one by themselves. */
  readonly record?: StoreOfRecord
  /** Counters and news by way of the same process; absent where workers reach them by themselves. */
  readonly shared?: Shared
}

/** What an operator should hear about. */
export type BooksNews = JournalNews | ClusterNews | ConnectionNews

export interface BookkeepingOptions {
  url: string
  durability: Durability
  /** Path of the journal where the store of record is elsewhere. */
  journal: string
  clock: Clock
  worker?: WorkerPlace
  /** True for a command beside the gateway: nothing is generated, and a journal of another process is left alone. */
  aside?: boolean
  report: (news: BooksNews) => void
}

export const isPostgres = (url: string): boolean => /^postgres(ql)?:/.test(url)

/**
 * Opens the books, and settles what a crash had left open.
 * @throws Fault `unavailable` naming the file, or where the store of record does not answer; `bad_request` for another URL.
 */
export async function openBookkeeping(options: BookkeepingOptions): Promise<Bookkeeping> {
  const { url, clock, worker, durability, report } = options
  if (!worker?.record && !isPostgres(url)) return keepAlone(openStore(url, { clock, durability, report }), clock, options.aside)
  const path = journalPath(options)
  const journal = path === undefined ? new MemoryJournal(report) : openJournal(path, { clock, durability, report })
  try {
    const recovered = journal.reconcile()
    const record = worker?.record ?? (await (await import('../store/postgres/record.ts')).openPostgres(url, { clock, report }))
    const { joinRecord } = await import('./index.ts')
    const node = nodeName(path)
    const joined = joinRecord({ record, journal, clock, node, label: `${hostname()} ${process.pid}`, report })
    await joined.ready
    return { ...joined, recovered, processes: () => joined.nodes(), close: () => joined.close().finally(() => journal.close()) }
  } catch (thrown) {
    journal.close()
    throw thrown
  }
}

/** The books of a process alone: its journal is the record. A command beside the gateway settles nothing. */
export function keepAlone(store: Store, clock: Clock, aside = false): Bookkeeping {
  const { journal, keys } = store
  const recovered = aside ? journal.unsettled() : journal.reconcile()
  const credit = new Credit(journal.spent(), clock, journal.spentByDay(oldestCounted(clock.now())))
  return { journal, credit, keys, ledger: journal, recovered, processes: () => 1, close: async () => store.close() }
}

/** File of a process's own journal; undefined where it is kept in memory. */
export function journalPath({
  url,
  journal,
  worker,
  aside,
}: Pick<BookkeepingOptions, 'url' | 'journal' | 'worker' | 'aside'>): string | undefined {
  if (aside) return undefined
  if (isPostgres(url)) return worker ? `${journal}-${worker.slot}` : journal
  if (url === 'memory:') return undefined
  return `${url.slice('sqlite:'.length)}-worker-${worker?.slot ?? 0}`
}
