/** Problems of the ledger and of the shared store: reported in the log, and in readiness as long as it lasts. */
import type { BookkeepingNews } from '../cluster/bookkeeping.ts'
import type { SharedReport } from '../cluster/shared/index.ts'
import type { Clock } from '../core/clock.ts'
import type { ProcessStatus } from '../core/live-figures.ts'
import type { Log } from '../core/log.ts'
import { counter, type Tallies } from '../machines/metrics/metrics.ts'
import type { UncheckedFile } from '../store/open.ts'
import { isDamage } from '../store/page-check.ts'
import { StoreCheck } from './store-check/store-check.ts'

const removedUnread = counter(
  'export_removed_rows_total',
  'Generations that retention has removed before an export had delivered them: `store.export_grace` was over.',
)

/** Milliseconds for which a refused write keeps readiness red: without requests nothing would show that it is over. */
const REFUSAL_COUNTS = 5_000

export class StoreAlerts {
  private refusedAt = Number.NEGATIVE_INFINITY
  private readonly clock: Clock
  private readonly log: Log
  private tallies: Tallies | undefined
  /** Of the file of the store; undefined as long as none is known. */
  damage: string | undefined
  private check: StoreCheck | undefined
  /** Called once, where the store is damaged: no new work may begin. */
  onDamage: ((problem: string) => void) | undefined
  /** Called with the kind of each report. */
  onNews: ((kind: string) => void) | undefined

  constructor(clock: Clock, log: Log) {
    this.clock = clock
    this.log = log
  }

  /** Exports of generations. */
  countIn(tallies: Tallies): void {
    this.tallies = tallies
  }

  /** Checks what a start has left unchecked. @returns what ends that. */
  checkFile(file: UncheckedFile | undefined): () => void {
    const { clock, log } = this
    if (file) this.check = new StoreCheck({ file, clock, log, damaged: (problem) => this.damaged(problem) })
    return () => this.check?.close()
  }

  /** Said once: what more of it is damaged changes nothing. */
  damaged(problem: string): void {
    if (this.damage !== undefined) return
    this.log.error({ problem }, 'the store is damaged: no new work is taken. Nothing is repaired; restore a backup')
    this.stopWork(problem)
    this.onNews?.('damaged')
  }

  /** As `damaged`, where another process has said it. */
  stopWork(problem: string): void {
    this.damage = problem
    this.onDamage?.(problem)
  }

  /** While nothing can be written every request is refused. */
  readonly bookkeeping = (news: BookkeepingNews): void => {
    this.onNews?.(news.kind)
    if ('cause' in news && isDamage(news.cause)) this.damaged(String(news.cause))
    if (news.kind === 'refused') this.refusedAt = this.clock.monotonic()
    if (news.kind === 'refused') this.log.error(news, 'the ledger cannot be written')
    else if (news.kind === 'unread-pruned') {
      this.tallies?.of(removedUnread).add(news.count)
      this.log.error(news, 'generations were removed that an export has not delivered')
    } else this.log.warn(news, 'the ledger')
  }

  readonly workerRecovered = (worker: number, report: object): void => {
    this.log.warn({ worker, ...report }, 'generations that the end of a worker had left open are settled')
    this.onNews?.('recovered')
  }

  /** Problems that requests about the ledger find. */
  readonly ofLedger = {
    differs: (): void => this.onNews?.('differs'),
    taken: (range: object): void => this.log.info(range, 'generations are read for an export on demand'),
  }

  readonly shared = (news: SharedReport): void => this.log.warn(news, 'what processes share')

  /** Why the gateway should get no traffic. */
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
