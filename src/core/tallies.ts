/** How a gateway holds the numbers of its metrics: counting adds to a number in memory, a scrape reads them as samples. */

/** Label values for what the catalogue does not know or a bound leaves out, and for no name. */
export const OTHER = 'other'
export const NONE = 'none'

/** One number of a scrape, in the form of prom-client's `getMetricsAsJSON`. */
export interface Sample {
  value: number
  labels: Record<string, string | number>
  /** Where it differs from the metric's own name, as in a histogram. */
  metricName?: string
}

/** One metric as plain data, in the form of prom-client's `getMetricsAsJSON`. */
export interface MetricSnapshot {
  name: string
  help: string
  type: string
  aggregator: string
  values: Sample[]
  /** True: each process has its own, so several are not added up. */
  isPerProcess?: boolean
}

/** A label's value in the series that counts what came after the last free series. */
export type LabelRule = (value: string) => string

/** Names: once there is no room for further series they are counted together. */
export const open: LabelRule = () => OTHER
/** One of a few words that the program itself writes. */
export const closed: LabelRule = (value) => value

type Labels = Readonly<Record<string, string | number>>
type Found = Sample[] | Promise<Sample[]>

/** What a gateway holds of one metric. `samples` is undefined where the gateway has nothing to show of it. */
export interface Tally {
  samples(metric: MetricShape): Found | undefined
}

/** One series. */
interface Cell {
  read(metric: MetricShape, labels: Labels): Sample[]
}

export interface MetricShape {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: Readonly<Record<string, LabelRule>>
  /** The series that it may have; those beyond are counted together. */
  readonly limit: number
  /** How many of the unit that is counted make one of the unit that is shown. */
  readonly perUnit: number
  /** Upper bounds of a histogram's buckets, in the unit that is counted. */
  readonly bounds: readonly number[]
  readonly isPerProcess: boolean
}

/** One number that only grows, or a gauge that code counts up and down. */
export class Count implements Tally, Cell {
  value = 0

  add(by = 1): void {
    this.value += by
  }

  samples(metric: MetricShape): Sample[] {
    return this.read(metric, {})
  }

  read({ perUnit }: MetricShape, labels: Labels): Sample[] {
    // A series with labels appears with what it counts first.
    return this.value === 0 && Object.keys(labels).length > 0 ? [] : [{ labels: { ...labels }, value: this.value / perUnit }]
  }
}

/** Counts of one series of a histogram, not cumulative. */
export class Latencies implements Cell {
  private readonly bounds: readonly number[]
  private readonly counts: Float64Array
  private sum = 0
  private observed = 0

  constructor({ bounds }: MetricShape) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    const { bounds } = this
    let bucket = 0
    while (bucket < bounds.length && value > bounds[bucket]) bucket++
    this.counts[bucket]++
    this.sum += value
    this.observed++
  }

  read({ name, perUnit }: MetricShape, labels: Labels): Sample[] {
    const { bounds, counts, sum, observed } = this
    if (observed === 0) return []
    let below = 0
    const buckets = [...counts].map((count, bucket): Sample => {
      below += count
      const le = bucket < bounds.length ? bounds[bucket] / perUnit : '+Inf'
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: below }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: { ...labels }, value: sum / perUnit },
      { metricName: `${name}_count`, labels: { ...labels }, value: observed },
    ]
  }
}

/** The series of a metric with labels. */
export class Labelled<L extends string, T extends Cell> implements Tally {
  private readonly metric: MetricShape
  private readonly names: KnownNames
  private readonly fresh: () => T
  private readonly labels: readonly string[]
  /** By the value of each label in turn. */
  private readonly tree: Branch<T> = new Map()
  private readonly cells: { readonly labels: Labels; readonly cell: T }[] = []

  constructor(metric: MetricShape, names: KnownNames, fresh: () => T) {
    this.metric = metric
    this.names = names
    this.fresh = fresh
    this.labels = Object.keys(metric.labels)
  }

  /** The cell that counts these labels. */
  series(values: Readonly<Record<L, string>>): T {
    return this.at(values) ?? this.named(this.names.labels(values))
  }

  /** The same for values that are the catalogue's names already. The cell may be kept while `isFull` is false. */
  named(values: Readonly<Record<L, string>>): T {
    const found = this.at(values)
    if (found) return found
    if (!this.isFull) return this.grow(values)
    const { labels } = this.metric
    const shared = Object.fromEntries(this.labels.map((label) => [label, labels[label](values[label as L])]))
    return this.at(shared) ?? this.grow(shared)
  }

  /** True: further series are counted together. */
  get isFull(): boolean {
    return this.cells.length >= this.metric.limit
  }

  samples(metric: MetricShape): Sample[] {
    return this.cells.flatMap(({ labels, cell }) => cell.read(metric, labels))
  }

  private at(values: Readonly<Record<string, string>>): T | undefined {
    let node: Branch<T> | T | undefined = this.tree
    for (const label of this.labels) {
      node = (node as Branch<T>).get(values[label])
      if (node === undefined) return undefined
    }
    return node as T
  }

  private grow(values: Readonly<Record<string, string>>): T {
    const labels = Object.fromEntries(this.labels.map((label) => [label, values[label]]))
    const cell = this.fresh()
    let node = this.tree
    for (const label of this.labels.slice(0, -1)) {
      const next = (node.get(labels[label]) ?? new Map()) as Branch<T>
      node.set(labels[label], next)
      node = next
    }
    node.set(labels[this.labels[this.labels.length - 1]], cell)
    this.cells.push({ labels, cell })
    return cell
  }
}

type Branch<T> = Map<string, Branch<T> | T>

/** A number that stands elsewhere and is read at each scrape. A gateway that gives no source does not show the metric. */
export class Reading implements Tally {
  private source: (() => Read | Promise<Read>) | undefined

  from(source: () => Read | Promise<Read>): void {
    this.source = source
  }

  samples(): Found | undefined {
    const read = this.source?.()
    if (read === undefined) return undefined
    return read instanceof Promise ? read.then(samplesOf) : samplesOf(read)
  }
}

/** A number, several with labels, or none. */
type Read = number | undefined | readonly (readonly [labels: Labels, value: number])[]

function samplesOf(read: Read): Sample[] {
  if (read === undefined) return []
  return typeof read === 'number' ? [{ labels: {}, value: read }] : read.map(([labels, value]) => ({ labels: { ...labels }, value }))
}

/** Names that may become values of a label; a label without a list takes every name, within the bound of its metric. */
export class KnownNames {
  private lists: Readonly<Record<string, ReadonlySet<string> | undefined>> = {}

  know(lists: Readonly<Record<string, ReadonlySet<string>>>): void {
    this.lists = lists
  }

  labels<L extends string>(values: Readonly<Record<L, string>>): Record<L, string> {
    const named: Record<string, string> = {}
    for (const label in values) named[label] = this.label(label, values[label])
    return named
  }

  label(label: string, name: string): string {
    if (name === '') return NONE
    const known = this.lists[label]
    return known === undefined || known.has(name) ? name : OTHER
  }
}
