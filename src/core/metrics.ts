/**
 * Declarations of metrics: each stands beside the code that counts it. A declaration is a key; the numbers of one gateway stand in its
 * `Tallies`, so several gateways of one process never share a number. The text is written when a scrape comes
 * (`src/server/metrics.ts`). The table in docs/operations.md is generated from the declarations.
 */
import {
  Count,
  closed,
  KnownNames,
  type Label,
  Labelled,
  Latencies,
  type MetricShape,
  type MetricSnapshot,
  Reading,
  type Tally,
} from './tallies.ts'

export interface Metric<T extends Tally = Tally> extends MetricShape {
  /** Its place in every `Tallies`. */
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

/** Series that a reading has at most. */
const MAX_READ = 3

const declarations: Metric[] = []

/** Every metric of the modules that are loaded. */
export function declaredMetrics(): readonly Metric[] {
  return declarations
}

const PREFIX = 'headgate_'
const PLAIN: Omit<MetricShape, 'name' | 'help' | 'type'> = { labels: [], limit: 1, perUnit: 1, bounds: [], isPerProcess: false }

function declare<T extends Tally>(shape: MetricShape, begin: (metric: MetricShape, names: KnownNames) => T): Metric<T> {
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
  return declare({ ...PLAIN, name, help, type, labels: labels.map(closed), limit: MAX_READ, isPerProcess }, () => new Reading())
}

/** All numbers of one gateway, or of the process that owns its workers. */
export class Tallies {
  private readonly kept: (Tally | undefined)[] = []
  private readonly names = new KnownNames()

  /** What this gateway holds of a metric. */
  of<T extends Tally>(metric: Metric<T>): T {
    let tally = this.kept[metric.index] as T | undefined
    if (tally === undefined) {
      tally = metric.begin(this.names)
      this.kept[metric.index] = tally
    }
    return tally
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
