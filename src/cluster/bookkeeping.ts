/** Place of a process's ledger: in a file of its own, or in a journal whose rows it forwards to a store of record. */

import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import type { AuditKeys } from '../core/audit-keys.ts'
import type { Clock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import { forwarded } from '../core/forwarded.ts'
import { type DrawnNumbers, TICKS } from '../core/ids.ts'
import type { ProcessStatus } from '../core/live-figures.ts'
import { oldestCounted } from '../core/windows.ts'
import type { CreditBook } from '../ledger/allowance.ts'
import { Credit } from '../ledger/credit.ts'
import { LEDGER_READS, type LedgerReader, type LedgerReads } from '../ledger/reader.ts'
import type { Journal, Reconciliation } from '../ledger/types.ts'
import { withoutMoves } from '../ledger/window-moves.ts'
import type { AuditLogStore } from '../store/audit-log.ts'
import type { AuditReaders } from '../store/audit-readers.ts'
import type { CompactionKeyStore } from '../store/compaction-keys.ts'
import type { EventStore } from '../store/events.ts'
import type { GivenIdStore } from '../store/given-ids.ts'
import { type JournalReport, openJournal, openMemoryJournal } from '../store/journal.ts'
import type { KeyStore } from '../store/keys.ts'
import { LocalRecord } from '../store/local-record.ts'
import { openStore, type Store, type UncheckedFile } from '../store/open.ts'
import type { PostgresRecord, PostgresReport } from '../store/postgres/record.ts'
import type { Balance, StoreOfRecord } from '../store/record.ts'
import { joinRecoveries } from '../store/recovery.ts'
import type { Durability } from '../store/sqlite.ts'
import { AuditTrail } from './audit-trail.ts'
import { HeldByokKeys } from './held-byok-keys.ts'
import { HeldGuardrails } from './held-guardrails.ts'
import { HeldLevels } from './held-levels.ts'
import type { ClusterReport } from './index.ts'
import { type Leftover, takeIn, takeInAll } from './leftovers.ts'
import type { OwnerRecord } from './owner-record.ts'
import { RefusalLog } from './refusal-log.ts'
import type { Shared } from './shared/index.ts'
import { type ExportedFrom, keepUp, type UpkeepReport } from './upkeep.ts'

export interface Bookkeeping {
  readonly journal: Journal
  readonly credit: CreditBook
  readonly keys: KeyStore
  /** Those of the store, as they hold in this process. */
  readonly guardrails: HeldGuardrails
  readonly compactionKeys: CompactionKeyStore
  /** Keys of providers that teams have brought, as this process holds them. */
  readonly byokKeys: HeldByokKeys
  /** Organisations, workspaces and members, as this process holds them. */
  readonly levels: HeldLevels
  /** Owners of ids that providers gave in the pass-through. */
  readonly givenIds: GivenIdStore
  readonly events: EventStore
  /** Spending of keys, of all processes and of now. */
  balances(keys: readonly string[]): Spending[] | Promise<Spending[]>
  /** Takes what guardrails of store and file find. */
  readonly audit: AuditTrail
  /** Changes of keys, guardrails and configuration, with who made them. */
  readonly auditLog: AuditLogStore
  /** Readers of the audit log; absent in a worker. */
  readonly auditReaders?: AuditReaders | undefined
  /** Takes the requests that the gateway itself refuses. */
  readonly refusals: RefusalLog
  /** Reader of generations, of this process and of all others. */
  readonly ledger: LedgerReader
  /** Part of the file of an embedded store that the start has not checked. */
  readonly unchecked?: UncheckedFile | undefined
  /** Generations that a crash had left open: settled when the ledger was opened; a command beside the gateway only reports it. */
  readonly recovered: Reconciliation
  /** Processes that share the ledger with this one, itself among them, as last known. A gateway with workers is one for others. */
  processes(): number
  /** The store of record as the workers of this process have it; absent where the ledger is its own file, and where it owns none. */
  readonly workersRecord?: OwnerRecord | undefined
  /** Commits what waits, forwards it where there is another store of record, and closes files and connections. */
  close(): Promise<void>
}

/** Nano-dollars. */
export type Spending = Pick<Balance, 'key' | 'spent' | 'daily' | 'weekly' | 'monthly'>

/** One of several processes on one machine. */
export interface WorkerPlace {
  /** 1 to `count`; the process that started them is none. */
  readonly slot: number
  readonly count: number
  /** Sequences in the owner's store: a clock that went back repeats none. */
  readonly drawn?: DrawnNumbers
  /** The store of record, by way of the process that started this one. */
  readonly record: StoreOfRecord
  /** Counters and messages by way of the same process; absent where workers reach them by themselves. */
  readonly shared?: Shared | undefined
  /** Figures of each process of this machine; null for one that does not answer. */
  readonly status?: (() => Promise<readonly (ProcessStatus | null)[]>) | undefined
}

/** Problems for the operator. */
export type BookkeepingReport = JournalReport | ClusterReport | PostgresReport | UpkeepReport

export interface BookkeepingOptions {
  url: string
  durability: Durability
  /** Path of the journal where the store of record is elsewhere. */
  journal: string
  /** Milliseconds for which generations are kept; absent: for ever. */
  retention?: number | undefined
  /** Undelivered exports, for which generations are kept beyond `retention`, at most `exportGrace` milliseconds. */
  exports?: readonly ExportedFrom[] | undefined
  exportGrace?: number
  /** Milliseconds for which the lease of a lost process counts as spent. */
  lostGrace: number
  clock: Clock
  /** Sign the audit log. */
  auditKeys: AuditKeys
  worker?: WorkerPlace | undefined
  /** True for the process that starts workers. */
  isOwner?: boolean
  /** True for a command beside the gateway: nothing is generated, and a journal of another process is left alone. */
  aside?: boolean
  report: (report: BookkeepingReport) => void
}

/** Numbers that earlier lives have drawn, in the journal and in the store of the owner. @param now milliseconds since the epoch. */
export function drawnBefore(
  journal: Pick<Journal, 'lastSeq' | 'drawnNumbers'>,
  owners: DrawnNumbers | undefined,
  now: number,
): DrawnNumbers {
  const own = journal.drawnNumbers?.(now) ?? { last: journal.lastSeq() }
  return { last: Math.max(own.last, owners?.last ?? 0), ahead: owners?.ahead ?? own.ahead }
}

export const isPostgres = (url: string): boolean => /^postgres(ql)?:/.test(url)

/**
 * Opens the ledger, and settles what a crash had left open, also in the journals of workers that are no more.
 * @throws Fault `unavailable` naming the file, or where the store of record does not answer; `bad_request` for another URL.
 */
export function openBookkeeping(options: BookkeepingOptions): Promise<Bookkeeping> {
  return options.worker || isPostgres(options.url) ? joined(options) : alone(options)
}

/** The file is this process's own. */
async function alone(options: BookkeepingOptions): Promise<Bookkeeping> {
  const { url, clock, durability, auditKeys, report, aside } = options
  const store = openStore(url, { clock, durability, auditKeys, report })
  try {
    const bookkeeping = keepLocally(store, clock, { aside, report })
    await bookkeeping.guardrails.load()
    await bookkeeping.byokKeys.load()
    await bookkeeping.levels.load()
    if (aside) return bookkeeping
    await bookkeeping.audit.load()
    const ahead = store.journal.drawnNumbers?.(clock.now()).ahead
    if (ahead) report({ kind: 'rows-ahead', until: new Date(Math.floor(ahead.to / TICKS)).toISOString() })
    const { journal, ledger, keys, guardrails, compactionKeys, byokKeys, levels, givenIds, events, credit } = bookkeeping
    const { refusals, auditLog } = store
    const stores = { keys, guardrails, compactionKeys, byokKeys, levels, events, auditLog, refusals, givenIds }
    const record = new LocalRecord({ journal, ledger, ...stores, credit, clock })
    const into = { record, durability, clock, report }
    const reports = await inherited(options, async ({ path }) => (await takeIn(path, path, into)).recovered)
    const whole = reports.length === 0 ? bookkeeping : { ...bookkeeping, recovered: joinRecoveries([bookkeeping.recovered, ...reports]) }
    return ended(whole, keepUp({ ...options, store: store.journal, guardrails, refusals, givenIds, readers: store.journal.readers }))
  } catch (thrown) {
    const refusal = store.refusal?.(thrown) ?? thrown
    store.close()
    throw refusal
  }
}

/** The journal is this process's own, the record is elsewhere. */
async function joined(options: BookkeepingOptions): Promise<Bookkeeping> {
  const { url, clock, worker, durability, auditKeys, isOwner, report, aside } = options
  const path = journalPath(options)
  const journal = path === undefined ? openMemoryJournal({ clock, report }) : openJournal(path, { clock, durability, report })
  let own: PostgresRecord | undefined
  try {
    const recovered = [journal.reconcile()]
    const node = nodeName(path)
    if (!worker) own = await (await import('../store/postgres/record.ts')).openPostgres(url, { clock, auditKeys, report })
    if (own && !aside) recovered.push(...(await inherited(options, handedIn(own, node, options))))
    const record = worker?.record ?? own
    if (!record) throw new TypeError('no store of record')
    const { joinRecord } = await import('./index.ts')
    const label = `${hostname()} ${process.pid}`
    const lostGrace = isPostgres(url) ? options.lostGrace : undefined
    const member = joinRecord({ record, journal, clock, node, label, lostGrace, isOwner, report })
    await member.ready
    await member.guardrails.load()
    await member.byokKeys.load()
    await member.levels.load()
    if (!aside) await member.audit.load()
    const bookkeeping: Bookkeeping = {
      ...member,
      auditReaders: own?.auditReaders,
      recovered: joinRecoveries(recovered),
      processes: () => member.nodes(),
      close: () => member.close().finally(() => journal.close()),
    }
    return own && !aside
      ? ended(
          bookkeeping,
          keepUp({
            ...options,
            store: own,
            guardrails: own.guardrails,
            refusals: own.refusals,
            givenIds: own.givenIds,
            record: own,
            readers: own.readers,
          }),
        )
      : bookkeeping
  } catch (thrown) {
    journal.close()
    await own?.close()
    throw thrown
  }
}

/** Milliseconds until a call of the record that failed at the start is made again. */
const START_RETRY = 1_000

/**
 * Takes in the journal of a worker of an earlier run, under the name of its owner, which had leased for it: before that lease ends. Workers of
 * earlier versions had leased by themselves, under a name beside their journals.
 */
function handedIn(record: StoreOfRecord, node: string, options: BookkeepingOptions) {
  const { clock } = options
  const retryUnavailable = async (call: () => Promise<void>): Promise<void> => {
    for (;;) {
      try {
        return await call()
      } catch (thrown) {
        if (!(thrown instanceof Fault) || thrown.code !== 'unavailable') throw thrown
        await new Promise<void>((resolve) => clock.after(START_RETRY, resolve))
      }
    }
  }
  const take: StoreOfRecord['take'] = (name, rows) => retryUnavailable(() => record.take(name, rows))
  return async ({ path }: Leftover): Promise<Reconciliation> => {
    const { recovered } = await takeIn(path, node, { ...options, record: { take } })
    await retryUnavailable(() => record.endLeases(nodeName(path)))
    return recovered
  }
}

/** Takes in what workers of an earlier run have left. */
function inherited(options: BookkeepingOptions, take: (leftover: Leftover) => Promise<Reconciliation>): Promise<Reconciliation[]> {
  const prefix = workerPrefix(options)
  return prefix === undefined ? Promise.resolve([]) : takeInAll(prefix, options, take)
}

/** Bookkeeping whose end ends something else before. */
function ended(bookkeeping: Bookkeeping, end: () => void): Bookkeeping {
  return {
    ...bookkeeping,
    close: () => {
      end()
      return bookkeeping.close()
    },
  }
}

/** The ledger of a process alone: its journal is the record. A command beside the gateway settles nothing. */
export function keepLocally(
  store: Store,
  clock: Clock,
  { aside = false, report = () => {} }: { aside?: boolean | undefined; report?: (report: BookkeepingReport) => void } = {},
): Bookkeeping & { credit: Credit } {
  const { journal, keys, compactionKeys, givenIds, events, auditLog } = store
  const recovered = aside ? journal.unsettled() : journal.reconcile()
  const credit = new Credit(clock, journal)
  const { entries } = journal
  credit.follow(entries)
  const guardrails = new HeldGuardrails({ store: store.guardrails, clock, report })
  const byokKeys = new HeldByokKeys({ store: store.byokKeys, clock, report })
  const levels = new HeldLevels({ store: store.levels, clock, report })
  const audit = new AuditTrail({ store: store.guardrails, clock, report })
  const refusals = new RefusalLog({ store: store.refusals, clock, report })
  const close = async (): Promise<void> => {
    guardrails.close()
    byokKeys.close()
    levels.close()
    await audit.close()
    await refusals.close()
    store.close()
  }
  const ledger: LedgerReader = {
    ...forwarded<LedgerReads>(journal.ledger, LEDGER_READS),
    windows: async () => withoutMoves(await credit.windows(), entries.moves(oldestCounted(clock.now()), Number.MAX_SAFE_INTEGER)),
    export: (since) => journal.export(since),
    entries,
    readers: journal.readers,
    lists: undefined,
  }
  // Without an entry for a key that has none: a look at a million keys made a million.
  const balances = (of: readonly string[]): Spending[] =>
    of.flatMap((key) => {
      if (!credit.has(key)) return []
      const account = credit.account(key)
      return { key, spent: account.settled, ...account.usage() }
    })
  return {
    journal,
    keys,
    guardrails,
    compactionKeys,
    byokKeys,
    levels,
    givenIds,
    events,
    balances,
    audit,
    auditLog,
    auditReaders: store.auditReaders,
    refusals,
    credit,
    ledger,
    unchecked: store.unchecked,
    recovered,
    processes: () => 1,
    close,
  }
}

/** File of a process's own journal; undefined where it is kept in memory. */
export function journalPath({
  url,
  journal,
  worker,
  aside,
}: Pick<BookkeepingOptions, 'url' | 'journal' | 'aside'> & { worker?: Pick<WorkerPlace, 'slot'> | undefined }): string | undefined {
  if (aside) return undefined
  if (isPostgres(url)) return worker ? `${journal}-${worker.slot}` : journal
  if (url === 'memory:') return undefined
  return `${url.slice('sqlite:'.length)}-worker-${worker?.slot ?? 0}`
}

/** Path of the journals of workers, without the number; undefined where they are kept in memory. */
export function workerPrefix(options: Pick<BookkeepingOptions, 'url' | 'journal'>): string | undefined {
  const { url, journal } = options
  return journalPath({ url, journal, worker: { slot: 0 } })?.slice(0, -1)
}

/**
 * The name under which a process leases credit: kept beside its journal, so that after a crash it finds its own lease again.
 * @param journal path of the journal; undefined where it is kept in memory: then every start is a new process.
 */
function nodeName(journal: string | undefined): string {
  const made = randomUUID()
  if (journal === undefined) return made
  const file = `${journal}.node`
  mkdirSync(dirname(file), { recursive: true })
  try {
    writeFileSync(file, `${made}\n`, { flag: 'wx', mode: 0o600 })
    return made
  } catch (thrown) {
    const found = (thrown as NodeJS.ErrnoException).code === 'EEXIST' ? readFileSync(file, 'utf8').trim() : ''
    // A file that was cut short by a crash holds no name.
    if (/^[0-9a-f-]{36}$/.test(found)) return found
    writeFileSync(file, `${made}\n`, { mode: 0o600 })
    return made
  }
}
