/** The operations between the owner and its workers, by name. Arguments and results are plain data. */

import type { Origin } from '../core/audit-entries.ts'
import type { DrawnNumbers } from '../core/ids.ts'
import type { Json } from '../core/json.ts'
import type { ProcessStatus } from '../core/live-figures.ts'
import type { GenerationRecord } from '../ledger/types.ts'
import type { KeyRecord, StoredKey } from '../store/keys.ts'
import type { StoreName } from './record-methods.ts'
import type { CounterAnswer, CounterAsk, Topic } from './shared/types.ts'

/** The environment's variable that makes a process a worker; its value is the worker's number. */
export const WORKER_VARIABLE = 'HEADGATE_WORKER'

/** Data that a worker needs before it can start. */
export interface Welcome {
  /** 1 to `count`. */
  slot: number
  count: number
  /** The configuration, by `pack`. */
  config: string
  /** Sequences of generations that the record knew then. */
  drawn: DrawnNumbers
  /** Random text that all workers know and no other program. */
  secret: string
  /** Damage that the owner has found in its store: no new work may begin. */
  stopped?: string | undefined
}

/** Outcome of a compare-and-set on a key: `current` is the stored key where it differs from the one that the worker had seen. */
export type Replaced = { done: StoredKey } | { current: StoredKey } | { missing: true }

/** Operations that workers call and the owner answers: the store of record, and what processes share. */
export interface OwnerOffer {
  welcome(): Welcome
  /** The worker listens there. */
  serving(url: string): null
  /** It cannot start, for this reason, and ends. */
  failed(why: string): null

  /** A method of the record by the list of `record-methods.ts`. */
  call(store: StoreName, method: string, args: readonly unknown[]): unknown
  /** Puts `key` in the place of the one that was `seen`, if that still stands there. */
  keyReplace(seen: StoredKey, key: KeyRecord, by: Origin): Replaced
  /** Begins to read the ledger; the number is for `ledgerNext`. */
  ledgerOpen(since: number): number
  /** Some more; none at the end. */
  ledgerNext(reading: number): GenerationRecord[]
  ledgerEnd(reading: number): null

  counter(ask: CounterAsk): CounterAnswer
  publish(topic: Topic, message: Json): null
  /** Figures of each worker; null for one that does not answer. */
  status(): (ProcessStatus | null)[]
}

/** Operations that the owner calls and workers answer. */
export interface WorkerOffer {
  /** A pulse would bring a change: a changed key, or a lease that is called back. */
  wake(): null
  publish(topic: Topic, message: Json): null
  /** Metrics of the process, as `MetricRegistry.snapshot()` returns them. */
  metrics(): Json[]
  notReady(): readonly string[]
  /** No new work begins any more: what is damaged in the owner's store. */
  stopWork(problem: string): null
  status(): ProcessStatus | null
  /** Takes the configuration over, by `pack`. */
  reload(config: string): null
  drain(): null
  /** Cuts what the drain still waits for. */
  hurry(): null
}
