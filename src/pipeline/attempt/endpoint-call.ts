/**
 * One call of an endpoint: its dialect, its lane, the request as that dialect writes it; then sent, and answered as soon as the reply has
 * ended. A provider inside this process is run instead.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { Fault } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import { withPlainIds } from '../../dialects/canon/provider-ids.ts'
import { shapeBody } from '../../dialects/canon/quirks.ts'
import { accountLetters, withOwnReasoning } from '../../dialects/canon/reasoning-owner.ts'
import type { CanonicalRequest } from '../../dialects/canon/request.ts'
import { withTakenNames } from '../../dialects/canon/tool-names.ts'
import type { ClientDialect, Encoded, Target, UpstreamDialect } from '../../dialects/types.ts'
import type { Tap } from '../../plugin-api/index.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { UpstreamCall } from '../../services/upstream/call.ts'
import type { ChainDependencies } from '../dependencies.ts'
import type { Accepted, MaybePlanned, Planned } from '../exchange.ts'
import type { Reply } from '../layer.ts'
import { loweredCap, upstreamCap } from '../money/output-caps.ts'
import type { IdSigner } from '../records.ts'
import type { SentBody } from '../refusal/callers-view.ts'
import { ContentCaptureTap } from '../reply/content-capture-tap.ts'
import { beginTurn } from '../reply/event-path.ts'
import { ObserveRelay, TranslateRelay } from '../reply/relays.ts'
import { ReplyStream } from '../reply/reply-stream.ts'
import { noteForSettlement } from '../request/client-request.ts'
import { takesClientTools } from '../route/dialect-ability.ts'
import { needsMedia, withMedia } from '../route/media-fetch.ts'
import { addCredential, callPath, forwardedTrace, inVersion, providerAddress } from '../route/provider-address.ts'
import { AnswerCheck, type Demands, demandsLost } from './answer-check.ts'
import { nameVersion } from './api-version.ts'
import { repeatedBeginning } from './given-beginning.ts'
import { runLocal } from './local-run.ts'
import { marking, PassRelay } from './pass-relay.ts'
import type { Relay } from './relay.ts'
import { StreamAttempt } from './stream-attempt.ts'
import { isEventStream, streamCheck } from './stream-head.ts'
import type { Lane } from './turn.ts'
import { AnswerOrError, isSuccess } from './upstream-attempt.ts'
import { readWhole, WholeAttempt } from './whole-attempt.ts'

export interface EndpointCall {
  exchange: Planned
  endpoint: Endpoint
  dialect: UpstreamDialect
  target: Target
  lane: Lane
  /** The endpoint takes a lower output cap than the caller's own. */
  lowersCap: boolean
  /** Stop sequences that the gateway looks for itself, since the endpoint does not take them. */
  stops: readonly string[] | undefined
  /** Text that a whole reply repeats. */
  beginning: string | undefined
  /** Taps that only read. */
  observers: readonly Tap[]
}

export function callEndpoint(exchange: Planned, endpoint: Endpoint, dependencies: ChainDependencies): Promise<Reply> {
  const { call, encoded } = buildCall(exchange, endpoint, dependencies)
  const { dialect } = call
  const record = exchange.history.attempts.at(-1)
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

/** Builds the call of this endpoint, with its request as the endpoint's dialect writes it; sends nothing. */
export function buildCall(
  exchange: Planned,
  endpoint: Endpoint,
  dependencies: Pick<ChainDependencies, 'upstreams' | 'forcedLane'> & Refused,
): { call: EndpointCall; encoded: Encoded } {
  const dialect = endpointDialect(endpoint, dependencies)
  const lowered = exchange.request.need.cap === undefined ? undefined : loweredCap(exchange, endpoint)
  const target = buildTarget(exchange, endpoint, dialect, lowered)
  if (exchange.auth.key.captureContent && exchange.history.trace?.sampled && exchange.head.depth === 0)
    exchange.run.captured ??= new ContentCaptureTap()
  const stops = stopsHere(exchange, dialect, target)
  const beginning = target.quirks.prefill === undefined ? undefined : repeatedBeginning(exchange, target)
  const lane = stops || beginning ? 'translate' : pickLane(exchange, dialect, target, dependencies.forcedLane)
  const reading = exchange.run.taps.length > 0 ? exchange.run.taps.filter((tap) => tap.mode === 'observe') : NONE
  const { captured } = exchange.run
  // In the translate lane it stands behind the guardrails.
  const observers = captured && lane === 'observe' ? [...reading, captured] : reading
  const call = { exchange, endpoint, dialect, target, lane, lowersCap: lowered !== undefined, stops, beginning, observers }
  const encoded = encode(call, dependencies)
  const demands = encoded.dropped.length > 0 || encoded.looseFormat ? demandsLost(encoded, () => exchange.request.canonical()) : undefined
  return { call: demands ? checked(call, demands) : call, encoded }
}

const NONE: readonly Tap[] = []

function endpointDialect({ provider }: Endpoint, { upstreams }: Pick<ChainDependencies, 'upstreams'>): UpstreamDialect {
  const dialect = upstreams.get(provider.dialect)
  if (!dialect) throw new Fault('internal', { cause: new Error(`no dialect ${provider.dialect}`) })
  return dialect
}

/** The same call, with its answer read along: the request is the same in both lanes. */
function checked(call: EndpointCall, demands: Demands): EndpointCall {
  const { history } = call.exchange
  const check = new AnswerCheck(demands, (verdict) => {
    const record = history.attempts.at(-1)
    if (record) record.answerCheck = verdict
  })
  return { ...call, lane: call.lane === 'pass' ? 'observe' : call.lane, observers: [...call.observers, check] }
}

/** Stop sequences that do not reach the provider: its format has no field for them, the endpoint does not take it, or not so many. */
function stopsHere({ request }: Planned, { parameters, run, mostStops }: UpstreamDialect, target: Target): string[] | undefined {
  const { supported, quirks } = target
  const { body } = request
  if (!request.edited && body.stop === undefined && body.stop_sequences === undefined) return undefined
  const isSent = 'as' in parameters.stop && supported?.has('stop') !== false && quirks.body?.drop?.includes('stop') !== true
  if (run) return undefined
  const most = isSent ? (quirks.most_stops ?? mostStops) : 0
  if (most === undefined) return undefined
  const sequences = request.canonical().sampling.stop?.filter((sequence) => sequence !== '')
  return sequences && sequences.length > most ? sequences : undefined
}

/** @param lowered the cap of the endpoint where it is below the caller's own. */
export function buildTarget(
  exchange: Accepted & MaybePlanned,
  endpoint: Endpoint,
  dialect: UpstreamDialect,
  lowered: number | undefined,
): Target {
  const quirks = endpoint.quirks ?? endpoint.provider.quirks
  return {
    model: endpoint.upstreamModel,
    stream: exchange.request.stream,
    outputCap:
      (exchange.plan?.outputCaps && upstreamCap(exchange, endpoint)) ??
      (lowered !== undefined && dialect.cap.sends({ quirks, supported: endpoint.supported }, false) ? lowered : undefined),
    tier: endpoint.tier,
    supported: endpoint.supported,
    quirks,
    user: endpoint.provider.user,
    maxOutput: endpoint.maxOutput,
    account: dialect.bindsReasoning?.(quirks) ? accountLetters(endpoint.provider) : undefined,
    withoutReasoning: exchange.run.withoutReasoning?.has(endpoint.id),
    conversation: exchange.request.gateway.sessionId,
    betas: headerBetas(exchange.head.headers),
    limited: exchange.plan?.outputCaps !== undefined,
    toolCalls: exchange.request.gateway.maxToolCalls,
  }
}

/** Features of a provider that the caller requests by header. */
function headerBetas(headers: IncomingHttpHeaders): string | undefined {
  const betas = headers['anthropic-beta'] ?? headers['x-anthropic-beta']
  return Array.isArray(betas) ? betas.join(',') : betas
}

function pickLane(exchange: Planned, dialect: UpstreamDialect, target: Target, forced: Lane | undefined): Lane {
  const { pass } = dialect
  return chooseLane({
    sameWire: pass?.client === exchange.request.client.id,
    edited: exchange.request.edited || (exchange.request.mayHoldMedia && needsMedia(exchange, target.quirks)),
    mutated:
      exchange.run.toolNames !== undefined ||
      exchange.guard.answers !== undefined ||
      exchange.run.taps.some((tap) => tap.mode === 'mutate'),
    observed: exchange.run.taps.length > 0 || exchange.run.captured !== undefined,
    reshaped:
      exchange.request.client.demands?.(exchange.head.headers) === true ||
      target.withoutReasoning === true ||
      (pass !== undefined && !pass.admits(exchange.request.body, target)),
    forced,
  })
}

/** Parts of requests that endpoints have refused of late. */
type Refused = Pick<ChainDependencies, 'refusedEfforts' | 'refusedOptions'>

function encode({ exchange, endpoint, dialect, lane, target, lowersCap, stops }: EndpointCall, refused: Refused): Encoded {
  const encoded =
    lane !== 'translate' && dialect.pass
      ? dialect.pass.request(exchange.request.body, target)
      : encodeCanonical(withMedia(exchange, target.quirks), target, (request) =>
          encodeFlat(exchange.request.client, dialect, request, target),
        )
  if (target.quirks.body) shapeBody(encoded.body, target.quirks)
  if (exchange.request.client.versions) nameVersion(exchange, dialect, encoded)
  // Of earlier turns of the same exchange.
  if (exchange.run.signer) encoded.body = withPlainIds(encoded.body)
  if (lowersCap && !encoded.dropped.includes('max_tokens')) encoded.dropped.push('max_tokens')
  refused.refusedOptions.fit(encoded.body, endpoint.id)
  refused.refusedEfforts.fit(encoded, exchange.run, {
    endpoint: endpoint.id,
    parameters: dialect.parameters,
    efforts: target.quirks.efforts,
  })
  // Nothing is lost: the answer is cut here.
  if (stops) encoded.dropped = encoded.dropped.filter((name) => name !== 'stop')
  return encoded
}

/** Encodes the request with functions in place of tools that only the caller's format has, where the provider does not know them. */
function encodeFlat(client: ClientDialect, dialect: UpstreamDialect, request: CanonicalRequest, target: Target): Encoded {
  const flat = takesClientTools(client, dialect, target.quirks) ? undefined : client.clientTools?.flatten(request)
  if (!flat) return encodeNamed(dialect, request, target)
  const encoded = encodeNamed(dialect, flat.request, target)
  const dropped = [...new Set([...encoded.dropped, ...flat.dropped])]
  return flat.own.size === 0 ? { ...encoded, dropped } : { ...encoded, dropped, toolNames: { ...encoded.toolNames, own: flat.own } }
}

/** Encodes the request with names of tools that the provider takes. */
function encodeNamed(dialect: UpstreamDialect, request: CanonicalRequest, target: Target): Encoded {
  const renamed = dialect.toolNames && withTakenNames(request, dialect.toolNames)
  if (!renamed) return dialect.encodeRequest(request, target)
  return { ...dialect.encodeRequest(renamed.request, target), toolNames: { renamed: renamed.names } }
}

/** Encodes the request with the reasoning that the endpoint's own account made. */
export function encodeCanonical(
  request: CanonicalRequest,
  { account, withoutReasoning }: Target,
  encode: (request: CanonicalRequest) => Encoded,
): Encoded {
  const lost = new Set<string>()
  const encoded = encode(withOwnReasoning(request, { account, takesReasoning: withoutReasoning !== true }, lost))
  for (const name of lost) if (!encoded.dropped.includes(name)) encoded.dropped.push(name)
  return encoded
}

/** Rebuilds the body that an endpoint was sent, with the names of its fields. */
export function bodyFor(
  exchange: Planned,
  endpoint: Endpoint,
  dependencies: Pick<ChainDependencies, 'upstreams' | 'forcedLane'> & Refused,
): SentBody {
  const dialect = endpointDialect(endpoint, dependencies)
  const { rename = {} } = (endpoint.quirks ?? endpoint.provider.quirks).body ?? {}
  return {
    body: () => buildCall(exchange, endpoint, dependencies).encoded.body,
    naming: { client: exchange.request.client.fields, upstream: dialect.fields, rename },
  }
}

interface LaneFacts {
  /** Client and upstream speak the same wire. */
  sameWire: boolean
  /** A layer changed the canonical form. */
  edited: boolean
  /** Server tools, healing or output guardrails replace or withhold events. */
  mutated: boolean
  /** A tap reads the events. */
  observed: boolean
  /** The caller wants less than the provider sends, such as a reply without its reasoning. */
  reshaped: boolean
  /** Chosen by a test for the lanes that the facts allow. */
  forced?: Lane | undefined
}

/** Which lane a reply travels in: chosen once per attempt by this one function, never switched. */
function chooseLane(facts: LaneFacts): Lane {
  const verbatim = facts.sameWire && !facts.edited && !facts.mutated && !facts.reshaped
  if (!verbatim) return 'translate'
  if (facts.forced === 'translate' || facts.forced === 'observe') return facts.forced
  return facts.observed ? 'observe' : 'pass'
}

function streamed(call: EndpointCall, encoded: Encoded, dependencies: ChainDependencies): Promise<Reply> {
  const { exchange, endpoint, dialect, lane } = call
  const attempt = new StreamAttempt(exchange, {
    endpoint,
    lane,
    relay: relayFor(call, encoded),
    cap: dialect.cap.written(encoded.body),
    drains: dependencies.drains,
    health: dependencies.health,
  })
  send(attempt, call, encoded, dependencies)
  return attempt.done
}

function relayFor({ exchange, endpoint, dialect, lane, stops, observers, target }: EndpointCall, sent: Encoded): Relay {
  const { account, quirks } = target
  const sign = exchange.run.signer && signerAt(exchange.run.signer, endpoint)
  const { framing } = dialect
  if (lane === 'translate' || !dialect.pass) {
    const names = { sent: sent.toolNames, ours: exchange.run.toolNames }
    const translation = { observers, account, sign, stops, framing, names }
    return new TranslateRelay(exchange.run.path ?? beginTurn(exchange), dialect.streamDecoder(quirks, sent), translation)
  }
  const stream = dialect.pass.stream(exchange.run.ctx, quirks)
  const mark = account === undefined && sign === undefined ? undefined : marking(dialect.pass, account, sign)
  if (lane === 'pass') return new PassRelay(stream, mark)
  return new ObserveRelay(stream, dialect.streamDecoder(quirks), { observers, mark, framing })
}

function signerAt(signer: IdSigner, { provider }: Endpoint): (id: string) => string {
  return (id) => signer(id, provider)
}

function whole(call: EndpointCall, encoded: Encoded, dependencies: ChainDependencies): Promise<Reply> {
  const { exchange, endpoint, dialect, lane } = call
  // Not the whole of it: its body would live as long as the reply.
  const { toolNames, cited, echoesSearch } = encoded
  const attempt = new WholeAttempt(exchange, {
    endpoint,
    lane,
    cap: dialect.cap.written(encoded.body),
    drains: dependencies.drains,
    health: dependencies.health,
    decodeFault: (status, body) => dialect.decodeFault(status, body),
    read: (body) =>
      readWhole(
        { ...call, sign: exchange.run.signer && signerAt(exchange.run.signer, endpoint) },
        { toolNames, cited, echoesSearch },
        body,
      ),
  })
  send(attempt, call, encoded, dependencies)
  return attempt.done
}

/** Address at which an endpoint is called, and the path for one operation of its dialect. */
interface Way {
  readonly address: ReturnType<typeof providerAddress>
  readonly operation: string
  readonly path: string
}

/** The last way to each endpoint: nearly always its next one, too. */
const ways = new WeakMap<Endpoint, Way>()

function wayTo(endpoint: Endpoint, dialect: UpstreamDialect, operation: string): Way {
  const last = ways.get(endpoint)
  if (last?.operation === operation) return last
  const address = last?.address ?? providerAddress(endpoint.provider, dialect)
  const way = { address, operation, path: callPath(address, endpoint.provider, { path: operation, model: endpoint.upstreamModel }) }
  ways.set(endpoint, way)
  return way
}

function send(attempt: StreamAttempt | WholeAttempt, call: EndpointCall, encoded: Encoded, dependencies: ChainDependencies): void {
  const { exchange, endpoint, dialect } = call
  const { provider } = endpoint
  const { address, path } = wayTo(endpoint, dialect, encoded.path)
  const usual = exchange.request.stream ? address.streamHeaders : address.headers
  const headers = encoded.version === undefined ? usual : inVersion(usual, encoded.version, { provider, dialect })
  const pool = dependencies.pools.for(address)
  // Code that may throw runs before the call exists: otherwise the call's timers would fail an attempt that is not awaited.
  const request = {
    path,
    headers: encoded.headers
      ? [...headers, 'x-client-request-id', exchange.head.id, ...encoded.headers]
      : [...headers, 'x-client-request-id', exchange.head.id],
    body: exchange.request.payload.write(encoded.body, call.lane === 'translate'),
  }
  if (provider.traceContext !== 'none') request.headers.push(...forwardedTrace(exchange, provider.traceContext))
  if (endpoint.credential) {
    const credential = exchange.run.credential ?? endpoint.credential
    addCredential(credential, { provider, dialect }, request)
  }
  const reply = new AnswerOrError(attempt, {
    clock: exchange.head.clock,
    dialect,
    accepts: exchange.request.stream ? (dialect.framing ? streamCheck(dialect.framing) : isEventStream) : isSuccess,
    history: exchange.history,
  })
  const upstream = new UpstreamCall(reply, exchange.head.clock, exchange.request.stream ? provider.timeouts : address.timeouts)
  attempt.flow = upstream
  upstream.send(pool, request, exchange.run.connectAnew)
  if (exchange.request.payload.source) release(exchange)
}

/** The parsed body takes several times the memory of its bytes. A turn that may go on with the conversation keeps it. */
function release(exchange: Planned): void {
  const { request, run } = exchange
  if (run.toolNames !== undefined || run.mayPause) {
    request.payload.keepParsed()
    return
  }
  noteForSettlement(exchange)
  request.release()
  const ctx = run.ctx as { body: JsonObject }
  ctx.body = request.payload.sent
}
