/** Records an exchange once it is over: the metrics, one log line, and events for operators. */

import type { AuditTrail } from '../cluster/audit-trail.ts'
import type { LiveFigures } from '../core/live-figures.ts'
import { type LogSink, stackWithoutMessage } from '../core/log.ts'
import {
  type Count,
  closed,
  counter,
  histogram,
  type Latencies,
  type MetricRegistry,
  NONE,
  OTHER,
  open,
} from '../machines/metrics/metrics.ts'
import type { ExchangeRecorder } from '../pipeline/dependencies.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { stageFindings } from '../pipeline/guard/guardrail-findings.ts'
import { policyActs } from '../pipeline/policy/decision.ts'
import type { BudgetWatch, EventSources } from '../services/events/index.ts'
import { AccessLog } from './access-log.ts'
import type { ExchangeSpans } from './traces/exchange-spans.ts'

const guardrailHits = counter(
  'guardrail_hits_total',
  'Requests in which a guardrail found something, by what it did: flagged, redacted, blocked, or unchecked where its engine did not answer.',
  { labels: [open('guardrail'), closed('action'), closed('direction')], limit: 500 },
)

const answerChecks = counter(
  'answer_checks_total',
  'Answers checked against the form that the request demanded, since the provider does not see to it. `verdict` is fits, misfit, no_json or unchecked.',
  { labels: [open('provider'), closed('verdict')], limit: 160 },
)

const policies = counter(
  'policies_total',
  'Requests on which a policy has acted. `outcome` is applied, or failed where its condition could not be evaluated.',
  { labels: [open('policy'), closed('outcome')], limit: 100 },
)

interface Recorders {
  /** Takes what guardrails found, without waiting for anything. */
  readonly audit?: Pick<AuditTrail, 'note'>
  readonly spans?: Pick<ExchangeSpans, 'record' | 'telemetry'>
  /** Counts what an operator watches. */
  readonly live?: Pick<LiveFigures, 'count'>
}

export function createRecorder(metrics: MetricRegistry, logs: LogSink, { audit, live, spans }: Recorders = {}): ExchangeRecorder {
  const exchanges = new ExchangeMetrics(metrics)
  const access = new AccessLog(logs)
  return (exchange, end) => {
    const { status, fault, lane } = end
    const { head, run, auth, request } = exchange
    const { clock, costs } = head
    const { final, client: dialect } = run
    const client = dialect.id
    const now = clock.now()
    const elapsed = clock.monotonic() - head.started
    const endpoint = run.committedEndpoint
    const usage = final?.usage
    const firstEvent = run.firstContentAt === 0 ? -1 : run.firstContentAt - head.started
    const model = endpoint?.model.slug ?? (exchange.route?.models ?? exchange.demand?.models)?.[0]?.slug
    const requested = requestedName(request, model)
    const cause = fault?.code === 'internal' ? stackWithoutMessage(fault.cause) : connectionCause(exchange)
    exchanges.count({
      client,
      status,
      lane: lane ?? 'none',
      provider: endpoint?.provider.slug ?? '',
      model: endpoint?.model.slug ?? '',
      tokensIn: usage?.input ?? 0,
      tokensOut: usage?.output ?? 0,
      costNano: final?.cost ?? 0,
      firstEventMs: firstEvent,
      addedMs: costs.turns.length > 0 ? Math.max(0, elapsed - run.upstreamMs) : -1,
    })
    const seen = {
      status,
      failed: status >= 500 || (status < 400 && fault !== undefined && fault.code !== 'client_gone'),
      provider: (endpoint ?? exchange.history.attempts.at(-1)?.at)?.provider.slug ?? '',
      tokensIn: usage?.input ?? 0,
      tokensOut: usage?.output ?? 0,
      costNano: final?.cost ?? 0,
      elapsedMs: elapsed,
      firstEventMs: firstEvent,
    }
    live?.count(seen, now)
    if (exchange.history.stages.length > 0) {
      const findings = stageFindings(exchange.history.stages)
      for (const { guardrail, action, direction } of findings) metrics.of(guardrailHits).series(guardrail, action, direction).add()
      for (const { name, outcome } of policyActs(exchange.history.stages)) metrics.of(policies).series(name, outcome).add()
      if (findings.length > 0) {
        const where = { at: Math.floor(now), generation: head.id, key: auth?.key.identity ?? '' }
        audit?.note(findings.map((finding) => ({ ...where, ...finding })))
      }
    }
    const check = exchange.history.attempts.at(-1)?.answerCheck?.verdict
    if (check)
      metrics
        .of(answerChecks)
        .series(endpoint?.provider.slug ?? '', check)
        .add()
    if (spans && (spans.telemetry.tracing || spans.telemetry.measures)) spans.record(exchange, end)
    const { trace } = exchange.history
    const line = {
      level: fault?.code === 'internal' ? 50 : 30,
      time: now,
      gen: head.id,
      key: auth?.key.name ?? '',
      client,
      status,
      fault: fault?.code,
      model,
      requested,
      provider: endpoint?.provider.slug,
      lane,
      stream: request?.stream ?? false,
      attempts: exchange.history.attempts.length,
      ms: Math.round(elapsed),
      first_ms: firstEvent < 0 ? undefined : Math.round(firstEvent),
      answer_check: check,
      in: usage?.input,
      out: usage?.output,
      cost_nano: final?.cost,
      trace_id: trace?.traceId,
      span_id: trace?.spanId,
      cause,
      msg: 'exchange',
    }
    access.write(line, () => head.connection.address?.())
  }
}

/** Why the last connection of the exchange that failed did so, in one word: also where another endpoint then served. */
function connectionCause({ history: { attempts } }: Exchange): string | undefined {
  for (let at = attempts.length - 1; at >= 0; at--) if (attempts[at]?.cause !== undefined) return attempts[at]?.cause
  return undefined
}

/** Characters of a name that a caller chose. */
const MAX_NAME_LENGTH = 128

/** The model as the caller named it, where that is not what the line says anyway. */
function requestedName(request: Exchange['request'], model: string | undefined): string | undefined {
  const named = request?.gateway.requested ?? request?.gateway.model ?? request?.gateway.models[0]
  return named === model ? undefined : named?.slice(0, MAX_NAME_LENGTH)
}

export interface EventRecorders {
  readonly budgets: Pick<BudgetWatch, 'charged' | 'refused'>
  readonly sources: Pick<EventSources, 'accountRefused' | 'guardrailHits' | 'ledgerLoss' | 'unknownWord'>
}

/**
 * Makes events of an exchange that is over: shares and limits of budgets, hits of guardrails.
 * @param recordExchange is called first. @param refused is called where it ended with a fault.
 */
export function withEvents(
  recordExchange: ExchangeRecorder,
  { budgets, sources }: EventRecorders,
  refused: ExchangeRecorder,
): ExchangeRecorder {
  return (exchange, end) => {
    recordExchange(exchange, end)
    if (end.fault) refused(exchange, end)
    const key = exchange.auth?.key
    if (!key) return
    if (end.fault?.code === 'no_credit') budgets.refused(key)
    // Nothing was charged before a hold was taken.
    if (key.limit !== null || key.issuer !== undefined || key.budget !== undefined) budgets.charged(key)
    if (exchange.history.stages.length > 0)
      sources.guardrailHits(stageFindings(exchange.history.stages), { key: key.identity, generation: exchange.head.id })
  }
}

/** A plan is no exchange: it is logged and left out of the metrics, which count what was served. */
export function createPlanRecorder({ log }: LogSink): ExchangeRecorder {
  return (exchange, { status, fault }) => {
    const line = {
      gen: exchange.head.id,
      key: exchange.auth?.key.name ?? '',
      client: exchange.run.client.id,
      status,
      fault: fault?.code,
    }
    if (fault?.code === 'internal') log.error({ ...line, cause: stackWithoutMessage(fault.cause) }, 'plan')
    else log.info(line, 'plan')
  }
}

/** Clients and lanes that get a number of their own; the one above stands for all that come later. */
const MAX_WORDS = 16
const LANE_UNIT = MAX_WORDS + 1
const STATUS_UNIT = LANE_UNIT * LANE_UNIT

/** Status, client and lane of a request as one small integer: the cheapest key that a count can have. */
class RequestCodes {
  private readonly clients: string[] = []
  private readonly lanes: string[] = []

  code(status: number, client: string, lane: string): number {
    return status * STATUS_UNIT + wordIndex(this.clients, client) * LANE_UNIT + wordIndex(this.lanes, lane)
  }

  labels(code: number): { client: string; status: string; lane: string } {
    return {
      client: wordAt(this.clients, Math.floor(code / LANE_UNIT) % LANE_UNIT),
      status: String(Math.floor(code / STATUS_UNIT)),
      lane: wordAt(this.lanes, code % LANE_UNIT),
    }
  }
}

function wordIndex(words: string[], word: string): number {
  const found = words.indexOf(word)
  if (found >= 0) return found
  return words.length < MAX_WORDS ? words.push(word) - 1 : MAX_WORDS
}

function wordAt(words: readonly string[], index: number): string {
  const word = words[index] ?? OTHER
  return word === '' ? NONE : word
}

/** One finished exchange. `provider` and `model` are '' where none was chosen; milliseconds are -1 where there are none. */
interface ExchangeFacts {
  client: string
  status: number
  lane: string
  provider: string
  model: string
  tokensIn: number
  tokensOut: number
  costNano: number
  /** From admission to the first content event. */
  firstEventMs: number
  /** Time that the gateway itself added: all but the waiting for providers. */
  addedMs: number
}

/** Pairs of model and provider, and providers, that have series of their own. */
const MAX_ROUTES = 1_000
const MAX_PROVIDERS = 64

const BOUNDS_MS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000]
const place = [open('provider'), open('model')] as const
/** Beyond the bound only the hundred of the status is kept. */
const status = { name: 'status', shared: (value: string) => `${value[0]}00` }

const requests = counter('requests_total', 'Exchanges that ended. `status` is what the caller received.', {
  labels: [open('client'), status, open('lane'), ...place],
  limit: 3_800,
})
const tokens = counter('tokens_total', 'Tokens as charged.', { labels: [closed('direction'), ...place], limit: 2 * MAX_ROUTES })
const cost = counter('cost_usd_total', 'Charges in USD.', { labels: place, limit: MAX_ROUTES, perUnit: 1e9 })
const firstEvent = histogram('first_event_seconds', 'From admission to the first content event.', {
  labels: [open('provider')],
  limit: MAX_PROVIDERS,
  bounds: BOUNDS_MS,
  perUnit: 1000,
})
const addedLatency = histogram('added_latency_seconds', 'Time that the gateway itself added to an exchange.', {
  labels: [open('lane')],
  limit: MAX_WORDS,
  bounds: BOUNDS_MS,
  perUnit: 1000,
})

/** Everything counted for one model at one provider. */
interface Route {
  readonly model: string
  readonly provider: string
  /** By status, client and lane in one integer. */
  readonly requests: Map<number, Count>
  readonly tokensIn: Count
  readonly tokensOut: Count
  readonly cost: Count
  readonly firstEvent: Latencies
}

/** One look-up of model and provider finds all numbers of an exchange. Labels come from closed sets, never from a key or a caller's text. */
export class ExchangeMetrics {
  private readonly metrics: MetricRegistry
  private readonly codes = new RequestCodes()
  private readonly routes = new Map<string, Map<string, Route>>()
  private readonly providers = new Set<string>()
  /** By lane, of which there are few. */
  private readonly added = new Map<string, Latencies>()
  private routeCount = 0
  private lastRoute: Route

  constructor(metrics: MetricRegistry) {
    this.metrics = metrics
    this.lastRoute = this.openRoute(OTHER, OTHER)
  }

  count(facts: ExchangeFacts): void {
    let route = this.lastRoute
    if (route.model !== facts.model || route.provider !== facts.provider) {
      route = this.routes.get(facts.model)?.get(facts.provider) ?? this.newRoute(facts.model, facts.provider)
      this.lastRoute = route
    }
    const code = this.codes.code(facts.status, facts.client, facts.lane)
    const seen = route.requests.get(code) ?? this.newRequests(route, code)
    seen.add()
    route.tokensIn.add(facts.tokensIn)
    route.tokensOut.add(facts.tokensOut)
    route.cost.add(facts.costNano)
    if (facts.firstEventMs >= 0) route.firstEvent.observe(facts.firstEventMs)
    if (facts.addedMs >= 0) {
      const added = this.added.get(facts.lane) ?? this.newLane(facts.lane)
      added.observe(facts.addedMs)
    }
  }

  private newRequests(route: Route, code: number): Count {
    const counts = this.metrics.of(requests)
    const { client, status, lane } = this.codes.labels(code)
    const room = !counts.isFull
    const count = counts.named(client, status, lane, route.provider, route.model)
    if (room) route.requests.set(code, count)
    return count
  }

  private newLane(lane: string): Latencies {
    const added = this.metrics.of(addedLatency).named(lane)
    this.added.set(lane, added)
    return added
  }

  private newRoute(model: string, provider: string): Route {
    return this.openRoute(this.metrics.label('model', model), this.metrics.label('provider', provider))
  }

  private openRoute(model: string, provider: string): Route {
    const found = this.routes.get(model)?.get(provider)
    if (found) return found
    const full = this.routeCount >= MAX_ROUTES || (!this.providers.has(provider) && this.providers.size >= MAX_PROVIDERS)
    if (full) return this.openRoute(OTHER, OTHER)
    const { metrics } = this
    const route: Route = {
      model,
      provider,
      requests: new Map(),
      tokensIn: metrics.of(tokens).named('input', provider, model),
      tokensOut: metrics.of(tokens).named('output', provider, model),
      cost: metrics.of(cost).named(provider, model),
      firstEvent: metrics.of(firstEvent).named(provider),
    }
    const siblings = this.routes.get(model) ?? new Map<string, Route>()
    this.routes.set(model, siblings.set(provider, route))
    this.providers.add(provider)
    this.routeCount++
    return route
  }
}
