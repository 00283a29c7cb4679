/** One upstream call: encode, send, and return the reply as soon as it has ended. A provider inside this process is run instead. */
import type { IncomingHttpHeaders } from 'node:http'
import { asFault } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import type { StreamEvent } from '../../dialects/canon/events.ts'
import { markEvents, markText } from '../../dialects/canon/reasoning-owner.ts'
import { restoreNames, type SentNames } from '../../dialects/canon/tool-names.ts'
import { countsOutput } from '../../dialects/canon/usage.ts'
import type { Encoded, Final, LocalRun, LocalSink, PassWire, StreamDecoder } from '../../dialects/types.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { UpstreamCall } from '../../services/upstream/call.ts'
import type { ChainDependencies } from '../dependencies.ts'
import type { Planned } from '../exchange.ts'
import type { Reply } from '../layer.ts'
import { EventRelay, finishAll, ObserveRelay, TranslateRelay } from '../reply/relays.ts'
import { PassRelay, type Relay, ReplyStream } from '../reply/reply-stream.ts'
import { StopCutter } from '../reply/stop-cutter.ts'
import { inputModalities, offersTools } from '../route/needs.ts'
import { callPath, credentialHeaders, providerAddress, traceOf } from '../route/provider-address.ts'
import { beginTurn, callOf, type EndpointCall } from './endpoint-call.ts'
import { StreamAttempt } from './stream-attempt.ts'
import { AnswerOrError, isSuccess } from './upstream-attempt.ts'
import { contentBytes, translated, WholeAttempt, type WholeResult } from './whole-attempt.ts'

export function callEndpoint(exchange: Planned, endpoint: Endpoint, dependencies: ChainDependencies): Promise<Reply> {
  const { call, encoded } = callOf(exchange, endpoint, dependencies)
  const { dialect } = call
  const record = exchange.trail.attempts.at(-1)
  if (record && encoded.dropped.length > 0) record.dropped = encoded.dropped
  exchange.run.ctx.model = endpoint.model.slug
  exchange.run.ctx.provider = endpoint.provider.name
  if (exchange.request.stream) {
    exchange.run.reply ??= new ReplyStream(exchange)
    exchange.run.reply.prepare(exchange.request.gateway.echoUpstreamBody ? encoded.body : undefined)
  }
  if (call.lane === 'translate') beginTurn(exchange)
  if (dialect.run) return runLocal(call, encoded, dependencies)
  return exchange.request.stream ? streamed(call, encoded, dependencies) : whole(call, encoded, dependencies)
}

function streamed(call: EndpointCall, encoded: Encoded, dependencies: ChainDependencies): Promise<Reply> {
  const { exchange, endpoint, dialect, lane } = call
  const attempt = new StreamAttempt(exchange, {
    endpoint,
    lane,
    cap: dialect.cap.written(encoded.body),
    relay: relayFor(call, encoded),
    drains: dependencies.drains,
    health: dependencies.health,
  })
  send(attempt, call, encoded, dependencies)
  return attempt.done
}

function relayFor({ exchange, dialect, lane, stops, observers, target }: EndpointCall, { toolNames }: Encoded): Relay {
  const { account, quirks } = target
  const { framing } = dialect
  if (lane === 'translate' || !dialect.pass) {
    const decoder = named(dialect.streamDecoder(quirks), toolNames)
    return new TranslateRelay(exchange.run.path ?? beginTurn(exchange), decoder, { observers, account, stops, framing })
  }
  const stream = dialect.pass.stream(exchange.run.ctx)
  const mark = marking(dialect.pass, account)
  if (lane === 'pass') return new PassRelay(stream, mark)
  return new ObserveRelay(stream, dialect.streamDecoder(quirks), { observers, mark, framing })
}

/** Marks what the provider signed or encrypted with its account; undefined where it is bound to none. */
function marking({ signed }: PassWire, account: string | undefined): ((text: string) => string) | undefined {
  return account === undefined ? undefined : (text) => markText(text, signed, account)
}

/** A decoder whose calls have the caller's names. */
function named(decoder: StreamDecoder, names: SentNames | undefined): StreamDecoder {
  if (!names) return decoder
  const restoring = (decode: (out: StreamEvent[]) => void, out: StreamEvent[]): void => {
    const from = out.length
    decode(out)
    restoreNames(out, names, from)
  }
  return {
    feed: (data, event, out) => restoring((events) => decoder.feed(data, event, events), out),
    end: (out) => restoring((events) => decoder.end(events), out),
  }
}

function whole(call: EndpointCall, encoded: Encoded, dependencies: ChainDependencies): Promise<Reply> {
  const { exchange, endpoint, dialect, lane } = call
  // Not the whole of it: its body would live as long as the reply.
  const { toolNames } = encoded
  const attempt = new WholeAttempt(exchange, {
    endpoint,
    lane,
    cap: dialect.cap.written(encoded.body),
    drains: dependencies.drains,
    health: dependencies.health,
    decodeFault: (status, body) => dialect.decodeFault(status, body),
    read: (body) => readWhole(call, toolNames, body),
  })
  send(attempt, call, encoded, dependencies)
  return attempt.done
}

function readWhole(
  { exchange, dialect, lane, stops, observers, target: { account, quirks } }: EndpointCall,
  toolNames: SentNames | undefined,
  body: JsonObject,
): WholeResult {
  let events: StreamEvent[] = []
  if (lane !== 'pass') {
    dialect.decodeResult(body, events, quirks)
    if (toolNames) restoreNames(events, toolNames)
    if (account !== undefined) markEvents(events, account)
    if (stops) events = new StopCutter(stops).push(events)
    for (const tap of observers) for (const event of events) tap.push(event, () => {})
    finishAll(observers)
  }
  if (lane !== 'translate' && dialect.pass) {
    const result = dialect.pass.result(body, exchange.run.ctx)
    const mark = marking(dialect.pass, account)
    const finish = (final: Final): string => (mark ? mark(result.finish(final)) : result.finish(final))
    const { usage, end, fault } = result
    if (countsOutput(usage) || fault) return { usage, end, fault, finish }
    if (lane === 'pass') dialect.decodeResult(body, events, quirks)
    return { usage, end, content: contentBytes(events), finish }
  }
  return translated(events, exchange.run.path ?? beginTurn(exchange))
}

function send(attempt: StreamAttempt | WholeAttempt, call: EndpointCall, encoded: Encoded, dependencies: ChainDependencies): void {
  const { exchange, endpoint, dialect } = call
  const { provider } = endpoint
  const address = providerAddress(provider, dialect)
  const headers = exchange.request.stream ? address.streamHeaders : address.headers
  const pool = dependencies.pools.for(address)
  // Code that may throw runs before the call exists: otherwise the call's timers would fail an attempt that is not awaited.
  const request = {
    path: callPath(address, provider, { path: encoded.path, model: endpoint.upstreamModel }),
    headers: encoded.headers
      ? [...headers, 'x-client-request-id', exchange.head.id, ...encoded.headers]
      : [...headers, 'x-client-request-id', exchange.head.id],
    body: bodyText(call, encoded.body),
  }
  if (provider.traceContext !== 'none') request.headers.push(...traceOf(exchange, provider.traceContext))
  if (endpoint.credential) {
    const credential = exchange.run.credential ?? endpoint.credential
    request.headers.push(...credentialHeaders(credential, { provider, dialect }, request))
  }
  const reply = new AnswerOrError(attempt, {
    clock: exchange.head.clock,
    decode: (status, body, head) => dialect.decodeFault(status, body, head),
    accepts: exchange.request.stream ? (status, head) => isStream(status, head, dialect.framing?.type) : isSuccess,
    trail: exchange.trail,
  })
  const upstream = new UpstreamCall(reply, exchange.head.clock, exchange.request.stream ? provider.timeouts : address.timeouts)
  attempt.flow = upstream
  upstream.send(pool, request)
  if (exchange.request.source) letGo(exchange)
}

/** The parsed body takes several times the memory of its bytes. A turn that may go on with the conversation keeps it. */
function letGo(exchange: Planned): void {
  const { request, run } = exchange
  if (run.toolNames !== undefined || run.mayPause) {
    request.source = undefined
    return
  }
  // The settlement writes both down, and everything else that it needs has been noted for the hold.
  offersTools(exchange)
  inputModalities(exchange)
  request.letGo()
  if (run.ctx.body === request.sent) return
  const ctx = run.ctx as { body: JsonObject }
  ctx.body = request.sent
}

/** What the caller sent goes on in its own bytes: members where its format is the provider's, long texts where it is not. */
function bodyText({ exchange, lane }: EndpointCall, body: JsonObject): string | Buffer {
  const { source } = exchange.request
  const bytes = lane === 'translate' ? source?.rewrite(body) : source?.write(body)
  return bytes ?? JSON.stringify(body)
}

function isStream(status: number, headers: IncomingHttpHeaders, type = 'text/event-stream'): boolean {
  return status >= 200 && status <= 299 && headers['content-type']?.toLowerCase().startsWith(type) === true
}

/** Fails the attempt where taps and encoders throw: a provider inside this process would not catch it. */
function guarded(attempt: Pick<StreamAttempt | WholeAttempt, 'fail'>): (step: () => void) => void {
  return (step) => {
    try {
      step()
    } catch (thrown) {
      attempt.fail(asFault(thrown))
    }
  }
}

function runLocal(call: EndpointCall, encoded: Encoded, dependencies: ChainDependencies): Promise<Reply> {
  const { exchange, endpoint, dialect, target, observers } = call
  const path = exchange.run.path ?? beginTurn(exchange)
  const cap = dialect.cap.written(encoded.body)
  const decodeFault = dialect.decodeFault.bind(dialect)
  const show = (batch: readonly StreamEvent[]): void => {
    for (const tap of observers) for (const event of batch) tap.push(event, () => {})
  }
  if (!exchange.request.stream) {
    const attempt = new WholeAttempt(exchange, {
      endpoint,
      lane: 'translate',
      cap,
      drains: dependencies.drains,
      health: dependencies.health,
      decodeFault,
      read: () => translated([], path),
    })
    const events: StreamEvent[] = []
    const take = guarded(attempt)
    start(attempt, {
      events: (batch) =>
        take(() => {
          show(batch)
          for (const event of batch) events.push(event)
        }),
      fail: (fault) => attempt.fail(fault),
      end: () =>
        take(() => {
          finishAll(observers)
          attempt.complete(translated(events, path))
        }),
    })
    return attempt.done
  }
  const relay = new EventRelay(path)
  const attempt = new StreamAttempt(exchange, {
    endpoint,
    lane: 'translate',
    cap,
    relay,
    drains: dependencies.drains,
    health: dependencies.health,
  })
  const take = guarded(attempt)
  start(attempt, {
    events: (batch) =>
      take(() => {
        show(batch)
        attempt.relay(relay.take(batch))
      }),
    fail: (fault) => attempt.fail(fault),
    end: () => {
      take(() => finishAll(observers))
      attempt.end()
    },
  })
  return attempt.done

  function start(attempt: StreamAttempt | WholeAttempt, sink: LocalSink): void {
    // The run may answer at once: its events before its handle exists must still reach the attempt.
    const run: LocalRun | undefined = dialect.run?.(exchange.request.canonical(), target, exchange.head.clock, sink)
    attempt.flow = run
  }
}
