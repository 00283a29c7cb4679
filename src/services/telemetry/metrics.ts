/** Metrics in the form of OTLP: those of the gateway's registry, and histograms with exemplars by the GenAI conventions. */
import type { MetricSnapshot, Sample } from '../../machines/metrics/metrics.ts'
import { type Attribute, writeAttribute } from '../../machines/otlp/otlp.ts'
import type { ProtoWriter } from '../../machines/otlp/proto-writer.ts'

/** The field `metrics` of `ScopeMetrics`, and `AggregationTemporality`. */
const METRIC = 2
const CUMULATIVE = 2

/** Trace of the request that brought a value, and the time. */
export interface Exemplar {
  readonly value: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly traceId: string
  readonly spanId: string
}

/** One series of a histogram, with the last traced request of each bucket. */
export class Distribution {
  readonly attributes: Readonly<Record<string, Attribute>>
  readonly bounds: readonly number[]
  readonly counts: Float64Array
  readonly exemplars: (Exemplar | undefined)[] = []
  sum = 0
  count = 0

  constructor(bounds: readonly number[], attributes: Readonly<Record<string, Attribute>>) {
    this.bounds = bounds
    this.attributes = attributes
    this.counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number, trace?: Omit<Exemplar, 'value'>): void {
    let bucket = 0
    for (const bound of this.bounds) {
      if (value <= bound) break
      bucket++
    }
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1
    this.sum += value
    this.count++
    if (trace) this.exemplars[bucket] = { value, ...trace }
  }
}

export interface Named {
  readonly name: string
  readonly description: string
  readonly unit: string
}

/** Time that the numbers cover, in milliseconds since the epoch. */
export interface Span {
  readonly since: number
  readonly now: number
}

export function writeHistogram(writer: ProtoWriter, named: Named, series: Iterable<Distribution>, time: Span): void {
  const metric = begin(writer, named)
  const histogram = writer.begin(9)
  for (const { attributes, bounds, counts, exemplars, sum, count } of series) {
    const point = writer.begin(1)
    times(writer, time)
    writer.fixed64(4, count)
    writer.double(5, sum)
    writer.packed(6, counts, 'fixed64')
    writer.packed(7, bounds, 'double')
    for (const exemplar of exemplars) if (exemplar) writeExemplar(writer, exemplar)
    for (const name in attributes) writeAttribute(writer, 9, name, attributes[name])
    writer.end(point)
  }
  writer.int(2, CUMULATIVE)
  writer.end(histogram)
  writer.end(metric)
}

function writeExemplar(writer: ProtoWriter, { value, at, traceId, spanId }: Exemplar): void {
  const exemplar = writer.begin(8)
  writer.time(2, at)
  writer.double(3, value)
  writer.hex(4, spanId)
  writer.hex(5, traceId)
  writer.end(exemplar)
}

/** Writes the metrics under the names that Prometheus shows. @returns their number. */
export function writeMetrics(writer: ProtoWriter, metrics: readonly MetricSnapshot[], time: Span): number {
  let count = 0
  for (const metric of metrics) {
    const { name, help, type, values } = metric
    if (values.length === 0) continue
    count++
    const named = { name, description: help, unit: metricUnit(name) }
    if (type === 'histogram') writeHistogram(writer, named, groupDistributions(name, values), time)
    else writeNumbers(writer, { named, isSum: type === 'counter', values }, time)
  }
  return count
}

interface Numbers {
  named: Named
  isSum: boolean
  values: readonly Sample[]
}

function writeNumbers(writer: ProtoWriter, { named, isSum, values }: Numbers, time: Span): void {
  const metric = begin(writer, named)
  const data = writer.begin(isSum ? 7 : 5)
  for (const { labels, value } of values) {
    const point = writer.begin(1)
    times(writer, time)
    writer.double(4, value)
    for (const name in labels) writeAttribute(writer, 7, name, String(labels[name]))
    writer.end(point)
  }
  if (isSum) {
    writer.int(2, CUMULATIVE)
    writer.int(3, 1)
  }
  writer.end(data)
  writer.end(metric)
}

/** The buckets of a scrape are cumulative, those of OTLP are not. */
function groupDistributions(name: string, values: readonly Sample[]): Distribution[] {
  const found: Distribution[] = []
  let bounds: number[] = []
  let below: number[] = []
  for (const { metricName, labels, value } of values) {
    const { le, ...others } = labels
    if (metricName === `${name}_bucket`) {
      below.push(value)
      if (le !== '+Inf') bounds.push(Number(le))
    } else if (metricName === `${name}_sum`) {
      const series = new Distribution(bounds, Object.fromEntries(Object.entries(others).map(([key, word]) => [key, String(word)])))
      for (const [i, count] of below.entries()) series.counts[i] = count - (below[i - 1] ?? 0)
      series.sum = value
      series.count = below.at(-1) ?? 0
      found.push(series)
      bounds = []
      below = []
    }
  }
  return found
}

function begin(writer: ProtoWriter, { name, description, unit }: Named): number {
  const metric = writer.begin(METRIC)
  writer.text(1, name)
  writer.text(2, description)
  if (unit !== '') writer.text(3, unit)
  return metric
}

function times(writer: ProtoWriter, { since, now }: Span): void {
  writer.time(2, since)
  writer.time(3, now)
}

/** Unit of a metric by UCUM, as the conventions of OpenTelemetry require. */
function metricUnit(name: string): string {
  if (/_seconds(_total)?$/.test(name)) return 's'
  return /_bytes(_total)?$/.test(name) ? 'By' : ''
}
