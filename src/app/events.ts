/** Composes events: what raises them, the log that stores them, and where this process is the one to do so, their delivery. */
import type { Bookkeeping } from '../cluster/bookkeeping.ts'
import type { Reload } from '../config/watch.ts'
import { accountIdentity } from '../core/account-kinds.ts'
import type { Clock } from '../core/clock.ts'
import { LEVEL_KINDS, type LevelTree, levelName } from '../core/levels.ts'
import { type Log, stackWithoutMessage } from '../core/log.ts'
import { WINDOWS } from '../core/windows.ts'
import { Credit } from '../ledger/credit.ts'
import type { MetricRegistry } from '../machines/metrics/metrics.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import {
  type BudgetKey,
  BudgetWatch,
  EventDelivery,
  EventLog,
  type EventSettings,
  EventSources,
  ExpiryWatch,
} from '../services/events/index.ts'
import { isDeliverable } from '../store/events.ts'
import { isKey } from '../store/keys.ts'
import { StoreTask } from '../store/store-task.ts'

export interface EventsOptions {
  readonly settings: EventSettings
  readonly store: Pick<Bookkeeping, 'events' | 'keys' | 'levels' | 'balances' | 'credit'>
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricRegistry
  /** False in a worker: its owner delivers, and looks at all keys. */
  readonly delivers: boolean
}

/** Milliseconds: retention of events. */
const FIRST_PRUNE = 60_000
const PRUNE_ROUND = 3_600_000

export class Events {
  readonly sources: EventSources
  readonly budgets: BudgetWatch
  private readonly options: EventsOptions
  private readonly log: EventLog
  private readonly delivery: EventDelivery | undefined
  private readonly pruning: StoreTask | undefined
  private ends: ExpiryWatch | undefined
  private settings: EventSettings

  constructor(options: EventsOptions) {
    const { settings, store, clock, metrics, log, delivers } = options
    this.options = options
    this.settings = settings
    const { events } = store
    if (delivers && isDeliverable(events)) {
      this.delivery = new EventDelivery(settings, { store: events, clock, log, metrics })
      this.pruning = new StoreTask({
        work: (most) => events.prune(clock.now() - this.settings.retention, most),
        first: FIRST_PRUNE,
        round: PRUNE_ROUND,
        clock,
        failed: (cause) => log.warn({ cause: stackWithoutMessage(cause) }, 'old events were not removed'),
      })
    }
    this.log = new EventLog({ store: events, clock, metrics, stored: () => this.delivery?.wake() })
    this.sources = new EventSources(this.log, clock)
    const own = store.credit instanceof Credit ? store.credit : undefined
    this.budgets = new BudgetWatch({
      shares: sorted(settings.budgetShares),
      clock,
      balances: (keys) => store.balances(keys),
      isShared: own === undefined,
      account: own && ((key) => own.account(key)),
      raise: (event) => this.log.raise(event),
      failed: (cause) => log.warn({ cause: stackWithoutMessage(cause) }, 'what keys have spent cannot be read for events'),
    })
  }

  /** Once, after the start. @param configured keys of the configuration, as it is whenever it is called. */
  lookAtKeys(configured: () => readonly ApiKey[]): void {
    const { store, clock, log, delivers } = this.options
    if (!delivers) return
    const after = async (hash: string, most: number) => store.keys.listAfter(hash, most)
    void this.budgets.lookAtAll(configured(), levelLimits(store.levels.tree), after)
    this.ends = new ExpiryWatch({
      clock,
      configured,
      after: async (hash, most) => (await after(hash, most)).map((key) => (isKey(key) ? key : { ...key, disabled: true })),
      raise: (event) => this.log.raise(event),
      failed: (cause) => log.warn({ cause: stackWithoutMessage(cause) }, 'keys cannot be read for events of their ends'),
    })
  }

  apply(settings: EventSettings): void {
    this.settings = settings
    this.budgets.apply(sorted(settings.budgetShares))
    this.delivery?.apply(settings)
  }

  async close(): Promise<void> {
    await this.budgets.flush().catch(() => {})
    this.budgets.close()
    this.ends?.close()
    await this.log.close()
    this.pruning?.close()
    await this.delivery?.close()
  }
}

/** Each limit of a level in one window. */
function levelLimits(tree: LevelTree): BudgetKey[] {
  return LEVEL_KINDS.flatMap((kind) => tree.list(kind)).flatMap((level) =>
    Object.entries(level.fields.limits).map(([window, { limit }]) => ({
      identity: accountIdentity(level.kind, level.id),
      name: levelName(level),
      label: '',
      limit,
      limitReset: WINDOWS.find((each) => each === window) ?? null,
    })),
  )
}

const sorted = (shares: readonly number[]): number[] => [...shares].sort((a, b) => a - b)

/** @param file of the configuration that is in force. */
export function raiseReload(sources: EventSources, reload: Reload, file: string): void {
  if (reload.kind === 'applied') sources.reloaded(reload.config.file)
  else sources.refused(file, reload.kind === 'refused' ? reload.reasons : undefined)
}
