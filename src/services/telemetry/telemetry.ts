/** Exports of a gateway. They outlive a reload; the parts that a configuration decides are replaced whole. */
import type { IncomingHttpHeaders } from 'node:http'
import { hostname } from 'node:os'
import type { Clock } from '../../core/clock.ts'
import { randomHex } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import type { MetricRegistry } from '../../machines/metrics/metrics.ts'
import type { Attribute, Reporter } from '../../machines/otlp/otlp.ts'
import { Exporter, targetAddress } from './exporter.ts'
import { LogRecords } from './log-records.ts'
import { Meter, type MetricSource } from './meter.ts'
import type { TelemetrySettings, TraceSettings } from './settings.ts'
import { RequestTrace, readTraceparent } from './trace-context.ts'

/** The general conventions that are followed; docs/observability.md names those of GenAI, which have no release yet. */
export const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.42.0'

export interface TelemetrySource {
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricRegistry
  /** Called with what takes each line of the log, while lines are exported. */
  readonly lines?: (take: ((line: string) => void) | undefined) => void
  /** Of this program; called once something is exported. */
  readonly version: () => string
}

export class Telemetry {
  /** Undefined where requests are not traced: one test is then all that they cost. */
  tracing: Tracing | undefined
  /** True if metrics are exported. */
  measures = false
  /** Metrics that others keep; set before the first settings are applied. */
  others: MetricSource = () => 0
  private meter: Meter | undefined
  private lines: LogRecords | undefined
  private readonly since: number
  private readonly source: TelemetrySource
  private applied: string | undefined
  /** Names this process in every export: several report under one service. */
  private readonly instance = `${hostname()}-${process.pid}-${randomHex(16)}`
  private readonly closing = new Set<Promise<void>>()

  constructor(source: TelemetrySource) {
    this.source = source
    this.since = source.clock.now()
  }

  /** A line has been written to the log. */
  line(text: string): void {
    this.lines?.add(text)
  }

  /** Applies new settings. Data that waits under the former ones is still sent to the former address. */
  apply(settings: TelemetrySettings): void {
    const wanted = JSON.stringify(settings)
    if (wanted === this.applied) return
    this.applied = wanted
    const { log, clock, metrics: registry } = this.source
    for (const problem of settings.problems) log.warn({ problem }, 'telemetry: a setting of the environment is not followed')
    this.end()
    const { traces, metrics, logs } = settings
    if (logs) {
      this.lines = new LogRecords(
        new Exporter({ signal: 'logs', target: logs, reporter: this.reporter(settings), clock, log, metrics: registry }),
      )
      this.source.lines?.((text) => this.line(text))
      log.info({ endpoint: targetAddress(logs) }, 'the log is exported')
    }
    if (traces) {
      const exporter = new Exporter({ signal: 'traces', target: traces, reporter: this.reporter(settings), clock, log, metrics: registry })
      this.tracing = new Tracing(traces, clock, exporter)
      log.info({ endpoint: targetAddress(traces), ratio: traces.ratio }, 'requests are traced')
    }
    if (metrics) {
      const exporter = new Exporter({
        signal: 'metrics',
        target: metrics,
        reporter: this.reporter(settings),
        clock,
        log,
        metrics: registry,
      })
      const others: MetricSource = (writer, time) => this.others(writer, time)
      this.meter = new Meter({ interval: metrics.interval, clock, metrics: registry, others, exporter, since: this.since })
      this.measures = true
      log.info({ endpoint: targetAddress(metrics), every: metrics.interval }, 'metrics are exported')
    }
  }

  async close(): Promise<void> {
    this.end()
    await Promise.all(this.closing)
  }

  private end(): void {
    for (const ended of [this.tracing?.exporter.close(), this.meter?.close(), this.lines?.exporter.close()]) {
      if (!ended) continue
      this.closing.add(ended)
      void ended.finally(() => this.closing.delete(ended))
    }
    this.tracing = undefined
    this.meter = undefined
    this.measures = false
    this.lines = undefined
    this.source.lines?.(undefined)
  }

  private reporter({ resource }: TelemetrySettings): Reporter {
    const version = this.source.version()
    const about: Record<string, Attribute> = {
      'service.version': version,
      'service.instance.id': this.instance,
      'process.pid': process.pid,
      'telemetry.sdk.name': 'headgate',
      'telemetry.sdk.language': 'nodejs',
      'telemetry.sdk.version': version,
      ...resource,
    }
    return { resource: about, scope: { name: 'headgate', version }, schemaUrl: SCHEMA_URL }
  }
}

/** Which requests are traced, and where their spans go. */
export class Tracing {
  readonly exporter: Exporter
  readonly settings: TraceSettings
  private readonly clock: Clock

  constructor(settings: TraceSettings, clock: Clock, exporter: Exporter) {
    this.settings = settings
    this.clock = clock
    this.exporter = exporter
  }

  /**
   * Decides by the head of a request. Nothing is drawn, made or parsed for one that is not sampled and continues no trace.
   * @returns undefined for those.
   */
  begin({ traceparent }: IncomingHttpHeaders): RequestTrace | undefined {
    if (traceparent !== undefined) {
      const caller = readTraceparent(traceparent)
      if (caller) {
        const byCaller = this.settings.followParent
        const sampled = byCaller ? caller.sampled : this.draws(caller.traceId)
        return new RequestTrace(caller.traceId, { parentId: caller.spanId, sampled, byCaller })
      }
    }
    const { ratio } = this.settings
    if (ratio >= 1 || (ratio > 0 && this.clock.random() < ratio)) return this.own(true)
    return undefined
  }

  /** For a request that turns out to be worth its spans, or whose refusal is to name its trace. */
  own(sampled: boolean): RequestTrace {
    return new RequestTrace(randomHex(32), { parentId: undefined, sampled, byCaller: false })
  }

  /** As another gateway with the same ratio would decide: by the last 13 digits of the trace, which are random. */
  draws(traceId: string): boolean {
    const { ratio } = this.settings
    return ratio >= 1 || Number.parseInt(traceId.slice(-13), 16) < ratio * 0x10_0000_0000_0000
  }
}
