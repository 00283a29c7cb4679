/**
 * Metrics as text. Those of several processes become one text: counts are added up, what each process has of its own gets the process's
 * name as a label.
 */
import type { MetricSnapshot, Sample } from '../core/metrics.ts'

/** Prometheus text exposition, format 0.0.4. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** @param parts snapshots of one process or of several. */
export async function metricsText(...parts: readonly (readonly MetricSnapshot[])[]): Promise<string> {
  // A start does without the library: it is loaded by the first scrape.
  const { AggregatorRegistry } = await import('prom-client')
  return AggregatorRegistry.aggregate([...parts]).metrics()
}

/** A counter must not fall because a process has ended: what it had shown last is kept. */
const GOES_ON = new Set(['counter', 'histogram'])

export class MergedMetrics {
  private readonly latest = new Map<string, MetricSnapshot[]>()
  /** Sums of processes that have ended. */
  private ended: MetricSnapshot[] = []

  /** Takes what a process shows now in the place of what it showed before. */
  show(name: string, snapshot: readonly MetricSnapshot[]): void {
    this.latest.set(name, withLabel(name, snapshot))
  }

  /** The process is gone; another one may come under its name. */
  end(name: string): void {
    const last = (this.latest.get(name) ?? []).filter((metric) => GOES_ON.has(metric.type) && !metric.isPerProcess)
    this.latest.delete(name)
    this.ended = added([this.ended, last])
  }

  /** @param owner what the process that owns the others shows of itself. */
  text(owner: readonly MetricSnapshot[]): Promise<string> {
    return metricsText(withLabel('owner', owner), this.ended, ...this.latest.values())
  }
}

function withLabel(worker: string, snapshot: readonly MetricSnapshot[]): MetricSnapshot[] {
  return snapshot.map((metric) => {
    if (!metric.isPerProcess) return metric
    return { ...metric, values: metric.values.map((sample) => ({ ...sample, labels: { ...sample.labels, worker } })) }
  })
}

/** By name, labels and series. */
function added(parts: readonly (readonly MetricSnapshot[])[]): MetricSnapshot[] {
  const metrics = new Map<string, { metric: MetricSnapshot; samples: Map<string, Sample> }>()
  for (const metric of parts.flat()) {
    const known = metrics.get(metric.name) ?? { metric, samples: new Map<string, Sample>() }
    metrics.set(metric.name, known)
    for (const sample of metric.values) {
      const series = JSON.stringify([sample.metricName, Object.entries(sample.labels).sort()])
      const before = known.samples.get(series)
      known.samples.set(series, before ? { ...before, value: before.value + sample.value } : sample)
    }
  }
  return [...metrics.values()].map(({ metric, samples }) => ({ ...metric, values: [...samples.values()] }))
}
