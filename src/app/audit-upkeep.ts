/** Upkeep of the audit log of a store, by one process beside requests: old entries are removed, and entries are delivered to sinks. */
import type { Bookkeeping } from '../cluster/bookkeeping.ts'
import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { MetricRegistry } from '../machines/metrics/metrics.ts'
import { startAuditRetention } from './audit-retention.ts'

interface AuditUpkeepOptions {
  readonly store: Pick<Bookkeeping, 'auditLog' | 'auditReaders'>
  /** As they stand now. */
  readonly settings: () => Config['audit']
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricRegistry
}

/** Sinks are those of the start. */
export async function startAuditUpkeep({ store, settings, clock, log, metrics }: AuditUpkeepOptions): Promise<{ close(): Promise<void> }> {
  const { auditLog, auditReaders: readers } = store
  const { sinks } = settings()
  const retention = startAuditRetention({ store: auditLog, readers, settings, clock, log })
  const delivering =
    readers && sinks.length > 0
      ? (await import('../services/audit-sinks/start-sinks.ts')).startSinks(sinks, { readers, clock, log, metrics })
      : undefined
  return {
    close: async () => {
      await delivering?.close()
      await retention.close()
    },
  }
}
