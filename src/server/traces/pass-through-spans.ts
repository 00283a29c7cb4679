/**
 * Spans of the pass-through: the request as its caller sees it, and the call of the provider below it. Its path and body are the
 * provider's affair and in neither.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Clock } from '../../core/clock.ts'
import { randomHex } from '../../core/ids.ts'
import { usd } from '../../core/money.ts'
import { Double, KIND, SpanWriter } from '../../machines/otlp/otlp.ts'
import type { PassThroughSeen, PassThroughTrace } from '../../pipeline/pass-through/handler.ts'
import type { Telemetry, Tracing } from '../../services/telemetry/telemetry.ts'
import { type RequestTrace, readTracestate } from '../../services/telemetry/trace-context.ts'
import { writeProvider } from './attributes.ts'

const ROUTE = '/v1/passage/{provider}/{path}'

export class PassThroughSpans {
  private readonly telemetry: Pick<Telemetry, 'tracing'>
  private readonly clock: Clock

  constructor(telemetry: Pick<Telemetry, 'tracing'>, clock: Clock) {
    this.telemetry = telemetry
    this.clock = clock
  }

  /** @returns undefined where requests are not traced. */
  begin(request: IncomingMessage): PassThroughTrace | undefined {
    const { tracing } = this.telemetry
    return tracing && new NotedRequest(tracing, this.clock, request)
  }
}

class NotedRequest implements PassThroughTrace {
  trace: RequestTrace | undefined
  readonly span = randomHex(16)
  private readonly tracing: Tracing
  private readonly clock: Clock
  private readonly headers: IncomingHttpHeaders
  private readonly method: string
  private readonly at: number
  private readonly started: number

  constructor(tracing: Tracing, clock: Clock, { headers, method = 'GET' }: IncomingMessage) {
    this.tracing = tracing
    this.clock = clock
    // A WebSocket's headers become those of the provider.
    this.headers = headers
    this.method = method
    this.at = clock.now()
    this.started = clock.monotonic()
    this.trace = tracing.begin(headers)
  }

  end(seen: PassThroughSeen): void {
    const trace = this.kept(seen)
    if (!trace) return
    const spans = new SpanWriter()
    const until = this.at + this.clock.monotonic() - this.started
    this.server(spans, trace, { seen, until })
    if (seen.provider && seen.end.sent !== false) this.call(spans, trace, { seen, until })
    this.tracing.exporter.add(spans.take())
  }

  /** By the rules of other requests: drawn, wished for by a caller with a key, slow, or failed by no fault of the caller. */
  private kept({ key, end }: PassThroughSeen): RequestTrace | undefined {
    const { tracing } = this
    const { slow, onError } = tracing.settings
    if (this.trace?.sampled && this.trace.byCaller && !key) this.trace.sampled = tracing.draws(this.trace.traceId)
    const isSlow = slow !== undefined && this.clock.monotonic() - this.started >= slow
    if (!this.trace?.sampled && !isSlow && !(onError && hasFailed(end))) return undefined
    this.trace ??= tracing.own(true)
    return this.trace
  }

  private server(spans: SpanWriter, trace: RequestTrace, { seen, until }: { seen: PassThroughSeen; until: number }): void {
    const { id, key, cost, end } = seen
    const status = end.fault?.status ?? end.status
    const isSocket = end.status === 101
    spans.begin({
      traceId: trace.traceId,
      spanId: trace.spanId,
      parentId: trace.parentId,
      parentIsRemote: trace.parentId !== undefined,
      state: trace.parentId === undefined ? '' : (readTracestate(this.headers.tracestate) ?? ''),
      name: `${isSocket ? 'WebSocket' : this.method} ${ROUTE}`,
      kind: KIND.server,
      start: this.at,
      end: until,
    })
    if (isSocket) spans.attribute('network.protocol.name', 'websocket')
    spans.attribute('http.request.method', this.method)
    if (status !== null) spans.attribute('http.response.status_code', status)
    spans.attribute('http.route', ROUTE)
    // The listener has no TLS of its own.
    spans.attribute('url.scheme', 'http')
    spans.attribute('error.type', spanProblem(end))
    spans.attribute('headgate.generation.id', id)
    spans.attribute('headgate.key.name', key?.name)
    if (cost !== undefined) spans.attribute('headgate.cost_usd', new Double(usd(cost)))
    spans.end((status ?? 0) >= 500)
  }

  private call(spans: SpanWriter, trace: RequestTrace, { seen, until }: { seen: PassThroughSeen; until: number }): void {
    const { provider, end } = seen
    if (!provider) return
    spans.begin({
      traceId: trace.traceId,
      spanId: this.span,
      parentId: trace.spanId,
      parentIsRemote: false,
      state: '',
      name: this.method,
      kind: KIND.client,
      start: this.at,
      end: until,
    })
    spans.attribute('http.request.method', this.method)
    if (end.status !== null) spans.attribute('http.response.status_code', end.status)
    spans.attribute('headgate.provider', provider.slug)
    writeProvider(spans, provider)
    spans.attribute('error.type', spanProblem(end) ?? ((end.status ?? 0) >= 400 ? String(end.status) : undefined))
    spans.end(end.outcome === 'failed' || (end.status ?? 0) >= 400)
  }
}

/** The caller has left without a word of ours. */
const spanProblem = ({ fault, outcome }: PassThroughSeen['end']): string | undefined =>
  fault?.code ?? (outcome === 'aborted' ? 'client_gone' : undefined)

const hasFailed = ({ fault, status }: PassThroughSeen['end']): boolean =>
  (fault?.status ?? status ?? 0) >= 500 || fault?.origin === 'upstream'
