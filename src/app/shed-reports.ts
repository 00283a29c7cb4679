/** Counts and logs the requests that are refused under overload. */
import type { Clock } from '../core/clock.ts'
import type { LiveFigures } from '../core/live-figures.ts'
import type { Log } from '../core/log.ts'
import { counter, type MetricRegistry } from '../machines/metrics/metrics.ts'

const shed = counter('shed_total', 'Requests refused with 503 for lack of time or of memory for their bodies.')

/** Milliseconds without a refusal after which the next one is logged. */
const PAUSE_MS = 10_000

interface ShedParts {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly metrics: MetricRegistry
  readonly log: Pick<Log, 'warn'>
  readonly live: () => Pick<LiveFigures, 'shed'>
}

export class ShedReports {
  private readonly parts: ShedParts
  /** When the last request was refused. Monotonic milliseconds. */
  private lastAt = Number.NEGATIVE_INFINITY

  constructor(parts: ShedParts) {
    this.parts = parts
  }

  /** Refused requests have no log lines of their own: under overload these would cost as much as the refusals. */
  readonly refused = (): void => {
    const { clock, metrics, log, live } = this.parts
    metrics.of(shed).add()
    live().shed()
    const now = clock.monotonic()
    if (now - this.lastAt >= PAUSE_MS) log.warn('requests are refused under overload; headgate_shed_total counts them')
    this.lastAt = now
  }
}
