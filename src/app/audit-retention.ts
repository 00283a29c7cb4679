/** Removes entries of the audit log that are older than the configuration wants them kept, unless they are held. */
import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import { type Log, stackWithoutMessage } from '../core/log.ts'
import type { AuditLogStore } from '../store/audit-log.ts'
import { StoreTask } from '../store/store-task.ts'

/** Milliseconds from the start to the first look, and from one to the next. */
const FIRST_LOOK_MS = 60_000
const LOOK_MS = 3_600_000

interface AuditRetentionOptions {
  readonly store: Pick<AuditLogStore, 'prune'>
  /** As they stand now: a hold is in force at the next batch. */
  readonly settings: () => Config['audit']
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
}

/** Begins to remove. Several processes may do so at one store. */
export function startAuditRetention({ store, settings, clock, log }: AuditRetentionOptions): StoreTask {
  return new StoreTask({
    work: (most) => {
      const { retention, hold } = settings()
      return retention === undefined || hold ? 0 : store.prune(clock.now() - retention, most, retention)
    },
    first: FIRST_LOOK_MS,
    round: LOOK_MS,
    clock,
    failed: (cause) => log.warn({ cause: stackWithoutMessage(cause) }, 'old entries of the audit log were not removed'),
  })
}
