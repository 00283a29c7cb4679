/**
 * Spans of lists and of the management API. These are polled by pages and scripts, so the ratio says nothing of them: a caller with a key
 * has its trace continued, and a failure of the gateway is kept.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../core/clock.ts'
import { KIND, SpanWriter } from '../../machines/otlp/otlp.ts'
import type { Telemetry, Tracing } from '../../services/telemetry/telemetry.ts'
import { RequestTrace, readTraceparent, readTracestate } from '../../services/telemetry/trace-context.ts'

/** Path and its first name; what follows names keys, requests and models, which a name of spans must not have. */
const API_PATH = /^(\/v1\/[a-z_-]{1,32})(\/.*)?$/
/** From here on a reply may be one for a caller without a valid key, which cannot have anything traced. */
const FIRST_REFUSAL = 400

/** Notes one request, and writes its span when its reply has ended. */
export function traceOperation(
  { request, response, path }: { request: IncomingMessage; response: ServerResponse; path: string },
  { telemetry: { tracing }, clock }: { telemetry: Pick<Telemetry, 'tracing'>; clock: Clock },
): void {
  if (!tracing) return
  const caller = tracing.settings.followParent ? readTraceparent(request.headers.traceparent) : undefined
  const trace = caller && new RequestTrace(caller.traceId, { parentId: caller.spanId, sampled: caller.sampled, byCaller: true })
  if (trace?.sampled) response.setHeader('X-Trace-Id', trace.traceId)
  const [at, started] = [clock.now(), clock.monotonic()]
  response.once('close', () => {
    const { statusCode: status } = response
    const failed = tracing.settings.onError && status >= 500
    if (!failed && !(trace?.sampled && status < FIRST_REFUSAL && API_PATH.test(path))) return
    write(tracing, trace ?? tracing.own(true), { request, path, status, start: at, end: at + clock.monotonic() - started })
  })
}

interface Seen {
  readonly request: IncomingMessage
  readonly path: string
  readonly status: number
  readonly start: number
  readonly end: number
}

function write(tracing: Tracing, { traceId, spanId, parentId }: RequestTrace, { request, path, status, start, end }: Seen): void {
  const { method = 'GET', headers } = request
  const [, first, more] = API_PATH.exec(path) ?? []
  const route = first && (more ? `${first}/{path}` : first)
  const spans = new SpanWriter()
  spans.begin({
    traceId,
    spanId,
    parentId,
    parentIsRemote: parentId !== undefined,
    state: parentId === undefined ? '' : (readTracestate(headers.tracestate) ?? ''),
    name: route === undefined ? method : `${method} ${route}`,
    kind: KIND.server,
    start,
    end,
  })
  spans.attribute('http.request.method', method)
  spans.attribute('http.response.status_code', status)
  spans.attribute('http.route', route)
  // The listener has no TLS of its own.
  spans.attribute('url.scheme', 'http')
  spans.attribute('error.type', status >= 500 ? String(status) : undefined)
  spans.end(status >= 500)
  tracing.exporter.add(spans.take())
}
