/**
 * Metrics of the process: cheap tallies on the request path, written out by prom-client when somebody asks.
 * Labels come from closed sets (catalogue, dialects, lanes, statuses), never from a key or a caller's text.
 */
import { Counter, Gauge, Registry } from 'prom-client'
import { LatencyHistogram, LatencyTally } from './latency-histogram.ts'
import type { MetricSnapshot } from './merged-metrics.ts'
import { ProcessGauges } from './process-gauges.ts'
import { NONE, OTHER, RequestCodes } from './request-codes.ts'

/** One finished exchange. `provider` and `model` are '' where none was chosen; milliseconds are -1 where there are none. */
export interface ExchangeFacts {
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
  /** What the gateway itself added: all but the waiting for providers. */
  addedMs: number
}

export interface KnownLabels {
  readonly models: ReadonlySet<string>
  readonly providers: ReadonlySet<string>
}

/** Bounds that together keep a scrape under 10,000 series. */
const MAX_ROUTES = 1_000
const MAX_REQUEST_SERIES = 4_000
const MAX_PROVIDERS = 64
const MAX_ATTEMPT_SERIES = 500
const MAX_GUARDRAILS = 200

/** Everything counted for one model at one provider. */
interface Route {
  readonly model: string
  readonly provider: string
  /** By status, client and lane in one integer. */
  readonly requests: Map<number, number>
  readonly firstEvent: LatencyTally
  tokensIn: number
  tokensOut: number
  costNano: number
}

export class Metrics {
  private known: KnownLabels | undefined
  private readonly registry = new Registry()
  private readonly routes = new Map<string, Map<string, Route>>()
  private readonly codes = new RequestCodes()
  private readonly firstEvents = new Map<string, LatencyTally>()
  private readonly added: (LatencyTally | undefined)[] = []
  private readonly attempts = new Map<string, Map<string, number>>()
  private readonly guardrails = new Map<string, Map<string, number>>()
  private readonly process: ProcessGauges
  private routeCount = 0
  private requestSeries = 0
  private attemptSeries = 0
  private streams = 0
  /** True while this process counts for itself although others serve the same keys. */
  redisUnavailable: () => boolean = () => false
  /** How many long request bodies have arrived and wait for their turn. */
  bodiesWaiting: () => number = () => 0
  /** Findings that were not written down. */
  auditDropped: () => number = () => 0
  private shedCount = 0
  private unrecoveredNano = 0
  private reloadsDone = 0
  private reloadsFailed = 0
  private lastRoute: Route

  /** @param known names that may become labels; without it every name may, within the bounds. */
  constructor(known?: KnownLabels) {
    this.known = known
    this.lastRoute = this.openRoute(OTHER, OTHER)
    this.process = new ProcessGauges(this.registry)
    this.declareExchanges()
    this.declareOperations()
  }

  /** The catalogue after a reload. What was counted before stays. */
  know(known: KnownLabels): void {
    this.known = known
  }

  exchange(facts: ExchangeFacts): void {
    let route = this.lastRoute
    if (route.model !== facts.model || route.provider !== facts.provider) {
      route = this.routes.get(facts.model)?.get(facts.provider) ?? this.newRoute(facts.model, facts.provider)
      this.lastRoute = route
    }
    const lane = this.codes.lane(facts.lane)
    this.countRequest(route, this.codes.code(facts.status, facts.client, lane))
    route.tokensIn += facts.tokensIn
    route.tokensOut += facts.tokensOut
    route.costNano += facts.costNano
    if (facts.firstEventMs >= 0) route.firstEvent.observe(facts.firstEventMs)
    if (facts.addedMs >= 0) {
      let added = this.added[lane]
      if (added === undefined) {
        added = new LatencyTally()
        this.added[lane] = added
      }
      added.observe(facts.addedMs)
    }
  }

  /** One upstream call. `outcome` is `ok` or a fault's code. */
  attempt(facts: { provider: string; outcome: string }): void {
    const byOutcome = this.attempts.get(facts.provider)
    const seen = byOutcome?.get(facts.outcome)
    if (byOutcome !== undefined && seen !== undefined) byOutcome.set(facts.outcome, seen + 1)
    else this.newAttempt(facts.provider, facts.outcome)
  }

  streamOpened(): void {
    this.streams++
  }

  streamClosed(): void {
    this.streams--
  }

  /**
   * A guardrail has found something.
   * @param found with its id: a name of the configuration, or that of the store. `action` is `flagged`, `redacted`, `blocked` or
   *   `unchecked`.
   */
  guardrail({ guardrail, action, direction }: { guardrail: string; action: string; direction: string }): void {
    const label = this.guardrails.has(guardrail) || this.guardrails.size < MAX_GUARDRAILS ? guardrail : OTHER
    const counts = this.guardrails.get(label) ?? new Map<string, number>()
    const what = `${direction} ${action}`
    this.guardrails.set(label, counts.set(what, (counts.get(what) ?? 0) + 1))
  }

  /** A request refused because we had too much to do. */
  shed(): void {
    this.shedCount++
  }

  /** Usage that no allowance of its key could pay. @param nano nano-dollars. */
  unrecovered(nano: number): void {
    this.unrecoveredNano += nano
  }

  reload(ok: boolean): void {
    if (ok) this.reloadsDone++
    else this.reloadsFailed++
  }

  /** The Prometheus text exposition, format 0.0.4. */
  text(): Promise<string> {
    return this.registry.metrics()
  }

  get contentType(): string {
    return this.registry.contentType
  }

  /** The same as plain data, for a process that shows several together. */
  async snapshot(): Promise<MetricSnapshot[]> {
    return (await this.registry.getMetricsAsJSON()) as unknown as MetricSnapshot[]
  }

  close(): void {
    this.process.close()
    this.registry.clear()
  }

  private countRequest(route: Route, code: number): void {
    const seen = route.requests.get(code)
    if (seen !== undefined) route.requests.set(code, seen + 1)
    else if (this.requestSeries < MAX_REQUEST_SERIES) {
      this.requestSeries++
      route.requests.set(code, 1)
    } else {
      // Of a combination that came too late only the hundred of the status is kept, under the overflow label.
      const other = this.openRoute(OTHER, OTHER)
      const rough = this.codes.rough(code)
      other.requests.set(rough, (other.requests.get(rough) ?? 0) + 1)
    }
  }

  private newRoute(model: string, provider: string): Route {
    return this.openRoute(this.label(model, this.known?.models), this.label(provider, this.known?.providers))
  }

  private label(name: string, known: ReadonlySet<string> | undefined): string {
    if (name === '') return NONE
    return known === undefined || known.has(name) ? name : OTHER
  }

  private openRoute(model: string, provider: string): Route {
    const found = this.routes.get(model)?.get(provider)
    if (found) return found
    const full = this.routeCount >= MAX_ROUTES || (!this.firstEvents.has(provider) && this.firstEvents.size >= MAX_PROVIDERS)
    if (full) return this.openRoute(OTHER, OTHER)
    const firstEvent = this.firstEvents.get(provider) ?? new LatencyTally()
    this.firstEvents.set(provider, firstEvent)
    const route: Route = { model, provider, requests: new Map(), firstEvent, tokensIn: 0, tokensOut: 0, costNano: 0 }
    const siblings = this.routes.get(model) ?? new Map<string, Route>()
    this.routes.set(model, siblings.set(provider, route))
    this.routeCount++
    return route
  }

  private newAttempt(provider: string, outcome: string): void {
    const allowed = this.label(provider, this.known?.providers)
    const room = this.attemptSeries < MAX_ATTEMPT_SERIES
    const name = room ? allowed : OTHER
    const word = room ? outcome : OTHER
    const byOutcome = this.attempts.get(name) ?? new Map<string, number>()
    const seen = byOutcome.get(word)
    if (seen === undefined) this.attemptSeries++
    this.attempts.set(name, byOutcome.set(word, (seen ?? 0) + 1))
  }

  private *allRoutes(): Generator<Route> {
    for (const siblings of this.routes.values()) yield* siblings.values()
  }

  private declareExchanges(): void {
    const each = (visit: (route: Route, counter: Counter) => void) =>
      function (this: Counter, routes: Iterable<Route>): void {
        this.reset()
        for (const route of routes) visit(route, this)
      }
    const routed = (name: string, help: string, labelNames: string[], visit: (route: Route, counter: Counter) => void) => {
      const fill = each(visit)
      const routes = () => this.allRoutes()
      new Counter({
        name: `headgate_${name}`,
        help,
        labelNames,
        registers: [this.registry],
        collect() {
          fill.call(this, routes())
        },
      })
    }
    const place = (route: Route) => ({ provider: route.provider, model: route.model })
    routed('requests_total', 'Exchanges that ended.', ['client', 'status', 'lane', 'provider', 'model'], (route, counter) => {
      for (const [code, count] of route.requests) counter.inc({ ...this.codes.labels(code), ...place(route) }, count)
    })
    routed('tokens_total', 'Tokens as charged.', ['direction', 'provider', 'model'], (route, counter) => {
      if (route.tokensIn > 0) counter.inc({ direction: 'input', ...place(route) }, route.tokensIn)
      if (route.tokensOut > 0) counter.inc({ direction: 'output', ...place(route) }, route.tokensOut)
    })
    routed('cost_usd_total', 'Charges in US dollars.', ['provider', 'model'], (route, counter) => {
      if (route.costNano > 0) counter.inc(place(route), route.costNano / 1e9)
    })
    new LatencyHistogram(this.registry, {
      name: 'headgate_first_event_seconds',
      help: 'From admission to the first content event.',
      label: 'provider',
      tallies: () => this.firstEvents,
    })
    new LatencyHistogram(this.registry, {
      name: 'headgate_added_latency_seconds',
      help: 'Time that the gateway itself added to an exchange.',
      label: 'lane',
      tallies: () => this.addedByLane(),
    })
  }

  private declareOperations(): void {
    const registers = [this.registry]
    const attempts = this.attempts
    new Counter({
      name: 'headgate_attempts_total',
      help: 'Upstream calls by outcome: ok, or the code of the fault.',
      labelNames: ['provider', 'outcome'],
      registers,
      collect() {
        this.reset()
        for (const [provider, byOutcome] of attempts) for (const [outcome, count] of byOutcome) this.inc({ provider, outcome }, count)
      },
    })
    const guardrails = this.guardrails
    new Counter({
      name: 'headgate_guardrail_hits_total',
      help: 'Requests in which a guardrail found something, by what it did.',
      labelNames: ['guardrail', 'action', 'direction'],
      registers,
      collect() {
        this.reset()
        for (const [guardrail, counts] of guardrails)
          for (const [what, count] of counts) {
            const [direction, action] = what.split(' ')
            this.inc({ guardrail, action, direction }, count)
          }
      },
    })
    const plain = (name: string, help: string, read: () => number) => {
      new Counter({
        name: `headgate_${name}`,
        help,
        registers,
        collect() {
          this.reset()
          this.inc(read())
        },
      })
    }
    plain('guardrail_audit_dropped_total', 'Findings that the audit trail had no room for.', () => this.auditDropped())
    plain('unrecovered_usd_total', 'Usage in USD that no limit or budget of its key could pay.', () => this.unrecoveredNano / 1e9)
    plain('shed_total', 'Requests refused because the gateway was overloaded.', () => this.shedCount)
    plain('reloads_total', 'Configuration reloads that were taken.', () => this.reloadsDone)
    plain('reload_failures_total', 'Configuration reloads that were refused.', () => this.reloadsFailed)
    const gauge = (name: string, help: string, read: () => number) => {
      new Gauge({
        name: `headgate_${name}`,
        help,
        registers,
        collect() {
          this.set(read())
        },
      })
    }
    gauge('open_streams', 'Streams being relayed now.', () => this.streams)
    gauge('bodies_waiting', 'Long request bodies that have arrived and wait for their turn.', () => this.bodiesWaiting())
    gauge('redis_unavailable', '1 while limits are held by shares of this process, because what processes share does not answer.', () =>
      this.redisUnavailable() ? 1 : 0,
    )
  }

  private *addedByLane(): Generator<[string, LatencyTally]> {
    for (const [index, tally] of this.added.entries()) if (tally) yield [this.codes.laneWord(index), tally]
  }
}
