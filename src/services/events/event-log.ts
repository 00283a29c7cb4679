/**
 * Takes events from wherever they are raised and writes them to the store at once, together with what else came in the same
 * turn of the event loop. While the store does not answer they wait, up to a bound.
 */
import type { Clock, Timer } from '../../core/clock.ts'
import type { NewEvent } from '../../core/event-types.ts'
import { asFault } from '../../core/faults.ts'
import { counter, type MetricRegistry } from '../../machines/metrics/metrics.ts'
import type { EventStore } from '../../store/events.ts'

const dropped = counter('events_dropped_total', 'Events that found no room while the store did not answer, or that came too often.')

/** Events that wait at most, and those of one write. */
const MAX_WAITING = 1_000
const BATCH = 100
/** Milliseconds until a refused write is tried again, and for the last try at the end. */
const RETRY = 1_000
const MAX_CLOSE_MS = 2_000

export interface EventLogOptions {
  readonly store: Pick<EventStore, 'add'>
  readonly clock: Pick<Clock, 'after'>
  readonly metrics: MetricRegistry
  /** Called when events have been stored. */
  readonly stored?: () => void
}

export class EventLog {
  private readonly options: EventLogOptions
  private waiting: NewEvent[] = []
  private writing: Promise<void> | undefined
  private timer: Timer | undefined
  private scheduled = false

  constructor(options: EventLogOptions) {
    this.options = options
  }

  raise(event: NewEvent): void {
    if (this.waiting.length >= MAX_WAITING) {
      this.drop()
      return
    }
    this.waiting.push(event)
    if (this.scheduled || this.writing || this.timer) return
    this.scheduled = true
    setImmediate(() => {
      this.scheduled = false
      this.write()
    })
  }

  /** Counts an event that is not raised. */
  drop(): void {
    this.options.metrics.of(dropped).add()
  }

  /** Writes what waits, if the store takes it soon. */
  async close(): Promise<void> {
    this.rest()
    const { promise, resolve } = Promise.withResolvers<void>()
    const limit = this.options.clock.after(MAX_CLOSE_MS, resolve)
    const rest = async (): Promise<void> => {
      await this.writing
      this.rest()
      if (this.waiting.length > 0) await this.writeOnce()
    }
    await Promise.race([rest(), promise])
    limit.cancel()
    this.rest()
  }

  private rest(): void {
    this.timer?.cancel()
    this.timer = undefined
  }

  private write(): void {
    if (this.writing || this.waiting.length === 0) return
    this.writing = this.writeOnce().then((isWritten) => {
      this.writing = undefined
      if (!isWritten) this.timer = this.options.clock.after(RETRY, () => this.retry())
      else this.write()
    })
  }

  private retry(): void {
    this.timer = undefined
    this.write()
  }

  /** @returns false where the store refused it. */
  private async writeOnce(): Promise<boolean> {
    const batch = this.waiting.slice(0, BATCH)
    try {
      await this.options.store.add(batch)
    } catch (thrown) {
      if (asFault(thrown).code === 'unavailable') return false
      // No store takes it, so that it would keep all others waiting.
      for (const _ of batch) this.drop()
    }
    this.waiting = this.waiting.slice(batch.length)
    this.options.stored?.()
    return true
  }
}
