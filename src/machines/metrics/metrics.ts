/**
 * Metrics: each is declared beside the code that counts it. A declaration is a key; the numbers of one gateway stand in its
 * `MetricRegistry`, so several gateways of one process never share a number. Counting adds to a number in memory, and a scrape reads them
 * as samples. The text is written when a scrape comes (`src/server/metrics.ts`). The table in docs/operations.md is generated from the declarations.
 */
import { entryAt } from '../../core/entry-at.ts'

export interface Metric<T extends MetricState = MetricState> extends MetricShape {
  /** Its place in every `MetricRegistry`. */
  readonly index: number
  begin(names: KnownNames): T
}

interface Options {
  perUnit?: number
}

interface LabelledOptions<L extends readonly Label[]> extends Options {
  labels: L
  /** Series that it may have; those beyond are counted together. */
  limit: number
}

/** Series that a reading with labels has at most. */
const MAX_READ = 3

const declarations: Metric[] = []

/** Every metric of the modules that are loaded. */
export function declaredMetrics(): readonly Metric[] {
  return declarations
}

const PREFIX = 'headgate_'
const PLAIN: Omit<MetricShape, 'name' | 'help' | 'type'> = { labels: [], limit: 1, perUnit: 1, bounds: [], isPerProcess: false }

function declare<T extends MetricState>(shape: MetricShape, begin: (metric: MetricShape, names: KnownNames) => T): Metric<T> {
  const name = PREFIX + shape.name
  if (declarations.some((other) => other.name === name)) throw new Error(`metric ${name} is declared twice`)
  const metric = { ...shape, name, index: declarations.length, begin: (names: KnownNames): T => begin(metric, names) }
  declarations.push(metric)
  return metric
}

/** Declares a number that only grows. @param name without the prefix, ending in `_total`. @param help for the scrape and the table. */
export function counter(name: string, help: string, options?: Options): Metric<Count>
export function counter<const L extends readonly Label[]>(
  name: string,
  help: string,
  options: LabelledOptions<L>,
): Metric<Labelled<L, Count>>
export function counter(name: string, help: string, options: Options & { labels?: MetricShape['labels'] } = {}): Metric {
  const shape: MetricShape = { ...PLAIN, ...options, name, help, type: 'counter' }
  const fresh = (): Count => new Count()
  return options.labels ? declare(shape, (metric, names) => new Labelled(metric, names, fresh)) : declare(shape, fresh)
}

/** Declares a number that code counts up and down. */
export function gauge(name: string, help: string): Metric<Count>
export function gauge<const L extends readonly Label[]>(name: string, help: string, options: LabelledOptions<L>): Metric<Labelled<L, Count>>
export function gauge(name: string, help: string, options: { labels?: MetricShape['labels'] } = {}): Metric {
  const shape: MetricShape = { ...PLAIN, ...options, name, help, type: 'gauge' }
  const fresh = (): Count => new Count()
  return options.labels ? declare(shape, (metric, names) => new Labelled(metric, names, fresh)) : declare(shape, fresh)
}

/** Declares a distribution. @param options with `bounds` of the buckets, rising. */
export function histogram<const L extends readonly Label[]>(
  name: string,
  help: string,
  options: LabelledOptions<L> & { bounds: readonly number[] },
): Metric<Labelled<L, Latencies>> {
  const shape: MetricShape = { ...PLAIN, ...options, name, help, type: 'histogram' }
  return declare(shape, (metric, names) => new Labelled(metric, names, () => new Latencies(metric)))
}

/** Declares a number that stands elsewhere and is read at each scrape. @param labels that its samples have. */
export function reading(
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  { labels = [], isPerProcess = false }: { labels?: readonly string[]; isPerProcess?: boolean } = {},
): Metric<Reading> {
  const limit = labels.length === 0 ? PLAIN.limit : MAX_READ
  return declare({ ...PLAIN, name, help, type, labels: labels.map(closed), limit, isPerProcess }, () => new Reading())
}

/** All numbers of one gateway, or of the process that owns its workers. */
export class MetricRegistry {
  private readonly kept: (MetricState | undefined)[] = []
  private readonly names = new KnownNames()

  /** State of a metric in this gateway. */
  of<T extends MetricState>(metric: Metric<T>): T {
    let state = this.kept[metric.index] as T | undefined
    if (state === undefined) {
      state = metric.begin(this.names)
      this.kept[metric.index] = state
    }
    return state
  }

  /** The names of the catalogue, after a reload too, by label. What was counted before stays. */
  know(lists: Readonly<Record<string, ReadonlySet<string>>>): void {
    this.names.know(lists)
  }

  /** The value that a label shows for a name. */
  label(label: string, name: string): string {
    return this.names.label(label, name)
  }

  /** Everything as plain data, which can go to another process. */
  async snapshot(): Promise<MetricSnapshot[]> {
    const shown: MetricSnapshot[] = []
    for (const metric of declarations) {
      const values = this.of(metric).samples(metric)
      if (values === undefined) continue
      const { name, help, type, isPerProcess } = metric
      shown.push({ name, help, type, aggregator: 'sum', values: await values, isPerProcess })
    }
    return shown
  }
}

/** Label values for what the catalogue does not know or a bound leaves out, and for no name. */
export const OTHER = 'other'
export const NONE = 'none'

/** One number of a scrape, in the form of prom-client's `getMetricsAsJSON`. */
export interface Sample {
  value: number
  labels: Record<string, string | number>
  /** Name that differs from the metric's own, as in a histogram. */
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

interface Label {
  readonly name: string
  /** The value for what is counted together once there is no room for further series. */
  shared(value: string): string
}

/** A label with names for values: beyond the last free series they are counted together. */
export const open = (name: string): Label => ({ name, shared: () => OTHER })
/** A label with one of a few words that the program itself writes. */
export const closed = (name: string): Label => ({ name, shared: (value) => value })

type LabelList = readonly Label[]
/** A value for each label, in the order of the declaration. */
type LabelValues<L extends LabelList> = { readonly [I in keyof L]: string }

type Labels = Readonly<Record<string, string | number>>
type Found = Sample[] | Promise<Sample[]>

/** State of one metric in a gateway. `samples` is undefined where the gateway has nothing to show of it. */
interface MetricState {
  samples(metric: MetricShape): Found | undefined
}

/** One series. */
interface Cell {
  read(metric: MetricShape, labels: Labels): Sample[]
}

interface MetricShape {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: LabelList
  /** The series that it may have; those beyond are counted together. */
  readonly limit: number
  /** Number of counted units that make one shown unit. */
  readonly perUnit: number
  /** Upper bounds of a histogram's buckets, in the unit that is counted. */
  readonly bounds: readonly number[]
  readonly isPerProcess: boolean
}

/** One number that only grows, or a gauge that code counts up and down. */
export class Count implements MetricState, Cell {
  value = 0

  add(by = 1): void {
    this.value += by
  }

  samples(metric: MetricShape): Sample[] {
    return this.read(metric, {})
  }

  read({ perUnit, type }: MetricShape, labels: Labels): Sample[] {
    // A series with labels appears with what it counts first; a gauge that is back at 0 says so.
    return this.value === 0 && type !== 'gauge' && Object.keys(labels).length > 0
      ? []
      : [{ labels: { ...labels }, value: this.value / perUnit }]
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
    let bucket = 0
    for (const bound of this.bounds) {
      if (!(value > bound)) break
      bucket++
    }
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1
    this.sum += value
    this.observed++
  }

  read({ name, perUnit }: MetricShape, labels: Labels): Sample[] {
    const { bounds, counts, sum, observed } = this
    if (observed === 0) return []
    let below = 0
    const buckets = [...counts].map((count, bucket): Sample => {
      below += count
      const bound = bounds[bucket]
      const le = bound === undefined ? '+Inf' : bound / perUnit
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
class Labelled<L extends LabelList, T extends Cell> implements MetricState {
  private readonly metric: MetricShape
  private readonly names: KnownNames
  private readonly fresh: () => T
  /** By the value of each label in turn. */
  private readonly tree: Branch<T> = new Map()
  private readonly cells: { readonly labels: Labels; readonly cell: T }[] = []

  constructor(metric: MetricShape, names: KnownNames, fresh: () => T) {
    this.metric = metric
    this.names = names
    this.fresh = fresh
  }

  /** The cell that counts these values of the labels. */
  series(...values: LabelValues<L>): T {
    // In line, since it runs for every attempt.
    let node: Branch<T> | T | undefined = this.tree
    for (const value of values) {
      if (node === undefined) break
      node = (node as Branch<T>).get(value)
    }
    return (node as T | undefined) ?? this.place(this.perLabel(values, ({ name }, value) => this.names.label(name, value)))
  }

  /** The same for names that went through `MetricRegistry.label`. The cell may be kept while `isFull` is false. */
  named(...values: LabelValues<L>): T {
    return this.place(values)
  }

  /** True: further series are counted together. */
  get isFull(): boolean {
    return this.cells.length >= this.metric.limit
  }

  samples(metric: MetricShape): Sample[] {
    return this.cells.flatMap(({ labels, cell }) => cell.read(metric, labels))
  }

  private place(values: readonly string[]): T {
    const found = this.at(values)
    if (found || !this.isFull) return found ?? this.grow(values)
    const shared = this.perLabel(values, (label, value) => label.shared(value))
    return this.at(shared) ?? this.grow(shared)
  }

  private perLabel<R>(values: readonly string[], use: (label: Label, value: string) => R): R[] {
    return this.metric.labels.map((label, place) => use(label, entryAt(values, place)))
  }

  private at(values: readonly string[]): T | undefined {
    let node: Branch<T> | T | undefined = this.tree
    for (const value of values) node = (node as Branch<T> | undefined)?.get(value)
    return node as T | undefined
  }

  private grow(values: readonly string[]): T {
    const cell = this.fresh()
    const above = [...values]
    const last = above.pop()
    if (last === undefined) throw new RangeError(`${this.metric.name} has no labels`)
    let node = this.tree
    for (const value of above) {
      const next = (node.get(value) ?? new Map()) as Branch<T>
      node.set(value, next)
      node = next
    }
    node.set(last, cell)
    this.cells.push({ labels: Object.fromEntries(this.perLabel(values, ({ name }, value) => [name, value])), cell })
    return cell
  }
}

type Branch<T> = Map<string, Branch<T> | T>

/** A number that stands elsewhere and is read at each scrape. A gateway that gives no source does not show the metric. */
export class Reading implements MetricState {
  private source: (() => Read | Promise<Read>) | undefined

  from(source: () => Read | Promise<Read>): void {
    this.source = source
  }

  samples(): Found | undefined {
    const read = this.source?.()
    if (read === undefined) return undefined
    return read instanceof Promise ? read.then(takeSamples) : takeSamples(read)
  }
}

/** A number, several with labels, or none. */
type Read = number | undefined | readonly (readonly [labels: Labels, value: number])[]

function takeSamples(read: Read): Sample[] {
  if (read === undefined) return []
  return typeof read === 'number' ? [{ labels: {}, value: read }] : read.map(([labels, value]) => ({ labels: { ...labels }, value }))
}

/** Names that may become values of a label; a label without a list takes every name, within the bound of its metric. */
class KnownNames {
  private lists: Readonly<Record<string, ReadonlySet<string> | undefined>> = {}

  know(lists: Readonly<Record<string, ReadonlySet<string>>>): void {
    this.lists = lists
  }

  label(label: string, name: string): string {
    if (name === '') return NONE
    const known = this.lists[label]
    return known === undefined || known.has(name) ? name : OTHER
  }
}
