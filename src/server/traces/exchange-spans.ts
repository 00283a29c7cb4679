/**
 * Spans of an exchange, written once it has ended from what it has noted of itself: while it runs nothing is made for them but the ids
 * that others are sent.
 */

import type { Fault } from '../../core/faults.ts'
import { randomHex } from '../../core/ids.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { usd } from '../../core/money.ts'
import type { Item, Part } from '../../dialects/canon/request.ts'
import type { ClientDialect } from '../../dialects/types.ts'
import { Double, KIND, SpanWriter } from '../../machines/otlp/otlp.ts'
import type { Lane } from '../../pipeline/attempt/turn.ts'
import { type Exchange, type ExchangeHistory, requestedModel, type Step } from '../../pipeline/exchange.ts'
import { stageFindings } from '../../pipeline/guard/guardrail-findings.ts'
import type { NotedAttempt } from '../../pipeline/records.ts'
import type { CapturedBlock, ContentCaptureTap } from '../../pipeline/reply/content-capture-tap.ts'
import type { Telemetry, Tracing } from '../../services/telemetry/telemetry.ts'
import { type RequestTrace, readTracestate } from '../../services/telemetry/trace-context.ts'
import { SocketConnection } from '../sockets/socket-connection.ts'
import {
  callOperation,
  clientOperation,
  cut,
  seconds,
  writeCallersNames,
  writeParameters,
  writeProvider,
  writeUsage,
} from './attributes.ts'
import { GenAiMetrics } from './gen-ai-metrics.ts'

export interface EndOfExchange {
  readonly status: number
  readonly fault?: Fault | undefined
  readonly lane?: Lane
}

/** Beginnings of the names of steps; that of tools is the conventions'. */
const STEPS = { tool: 'execute_tool', model: 'inner_call', guardrail: 'guardrail', plugin: 'plugin' } as const

/** Parent of a span. */
interface Place {
  readonly trace: RequestTrace
  readonly parentId: string
}

/** The caller has left before the end of its reply; nothing of the kind is sent. */
const LEFT = 499

export class ExchangeSpans {
  readonly metrics = new GenAiMetrics()
  /** Nothing is to be recorded where it neither traces nor measures. */
  readonly telemetry: Pick<Telemetry, 'tracing' | 'measures'>
  private readonly spans = new SpanWriter()
  /** Paths by the dialects that answer there. */
  private readonly routes: ReadonlyMap<ClientDialect, string>

  /** @param clients client dialects by path. */
  constructor(telemetry: Pick<Telemetry, 'tracing' | 'measures'>, clients: ReadonlyMap<string, ClientDialect>) {
    this.telemetry = telemetry
    this.routes = new Map([...clients].map(([path, client]) => [client, path]))
  }

  /** A refusal is about to be written: if its spans will be kept, it names its trace. */
  refusing(exchange: Exchange, { status }: Fault): void {
    const { tracing } = this.telemetry
    if (tracing?.settings.onError && status >= 500) exchange.history.trace ??= adopted(tracing, exchange)
  }

  /** The exchange has ended. */
  record(exchange: Exchange, end: EndOfExchange): void {
    const { tracing } = this.telemetry
    const trace = tracing && tracedBy(tracing, exchange, end)
    if (tracing && trace) this.write(tracing, trace, { exchange, end })
    // After the spans: a call's span is named then.
    if (this.telemetry.measures) this.metrics.record(exchange)
  }

  private write(tracing: Tracing, trace: RequestTrace, { exchange, end }: { exchange: Exchange; end: EndOfExchange }): void {
    try {
      this.server(exchange, trace, end)
      this.within(exchange, exchange.history, { trace, parentId: trace.spanId })
      tracing.exporter.add(this.spans.take())
    } catch (error) {
      // Half a request's spans must not become part of the next one's.
      this.spans.take()
      throw error
    }
  }

  /** The request as its caller sees it. */
  private server(exchange: Exchange, trace: RequestTrace, { status, fault, lane }: EndOfExchange): void {
    const { head, run, auth, request, history } = exchange
    const { spans } = this
    const client = exchange.run.client
    const route = this.routes.get(head.client) ?? ''
    const isSocket = head.connection instanceof SocketConnection
    const error = status === LEFT ? 'client_gone' : fault?.code
    spans.begin({
      traceId: trace.traceId,
      spanId: trace.spanId,
      parentId: trace.parentId,
      parentIsRemote: trace.parentId !== undefined,
      state: trace.parentId === undefined ? '' : (readTracestate(head.headers.tracestate) ?? ''),
      name: `${isSocket ? 'WebSocket' : 'POST'} ${route}`,
      kind: KIND.server,
      start: head.at,
      end: head.at + head.clock.monotonic() - head.started,
    })
    if (isSocket) spans.attribute('network.protocol.name', 'websocket')
    else {
      spans.attribute('http.request.method', 'POST')
      if (status !== LEFT) spans.attribute('http.response.status_code', status)
    }
    spans.attribute('http.route', route)
    spans.attribute('url.path', route)
    // The listener has no TLS of its own.
    spans.attribute('url.scheme', 'http')
    spans.attribute('error.type', error)
    spans.attribute('gen_ai.operation.name', clientOperation(client))
    spans.attribute('headgate.generation.id', head.id)
    spans.attribute('headgate.client', client.id)
    if (auth) spans.attribute('headgate.key.name', auth.key.name)
    if (request) {
      spans.attribute('gen_ai.request.model', cut(requestedModel(exchange)) || undefined)
      spans.attribute('gen_ai.request.stream', request.stream)
    }
    spans.attribute('gen_ai.response.id', run.committedEndpoint && head.id)
    spans.attribute('gen_ai.response.model', run.committedEndpoint?.model.slug)
    if (run.final && !fault) spans.attribute('gen_ai.response.finish_reasons', [run.final.end.reason])
    if (request?.stream && run.firstContentAt > 0) {
      spans.attribute('gen_ai.response.time_to_first_chunk', seconds(run.firstContentAt - head.started))
    }
    spans.attribute('headgate.lane', lane)
    spans.attribute('headgate.attempts', history.attempts.length)
    spans.attribute('headgate.upstream_seconds', seconds(run.upstreamMs))
    if (history.stages.length > 0) spans.attribute('headgate.guardrails', found(history))
    if (run.final) spans.attribute('headgate.cost_usd', new Double(usd(run.final.cost)))
    writeCallersNames(spans, exchange)
    // A request that the caller got wrong is no error of a server span (HTTP spans, "Status").
    spans.end(status >= 500 || (status === 200 && fault !== undefined && fault.origin !== 'client'))
  }

  /** Steps that a request has noted under one of its spans: its own steps, or those of a call that a tool made of a model. */
  private within(exchange: Exchange, history: ExchangeHistory, { trace, parentId }: Place): void {
    const ids = new Map<Step, string>()
    for (const step of history.steps) {
      const spanId = randomHex(16)
      ids.set(step, spanId)
      this.step(exchange, step, { trace, parentId: (step.within && ids.get(step.within)) ?? parentId, spanId })
      if (step.history) this.within(exchange, step.history, { trace, parentId: spanId })
    }
    // Each call after the first of its turn is linked to the one that it stands in for.
    let before: NotedAttempt | undefined
    for (const attempt of history.attempts) {
      attempt.span ??= randomHex(16)
      this.attempt(exchange, attempt, { trace, parentId, before: before?.turn === attempt.turn ? before.span : undefined })
      before = attempt
    }
  }

  private step({ head }: Exchange, step: Step, { trace, parentId, spanId }: Place & { spanId: string }): void {
    const { spans } = this
    const { kind, failure } = step
    const name = cut(step.name)
    const zero = head.at - head.started
    const start = zero + step.started
    spans.begin({
      traceId: trace.traceId,
      spanId,
      parentId,
      parentIsRemote: false,
      state: '',
      name: `${STEPS[kind]} ${name}`.trimEnd(),
      kind: KIND.internal,
      start,
      // One that the end of the request has cut off has none of its own.
      end: step.ended === 0 ? zero + head.clock.monotonic() : zero + step.ended,
    })
    if (kind === 'tool') {
      spans.attribute('gen_ai.operation.name', 'execute_tool')
      spans.attribute('gen_ai.tool.name', name)
      spans.attribute('gen_ai.tool.type', 'function')
      if (step.callId !== undefined) spans.attribute('gen_ai.tool.call.id', cut(step.callId))
    } else spans.attribute(`headgate.${kind}.name`, name === '' ? undefined : name)
    spans.attribute('error.type', failure)
    spans.end(failure !== undefined)
  }

  private attempt(exchange: Exchange, attempt: NotedAttempt, { trace, parentId, before }: Place & { before: string | undefined }): void {
    const { head } = exchange
    // The body is the caller's: a call that a tool makes has one of its own.
    const request = parentId === trace.spanId ? exchange.request : undefined
    const { spans } = this
    const { at: endpoint, answer, span = '' } = attempt
    const { provider, model, upstreamModel } = endpoint
    const operation = callOperation(exchange, endpoint)
    const zero = head.at - head.started
    spans.begin({
      traceId: trace.traceId,
      spanId: span,
      parentId,
      parentIsRemote: false,
      state: '',
      name: `${operation} ${upstreamModel}`,
      kind: KIND.client,
      start: zero + attempt.started,
      end: zero + attempt.ended,
    })
    spans.attribute('gen_ai.operation.name', operation)
    writeProvider(spans, provider)
    spans.attribute('gen_ai.request.model', upstreamModel)
    spans.attribute('headgate.model', model.slug)
    spans.attribute('headgate.provider', provider.slug)
    spans.attribute('headgate.endpoint', endpoint.id)
    spans.attribute('headgate.turn', attempt.turn)
    if (attempt.status !== null) spans.attribute('http.response.status_code', attempt.status)
    spans.attribute('error.type', attempt.code)
    if (request) {
      spans.attribute('gen_ai.request.stream', request.stream)
      writeParameters(spans, request.body)
    }
    if (attempt.dropped) spans.attribute('headgate.dropped', attempt.dropped)
    if (answer) {
      if (request?.stream && attempt.contentAt > 0) {
        spans.attribute('gen_ai.response.time_to_first_chunk', seconds(attempt.contentAt - attempt.started))
      }
      if (answer.end) spans.attribute('gen_ai.response.finish_reasons', [answer.end.reason])
      if (answer.usage) writeUsage(spans, answer.usage)
      spans.attribute('headgate.lane', answer.lane)
      // Of a tool loop the last call has the whole conversation.
      const { captured } = exchange.run
      if (request && captured && answer === exchange.run.lastTurn) writeContent(spans, exchange, captured, answer.end?.reason ?? 'stop')
    }
    if (before !== undefined) spans.link(trace.traceId, before, 'retry')
    spans.end(attempt.code !== undefined)
  }
}

/** Findings of guardrails, in words of the program and names of the operator alone. */
function found({ stages }: ExchangeHistory): string[] | undefined {
  const findings = stageFindings(stages)
  return findings.length === 0 ? undefined : findings.map(({ guardrail, action, direction }) => `${guardrail} ${action} ${direction}`)
}

/** The trace under which the spans of an exchange are kept; undefined where they are not. */
function tracedBy(tracing: Tracing, exchange: Exchange, end: EndOfExchange): RequestTrace | undefined {
  const { history } = exchange
  const { trace } = history
  // The flag of a caller without a key would be a way to have the gateway work for nothing.
  if (trace?.sampled && trace.byCaller && !exchange.auth) trace.sampled = tracing.draws(trace.traceId)
  if (trace?.sampled) return trace
  if (!isWorth(tracing, exchange, end)) return undefined
  history.trace ??= adopted(tracing, exchange)
  history.trace.sampled = true
  return history.trace
}

/** A trace that begins late, under the names that the body gives. */
function adopted(tracing: Tracing, { request }: Exchange): RequestTrace {
  const trace = tracing.own(false)
  const names = request?.gateway.trace
  if (names) trace.adopt(names.trace_id, names.parent_span_id)
  return trace
}

/** True for a request that was slow, or that went wrong by no fault of its caller. */
function isWorth({ settings }: Tracing, { head, history }: Exchange, { status, fault }: EndOfExchange): boolean {
  const { onError, slow } = settings
  if (slow !== undefined && head.clock.monotonic() - head.started >= slow) return true
  if (!onError) return false
  return status >= 500 || (fault !== undefined && fault.origin === 'upstream') || history.attempts.some(hasFailed)
}

/** A refusal of a request that the provider takes for wrong is no failure of the provider. */
const CALLERS: ReadonlySet<number> = new Set([400, 404, 413, 415, 422])

function hasFailed({ code, status }: NotedAttempt): boolean {
  return code !== undefined && code !== 'client_gone' && code !== 'shutdown' && !(status !== null && CALLERS.has(status))
}

/** Characters of all messages of a request; of those that are too many the last ones are kept. */
const LONGEST = 16 * 1024

/** Of a call that has answered. @param reason how the answer ended, in the words of the conventions. */
function writeContent(spans: SpanWriter, { request }: Exchange, captured: ContentCaptureTap, reason: string): void {
  if (!request) return
  const input = new Budget()
  const messages: JsonObject[] = []
  for (const item of request.canonical().items.toReversed()) {
    const message = spanMessage(item, input)
    if (message) messages.unshift(message)
    if (input.left === 0) break
  }
  spans.attribute('gen_ai.input.messages', JSON.stringify(messages))
  const parts = [...captured.blocks.values()].flatMap(partsOfAnswer)
  spans.attribute('gen_ai.output.messages', JSON.stringify([{ role: 'assistant', parts, finish_reason: reason }]))
  if (captured.cut || input.cut) spans.attribute('headgate.content.cut', true)
}

/** Characters that are left. */
class Budget {
  left = LONGEST
  cut = false

  take(text: string): string {
    if (text.length > this.left) this.cut = true
    const kept = text.slice(0, this.left)
    this.left -= kept.length
    return kept
  }
}

function spanMessage(item: Item, budget: Budget): JsonObject | undefined {
  switch (item.kind) {
    case 'message':
      return { role: item.role, parts: spanParts(item.parts, budget) }
    case 'reasoning':
      return item.text === undefined ? undefined : { role: 'assistant', parts: [{ type: 'reasoning', content: budget.take(item.text) }] }
    case 'call':
      return {
        role: 'assistant',
        parts: [{ type: 'tool_call', id: item.callId, name: item.name, arguments: budget.take(item.args) }],
      }
    case 'result':
      return { role: 'tool', parts: [{ type: 'tool_call_response', id: item.callId, response: budget.take(partsText(item.parts)) }] }
    default:
      return undefined
  }
}

function spanParts(parts: readonly Part[], budget: Budget): Json[] {
  return parts.map((part): Json => {
    if (part.kind === 'text' || part.kind === 'refusal') return { type: 'text', content: budget.take(part.text) }
    return { type: part.kind }
  })
}

const partsText = (parts: readonly Part[]): string => parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')

function partsOfAnswer({ kind, name, id, text }: CapturedBlock): JsonObject[] {
  if (kind === 'call') return [{ type: 'tool_call', id: id ?? '', name: name ?? '', arguments: text }]
  if (text === '') return []
  return [{ type: kind === 'reasoning' || kind === 'summary' ? 'reasoning' : 'text', content: text }]
}
