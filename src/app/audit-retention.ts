/** Removes entries of the audit log that are older than the configuration wants them kept, unless they are held or a sink has not had them. */
import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import { type Log, stackWithoutMessage } from '../core/log.ts'
import type { AuditLogStore } from '../store/audit-log.ts'
import { type AuditReaders, sinkReader } from '../store/audit-readers.ts'
import { StoreTask } from '../store/store-task.ts'

/** Milliseconds from the start to the first look, and from one to the next. */
const FIRST_LOOK_MS = 60_000
const LOOK_MS = 3_600_000

interface AuditRetentionOptions {
  readonly store: Pick<AuditLogStore, 'prune' | 'page'>
  readonly readers: AuditReaders | undefined
  /** As they stand now: a hold is in force at the next batch. */
  readonly settings: () => Config['audit']
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
}

/** Begins to remove. Several processes may do so at one store. */
export function startAuditRetention({ store, readers, settings, clock, log }: AuditRetentionOptions): StoreTask {
  return new StoreTask({
    work: async (most) => {
      const { retention, hold, sinks } = settings()
      if (retention === undefined || hold) return 0
      const count = Math.min(most, await readCount(store, readers, sinks))
      return count <= 0 ? 0 : store.prune(clock.now() - retention, count, retention)
    },
    first: FIRST_LOOK_MS,
    round: LOOK_MS,
    clock,
    failed: (cause) => log.warn({ cause: stackWithoutMessage(cause) }, 'old entries of the audit log were not removed'),
  })
}

/** @returns how many entries from the old end on all sinks have had. */
async function readCount(
  store: Pick<AuditLogStore, 'page'>,
  readers: AuditReaders | undefined,
  sinks: Config['audit']['sinks'],
): Promise<number> {
  if (!readers || sinks.length === 0) return Number.POSITIVE_INFINITY
  const [oldest] = await store.page({ after: 0, limit: 1 })
  return oldest ? (await readers.unreadFrom(sinks.map(sinkReader))) - oldest.sequence : 0
}
