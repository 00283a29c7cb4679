/** Sends all metrics of a gateway at an interval. */
import type { Clock, Timer } from '../../core/clock.ts'
import type { MetricRegistry } from '../../machines/metrics/metrics.ts'
import { ProtoWriter } from '../../machines/otlp/proto-writer.ts'
import type { Exporter } from './exporter.ts'
import { type Span, writeMetrics } from './metrics.ts'

/** Metrics that are kept elsewhere. @returns how many have been written. */
export type MetricSource = (writer: ProtoWriter, time: Span) => number

export interface MeterSource {
  readonly interval: number
  readonly clock: Clock
  readonly metrics: MetricRegistry
  readonly others: MetricSource
  readonly exporter: Exporter
  /** Milliseconds since the epoch since when the numbers are counted. */
  readonly since: number
}

const nothing = (): void => {}

export class Meter {
  private readonly source: MeterSource
  private timer: Timer | undefined

  constructor(source: MeterSource) {
    this.source = source
    this.wait()
  }

  /** Sends the last numbers. */
  async close(): Promise<void> {
    this.timer?.cancel()
    await this.send().catch(nothing)
    await this.source.exporter.close()
  }

  private wait(): void {
    this.timer = this.source.clock.after(this.source.interval, () => {
      this.wait()
      // A number that cannot be read now can be at the next time.
      void this.send().catch(nothing)
    })
  }

  private async send(): Promise<void> {
    const { metrics, others, exporter, clock, since } = this.source
    const snapshot = await metrics.snapshot()
    const time = { since, now: clock.now() }
    const writer = new ProtoWriter()
    const count = writeMetrics(writer, snapshot, time) + others(writer, time)
    exporter.add({ bytes: writer.written, count })
  }
}
