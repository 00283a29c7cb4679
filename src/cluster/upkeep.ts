/** Periodic work on a store that processes keep up: sums of use, retention, lost processes, and what a wrong clock has left. */
import type { Clock, Timer } from '../core/clock.ts'
import type { ClockStep } from '../core/ids.ts'
import type { LedgerReaders, Unread } from '../ledger/types.ts'
import type { GivenIdStore } from '../store/given-ids.ts'
import type { GuardrailStore } from '../store/guardrails.ts'
import type { StoreOfRecord } from '../store/record.ts'
import type { RefusalStore } from '../store/refusals.ts'
import { MIN_RETENTION_MS, type Prunable, type RetentionReport, startRetention, type UnreadGenerations } from '../store/retention.ts'
import { type Rollable, type RollupReport, startRollup } from '../store/rollup.ts'

/** An export, and the moment from which on it takes generations: milliseconds since the epoch. */
export interface ExportedFrom {
  readonly name: string
  readonly since?: number | undefined
}

export type UpkeepReport =
  | RetentionReport
  | RollupReport
  /** A process is lost for good: what it had leased, in nano-dollars, may be spent by others. */
  | { kind: 'lease-freed'; node: string; nano: number }
  /** Generations are dated ahead of now, up to that time: a clock was ahead. */
  | { kind: 'rows-ahead'; until: string }
  /** The clock of this process has stepped back by so many milliseconds. */
  | ({ kind: 'clock-stepped' } & ClockStep)
  /** The clock of the store of record was ahead: the windows of so many keys have been computed anew. */
  | { kind: 'windows-rebuilt'; keys: number }

interface UpkeepOptions {
  /** Store of generations. */
  store: Prunable & Partial<Rollable>
  /** Findings of guardrails are kept as long as generations. */
  guardrails: Pick<GuardrailStore, 'prune'>
  refusals: Pick<RefusalStore, 'prune'>
  givenIds: Pick<GivenIdStore, 'prune'>
  /** Absent where no process leases. */
  record?: Pick<StoreOfRecord, 'forgetLost'> & { rebuildWindows(): Promise<number>; latestAhead(): Promise<number | undefined> }
  /** Milliseconds; absent: generations are kept. */
  retention?: number | undefined
  readers?: LedgerReaders | undefined
  exports?: readonly ExportedFrom[] | undefined
  exportGrace?: number
  /** Milliseconds for which the lease of a lost process counts as spent. */
  lostGrace: number
  clock: Clock
  report: (report: UpkeepReport) => void
}

/** Milliseconds from the start to the first look for windows that are ahead of now and for processes that are lost, and to the next ones. */
const FIRST_LOOK = 100
const LOOK = 60_000

/** Rows that no export has delivered yet. */
function unreadGenerations({ readers, exports = [], exportGrace = 0 }: UpkeepOptions): UnreadGenerations | undefined {
  if (!readers || exports.length === 0) return undefined
  const oldest = (): number | undefined | Promise<number | undefined> => {
    const found = exports.map(({ name, since = 0 }) => readers.unread(name, since, 1))
    const least = (all: readonly Unread[]): number | undefined => {
      const moments = all.flatMap((each) => each.oldest ?? [])
      return moments.length === 0 ? undefined : Math.min(...moments)
    }
    // A store in this process answers at once: removing is then paced as work that stands in the way of requests.
    return found.some((each) => each instanceof Promise) ? Promise.all(found).then(least) : least(found as Unread[])
  }
  return { oldest, grace: exportGrace }
}

/** A database in memory sums its rows when it is read. */
const isRollable = (store: Partial<Rollable>): store is Rollable => store.roll !== undefined && store.isInMemory !== true

/**
 * Periodic work on the store: adds up use, removes old generations, and frees leases of processes that never came back.
 * Begins the upkeep. @returns a function that ends it. Several processes may keep up one store.
 */
export function keepUp(options: UpkeepOptions): () => void {
  const { store, guardrails, refusals, givenIds, record, retention, lostGrace, clock, report } = options
  const tasks = isRollable(store) ? [startRollup(store, clock, report)] : []
  /** Rows that were removed as they should be are not reported. */
  const reportProblem = (item: RetentionReport): void => void (item.kind !== 'pruned' && report(item))
  if (retention !== undefined) {
    tasks.push(startRetention({ store, unread: unreadGenerations(options), keep: retention, clock, report }))
    tasks.push(startRetention({ store: guardrails, keep: retention, clock, report: reportProblem }))
  }
  tasks.push(startRetention({ store: refusals, keep: MIN_RETENTION_MS, clock, report: reportProblem }))
  tasks.push(startRetention({ store: givenIds, keep: MIN_RETENTION_MS, clock, report: reportProblem }))
  let timer: Timer | undefined
  let [ended, isFirst] = [false, true]
  let reported: number | undefined
  const look = async (): Promise<void> => {
    try {
      if (!isFirst)
        for (const [node, nano] of (await record?.forgetLost(lostGrace)) ?? []) if (nano > 0) report({ kind: 'lease-freed', node, nano })
      isFirst = false
      const keys = (await record?.rebuildWindows()) ?? 0
      if (keys > 0) report({ kind: 'windows-rebuilt', keys })
      const ahead = await record?.latestAhead()
      if (ahead !== undefined && ahead !== reported) report({ kind: 'rows-ahead', until: new Date(ahead).toISOString() })
      reported = ahead
    } catch {
      // A store that does not answer is reported elsewhere; the next look comes.
    }
    if (!ended) timer = clock.after(LOOK, () => void look())
  }
  if (record) timer = clock.after(FIRST_LOOK, () => void look())
  return () => {
    ended = true
    timer?.cancel()
    for (const task of tasks) task.close()
  }
}
