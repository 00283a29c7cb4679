/** Metrics of several processes as one text: what was counted is added up, what a process alone can say has its name as a label. */
import { AggregatorRegistry, Counter, Gauge, Registry } from 'prom-client'

/** One metric as prom-client's `getMetricsAsJSON` gives it. */
export interface MetricSnapshot {
  name: string
  help: string
  type: string
  aggregator: string
  values: MetricSample[]
}

export interface MetricSample {
  value: number
  labels: Record<string, string | number>
  metricName?: string
}

/** Of these each process has its own. */
const PER_PROCESS = /^headgate_(process|event_loop)_/
/** Every process reloads at the word of one, which counts for all. */
const OF_OWNER = new Set(['headgate_reloads_total', 'headgate_reload_failures_total'])

/** A counter must not fall because a process has ended: what it had shown last is kept. */
const GOES_ON = new Set(['counter', 'histogram'])

/** Of the processes themselves. */
export interface CrewCounts {
  listening: number
  /** Since the start. */
  restarts: number
}

export class MergedMetrics {
  private readonly latest = new Map<string, MetricSnapshot[]>()
  /** Sums of processes that have ended. */
  private ended: MetricSnapshot[] = []

  /** Takes what a process shows now in the place of what it showed before. */
  show(name: string, snapshot: readonly MetricSnapshot[]): void {
    this.latest.set(name, ours(name, snapshot))
  }

  /** The process is gone; another one may come under its name. */
  end(name: string): void {
    const last = (this.latest.get(name) ?? []).filter((metric) => GOES_ON.has(metric.type) && !PER_PROCESS.test(metric.name))
    this.latest.delete(name)
    this.ended = added([this.ended, last])
  }

  /** @param owner what the process that owns the others shows of itself. */
  async text(owner: readonly MetricSnapshot[], crew: CrewCounts): Promise<string> {
    const parts = [withLabel('owner', owner), this.ended, ...this.latest.values()]
    const [merged, own] = await Promise.all([AggregatorRegistry.aggregate(parts).metrics(), crewText(crew)])
    return `${merged}\n${own}`
  }

  get contentType(): string {
    return Registry.PROMETHEUS_CONTENT_TYPE
  }
}

function crewText({ listening, restarts }: CrewCounts): Promise<string> {
  const registry = new Registry()
  const registers = [registry]
  new Gauge({ name: 'headgate_workers', help: 'Workers that listen.', registers }).set(listening)
  new Counter({ name: 'headgate_worker_restarts_total', help: 'Workers started in the place of dead ones.', registers }).inc(restarts)
  return registry.metrics()
}

function ours(name: string, snapshot: readonly MetricSnapshot[]): MetricSnapshot[] {
  return withLabel(
    name,
    snapshot.filter((metric) => !OF_OWNER.has(metric.name)),
  )
}

function withLabel(worker: string, snapshot: readonly MetricSnapshot[]): MetricSnapshot[] {
  return snapshot.map((metric) => {
    if (!PER_PROCESS.test(metric.name)) return metric
    return { ...metric, values: metric.values.map((sample) => ({ ...sample, labels: { ...sample.labels, worker } })) }
  })
}

/** By name, labels and series. */
function added(parts: readonly (readonly MetricSnapshot[])[]): MetricSnapshot[] {
  const metrics = new Map<string, { metric: MetricSnapshot; samples: Map<string, MetricSample> }>()
  for (const metric of parts.flat()) {
    const known = metrics.get(metric.name) ?? { metric, samples: new Map<string, MetricSample>() }
    metrics.set(metric.name, known)
    for (const sample of metric.values) {
      const series = JSON.stringify([sample.metricName, Object.entries(sample.labels).sort()])
      const before = known.samples.get(series)
      known.samples.set(series, before ? { ...before, value: before.value + sample.value } : sample)
    }
  }
  return [...metrics.values()].map(({ metric, samples }) => ({ ...metric, values: [...samples.values()] }))
}
