/** Problems of the ledger and of the shared store: reported in the log, and in readiness as long as they last. */
import type { BookkeepingReport } from '../cluster/bookkeeping.ts'
import type { SharedReport } from '../cluster/shared/index.ts'
import type { Clock } from '../core/clock.ts'
import type { ProcessStatus } from '../core/live-figures.ts'
import type { Log } from '../core/log.ts'
import { counter, type MetricRegistry } from '../machines/metrics/metrics.ts'
import type { UncheckedFile } from '../store/open.ts'
import { isDamage } from '../store/page-check.ts'
import { StoreCheck } from './store-check/store-check.ts'

const removedUnread = counter(
  'export_removed_rows_total',
  'Generations that retention has removed before an export had delivered them: `store.export_grace` was over.',
)

/** Milliseconds for which a refused write keeps readiness red: without requests nothing shows when writes succeed again. */
const REFUSAL_COUNTS = 5_000

export class StoreAlerts {
  private refusedAt = Number.NEGATIVE_INFINITY
  private readonly clock: Clock
  private readonly log: Log
  private metrics: MetricRegistry | undefined
  /** Damage of the file of the store; undefined as long as none is known. */
  damage: string | undefined
  private check: StoreCheck | undefined
  /** Called once, where the store is damaged: no new work may begin. */
  onDamage: ((problem: string) => void) | undefined
  /** Called with the kind of each report. */
  onReport: ((kind: string) => void) | undefined

  constructor(clock: Clock, log: Log) {
    this.clock = clock
    this.log = log
  }

  /** Counts in these metrics from now on. */
  countIn(metrics: MetricRegistry): void {
    this.metrics = metrics
  }

  /** Checks the part of a file that the start has not checked. @returns a function that ends the check. */
  checkFile(file: UncheckedFile | undefined): () => void {
    const { clock, log } = this
    if (file) this.check = new StoreCheck({ file, clock, log, damaged: (problem) => this.damaged(problem) })
    return () => this.check?.close()
  }

  /** Reported once: further damage changes nothing. */
  damaged(problem: string): void {
    if (this.damage !== undefined) return
    this.log.error({ problem }, 'the store is damaged: no new work is taken. Nothing is repaired; restore a backup')
    this.stopWork(problem)
    this.onReport?.('damaged')
  }

  /** As `damaged`, where another process has reported it. */
  stopWork(problem: string): void {
    this.damage = problem
    this.onDamage?.(problem)
  }

  /** Takes reports of the bookkeeping. A refused write makes the gateway unready: while nothing can be written, every request is refused. */
  readonly bookkeeping = (report: BookkeepingReport): void => {
    this.onReport?.(report.kind)
    if ('cause' in report && isDamage(report.cause)) this.damaged(String(report.cause))
    if (report.kind === 'refused') this.refusedAt = this.clock.monotonic()
    if (report.kind === 'refused') this.log.error(report, 'the ledger cannot be written')
    else if (report.kind === 'unread-pruned') {
      this.metrics?.of(removedUnread).add(report.count)
      this.log.error(report, 'generations were removed that an export has not delivered')
    } else this.log.warn(report, 'the ledger')
  }

  readonly workerRecovered = (worker: number, report: object): void => {
    this.log.warn({ worker, ...report }, 'generations that the end of a worker had left open are settled')
    this.onReport?.('recovered')
  }

  /** Problems that requests about the ledger find. */
  readonly ofLedger = {
    differs: (): void => this.onReport?.('differs'),
    taken: (range: object): void => this.log.info(range, 'generations are read for an export on demand'),
  }

  readonly shared = (report: SharedReport): void => this.log.warn(report, 'what processes share')

  /** Reasons why the gateway should get no traffic; empty while it is ready. */
  reasons(): string[] {
    return [
      ...(this.damage === undefined ? [] : [`the store is damaged: ${this.damage}`]),
      ...(this.clock.monotonic() - this.refusedAt < REFUSAL_COUNTS ? ['the ledger cannot be written'] : []),
    ]
  }

  /** Figures of the processes, with those that their owner alone knows. */
  shownIn<Shown extends Pick<ProcessStatus, 'reasons' | 'notes'>>(all: readonly (Shown | null)[]): (Shown | null)[] {
    const [own, notes] = [this.reasons(), this.notes()]
    return all.map((each) => each && { ...each, reasons: [...each.reasons, ...own], notes: [...each.notes, ...notes] })
  }

  /** Notes for the operator while it is ready. */
  notes(): string[] {
    return this.check?.notes ?? []
  }
}
