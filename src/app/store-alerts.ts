/** What goes wrong with the ledger and with what processes share: reported in the log, and in readiness as long as it lasts. */
import type { BookkeepingNews } from '../cluster/bookkeeping.ts'
import type { SharedReport } from '../cluster/shared/index.ts'
import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import { counter, type Tallies } from '../core/metrics.ts'

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
  /** Called with the kind of each report. */
  onNews: ((kind: string) => void) | undefined

  constructor(clock: Clock, log: Log) {
    this.clock = clock
    this.log = log
  }

  /** Where generations are exported. */
  countIn(tallies: Tallies): void {
    this.tallies = tallies
  }

  /** While nothing can be written every request is refused. */
  readonly bookkeeping = (news: BookkeepingNews): void => {
    this.onNews?.(news.kind)
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

  /** What requests about the ledger bring to light. */
  readonly ofLedger = {
    differs: (): void => this.onNews?.('differs'),
    taken: (range: object): void => this.log.info(range, 'generations are read for an export on demand'),
  }

  readonly shared = (news: SharedReport): void => this.log.warn(news, 'what processes share')

  reasons(): string[] {
    return this.clock.monotonic() - this.refusedAt < REFUSAL_COUNTS ? ['the ledger cannot be written'] : []
  }
}
