/** A latency histogram whose observations cost a few nanoseconds: counted here, shown through prom-client. */
import type { MetricObjectWithValues, MetricValueWithName, Registry } from 'prom-client'
import { Histogram } from 'prom-client'

const BOUNDS_MS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000]

/** Counts of one label value, not cumulative. */
export class LatencyTally {
  readonly counts = new Float64Array(BOUNDS_MS.length + 1)
  sumMs = 0
  observed = 0

  observe(ms: number): void {
    let bucket = 0
    while (bucket < BOUNDS_MS.length && ms > BOUNDS_MS[bucket]) bucket++
    this.counts[bucket]++
    this.sumMs += ms
    this.observed++
  }
}

export interface LatencyHistogramOptions {
  name: string
  help: string
  label: string
  /** Label value and tally, read at each scrape. */
  tallies: () => Iterable<[string, LatencyTally]>
}

export class LatencyHistogram extends Histogram {
  private readonly shown: LatencyHistogramOptions
  /** An empty one, asked for what the library says of every histogram. */
  private readonly plain: Histogram

  constructor(registry: Registry, options: LatencyHistogramOptions) {
    super({ name: options.name, help: options.help, labelNames: [options.label], registers: [registry] })
    this.shown = options
    this.plain = new Histogram({ name: options.name, help: options.help, registers: [] })
  }

  override get(): Promise<MetricObjectWithValues<MetricValueWithName<string>>> {
    return this.getForPromString()
  }

  /** What the registry asks for when it writes text. */
  async getForPromString(): Promise<MetricObjectWithValues<MetricValueWithName<string>>> {
    const shape = await this.plain.get()
    return { ...shape, values: [...this.values()] }
  }

  private *values(): Generator<MetricValueWithName<string>> {
    const { name, label, tallies } = this.shown
    for (const [word, tally] of tallies()) {
      if (tally.observed === 0) continue
      let below = 0
      for (const [bucket, count] of tally.counts.entries()) {
        below += count
        const le = bucket < BOUNDS_MS.length ? BOUNDS_MS[bucket] / 1000 : '+Inf'
        yield { metricName: `${name}_bucket`, labels: { le, [label]: word }, value: below }
      }
      yield { metricName: `${name}_sum`, labels: { [label]: word }, value: tally.sumMs / 1000 }
      yield { metricName: `${name}_count`, labels: { [label]: word }, value: tally.observed }
    }
  }
}
