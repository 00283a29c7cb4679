/** The client metrics of the GenAI conventions (commit 004902b), of every call of a provider, with the traced ones as exemplars. */
import type { Exchange, ExchangeHistory } from '../../pipeline/exchange.ts'
import type { NotedAttempt } from '../../pipeline/records.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { MetricSource } from '../../services/telemetry/meter.ts'
import { Distribution, type Exemplar, type Named, writeHistogram } from '../../services/telemetry/metrics.ts'
import { callOperation } from './attributes.ts'

/** Boundaries as the conventions have them. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const FIRST = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const CHUNK = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5]
const TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]

const DURATION: Named = { name: 'gen_ai.client.operation.duration', description: 'GenAI operation duration.', unit: 's' }
const USAGE: Named = { name: 'gen_ai.client.token.usage', description: 'Number of input and output tokens used.', unit: '{token}' }
const FIRST_CHUNK: Named = {
  name: 'gen_ai.client.operation.time_to_first_chunk',
  description: 'Time to receive the first chunk of a stream.',
  unit: 's',
}
const PER_TOKEN: Named = {
  name: 'headgate.client.time_per_output_token',
  description: 'Time per output token after the first chunk.',
  unit: 's',
}

/** Endpoints that have series of their own; those beyond are counted together. */
const MAX_ENDPOINTS = 1_000

/** The series of one endpoint and operation. */
interface Series {
  readonly attributes: Readonly<Record<string, string>>
  /** By the code of the failure; '' for none. */
  readonly durations: Map<string, Distribution>
  readonly input: Distribution
  readonly output: Distribution
  readonly first: Distribution
  readonly perToken: Distribution
}

export class GenAiMetrics {
  /** By the names that the series have. */
  private readonly all = new Map<string, Series>()
  private known = new WeakMap<Endpoint, Map<string, Series>>()

  record(exchange: Exchange, history: ExchangeHistory = exchange.history): void {
    for (const attempt of history.attempts) this.attempt(exchange, attempt)
    for (const step of history.steps) if (step.history) this.record(exchange, step.history)
  }

  readonly write: MetricSource = (writer, time) => {
    const all = [...this.all.values()]
    if (all.length === 0) return 0
    const used = (series: Distribution): boolean => series.count > 0
    const durations = all.flatMap(({ durations: each }) => [...each.values()])
    writeHistogram(writer, DURATION, durations, time)
    writeHistogram(writer, USAGE, all.flatMap(({ input, output }) => [input, output]).filter(used), time)
    writeHistogram(writer, FIRST_CHUNK, all.map(({ first }) => first).filter(used), time)
    writeHistogram(writer, PER_TOKEN, all.map(({ perToken }) => perToken).filter(used), time)
    return 4
  }

  private attempt(exchange: Exchange, attempt: NotedAttempt): void {
    const { answer, code = '' } = attempt
    const series = this.endpointSeries(attempt.at, callOperation(exchange, attempt.at))
    const trace = exemplarTrace(exchange, attempt)
    let duration = series.durations.get(code)
    if (!duration) {
      duration = new Distribution(SECONDS, code === '' ? series.attributes : { ...series.attributes, 'error.type': code })
      series.durations.set(code, duration)
    }
    duration.observe((attempt.ended - attempt.started) / 1000, trace)
    if (!answer) return
    const { usage, writing } = answer
    if (exchange.request?.stream && attempt.contentAt > 0) series.first.observe((attempt.contentAt - attempt.started) / 1000, trace)
    // What was estimated is no measurement.
    if (!usage || usage.estimated) return
    series.input.observe(usage.input, trace)
    series.output.observe(usage.output, trace)
    if (writing !== undefined && usage.output > 1) series.perToken.observe(writing / 1000 / usage.output, trace)
  }

  private endpointSeries(endpoint: Endpoint, operation: string): Series {
    let byOperation = this.known.get(endpoint)
    if (!byOperation) {
      byOperation = new Map()
      this.known.set(endpoint, byOperation)
    }
    const known = byOperation.get(operation)
    if (known) return known
    const { provider, upstreamModel } = endpoint
    const name = provider.telemetryName ?? provider.slug
    const key = `${operation}\n${name}\n${upstreamModel}`
    const series =
      this.all.get(key) ?? (this.all.size < MAX_ENDPOINTS ? this.make(key, { operation, name, model: upstreamModel }) : this.shared())
    byOperation.set(operation, series)
    return series
  }

  private shared(): Series {
    return this.all.get('') ?? this.make('', { operation: 'other', name: 'other', model: 'other' })
  }

  private make(key: string, { operation, name, model }: { operation: string; name: string; model: string }): Series {
    const attributes = { 'gen_ai.operation.name': operation, 'gen_ai.provider.name': name, 'gen_ai.request.model': model }
    const series: Series = {
      attributes,
      durations: new Map(),
      input: new Distribution(TOKENS, { ...attributes, 'gen_ai.token.type': 'input' }),
      output: new Distribution(TOKENS, { ...attributes, 'gen_ai.token.type': 'output' }),
      first: new Distribution(FIRST, attributes),
      perToken: new Distribution(CHUNK, attributes),
    }
    this.all.set(key, series)
    return series
  }
}

/** The span of a call whose trace is kept. */
function exemplarTrace({ head, history: { trace } }: Exchange, { span }: NotedAttempt): Omit<Exemplar, 'value'> | undefined {
  if (!trace?.sampled || span === undefined) return undefined
  return { at: head.clock.now(), traceId: trace.traceId, spanId: span }
}
