/**
 * Metrics as text, and gauges of the process itself: event-loop delay, memory, processor time, open files. The metrics of several processes
 * become one text: counts are added up, what each process has of its own gets the process's name as a label.
 */
import { readdir } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { type MetricRegistry, type MetricSnapshot, reading, type Sample } from '../machines/metrics/metrics.ts'

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

/** Sampling interval of the loop delay in milliseconds; the kernel's timer slack is about 1. */
const RESOLUTION_MS = 20

const loopDelay = reading(
  'gauge',
  'event_loop_delay_seconds',
  'Delay of the event loop since the last scrape. Quantile 1 is the longest.',
  { labels: ['quantile'], isPerProcess: true },
)
const memory = reading('gauge', 'process_memory_bytes', 'Memory of the process: resident, heap in use, and buffers outside the heap.', {
  labels: ['kind'],
  isPerProcess: true,
})
const cpu = reading('counter', 'process_cpu_seconds_total', 'Processor time, user and system.', { labels: ['mode'], isPerProcess: true })
const startTime = reading('gauge', 'process_start_time_seconds', 'Unix time of the start.', { isPerProcess: true })
const openFiles = reading('gauge', 'process_open_files', 'Open file descriptors, where the system shows them.', { isPerProcess: true })

/** Gauges of the process itself: event-loop delay, memory, processor time, open files. */
export class ProcessGauges {
  private readonly delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })

  constructor(metrics: MetricRegistry) {
    const { delay } = this
    delay.enable()
    metrics.of(loopDelay).from(() => {
      // The monitor counts its own waiting time in; what remains is the delay.
      const late = (ns: number) => (delay.count === 0 ? 0 : Math.max(0, ns / 1e9 - RESOLUTION_MS / 1000))
      const delays = [
        [{ quantile: '0.5' }, late(delay.percentile(50))],
        [{ quantile: '0.99' }, late(delay.percentile(99))],
        [{ quantile: '1' }, late(delay.max)],
      ] as const
      delay.reset()
      return delays
    })
    metrics.of(memory).from(() => {
      const { rss, heapUsed, external } = process.memoryUsage()
      return [
        [{ kind: 'resident' }, rss],
        [{ kind: 'heap' }, heapUsed],
        [{ kind: 'external' }, external],
      ]
    })
    metrics.of(cpu).from(() => {
      const { user, system } = process.cpuUsage()
      return [
        [{ mode: 'user' }, user / 1e6],
        [{ mode: 'system' }, system / 1e6],
      ]
    })
    metrics.of(startTime).from(() => performance.timeOrigin / 1000)
    metrics.of(openFiles).from(() =>
      readdir('/proc/self/fd').then(
        (files) => files.length,
        () => undefined,
      ),
    )
  }

  close(): void {
    this.delay.disable()
  }
}
