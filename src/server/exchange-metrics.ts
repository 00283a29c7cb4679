/**
 * Counts exchanges: one look-up of model and provider finds all numbers of an exchange. Labels come from closed sets (catalogue,
 * dialects, lanes, statuses), never from a key or a caller's text.
 */
import { counter, histogram, type Tallies } from '../core/metrics.ts'
import { type Count, closed, type Latencies, NONE, OTHER, open } from '../core/tallies.ts'

/** Clients and lanes that get a number of their own; the one above stands for all that come later. */
const MAX_WORDS = 16
const LANE_UNIT = MAX_WORDS + 1
const STATUS_UNIT = LANE_UNIT * LANE_UNIT

/** Status, client and lane of a request as one small integer: the cheapest key that a count can have. */
class RequestCodes {
  private readonly clients: string[] = []
  private readonly lanes: string[] = []

  lane(word: string): number {
    return indexOf(this.lanes, word)
  }

  laneWord(index: number): string {
    return wordAt(this.lanes, index)
  }

  /** @param lane as `lane()` numbered it. */
  code(status: number, client: string, lane: number): number {
    return status * STATUS_UNIT + indexOf(this.clients, client) * LANE_UNIT + lane
  }

  labels(code: number): { client: string; status: string; lane: string } {
    return {
      client: wordAt(this.clients, Math.floor(code / LANE_UNIT) % LANE_UNIT),
      status: String(Math.floor(code / STATUS_UNIT)),
      lane: wordAt(this.lanes, code % LANE_UNIT),
    }
  }
}

function indexOf(words: string[], word: string): number {
  const found = words.indexOf(word)
  if (found >= 0) return found
  return words.length < MAX_WORDS ? words.push(word) - 1 : MAX_WORDS
}

function wordAt(words: readonly string[], index: number): string {
  const word = words[index] ?? OTHER
  return word === '' ? NONE : word
}

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

export class ExchangeMetrics {
  private readonly tallies: Tallies
  private readonly codes = new RequestCodes()
  private readonly routes = new Map<string, Map<string, Route>>()
  private readonly providers = new Set<string>()
  /** By the number of the lane. */
  private readonly added: (Latencies | undefined)[] = []
  private routeCount = 0
  private lastRoute: Route

  constructor(tallies: Tallies) {
    this.tallies = tallies
    this.lastRoute = this.openRoute(OTHER, OTHER)
  }

  count(facts: ExchangeFacts): void {
    let route = this.lastRoute
    if (route.model !== facts.model || route.provider !== facts.provider) {
      route = this.routes.get(facts.model)?.get(facts.provider) ?? this.newRoute(facts.model, facts.provider)
      this.lastRoute = route
    }
    const lane = this.codes.lane(facts.lane)
    const code = this.codes.code(facts.status, facts.client, lane)
    const seen = route.requests.get(code) ?? this.newRequests(route, code)
    seen.add()
    route.tokensIn.add(facts.tokensIn)
    route.tokensOut.add(facts.tokensOut)
    route.cost.add(facts.costNano)
    if (facts.firstEventMs >= 0) route.firstEvent.observe(facts.firstEventMs)
    if (facts.addedMs >= 0) {
      const added = this.added[lane] ?? this.newLane(lane)
      added.observe(facts.addedMs)
    }
  }

  private newRequests(route: Route, code: number): Count {
    const counts = this.tallies.of(requests)
    const { client, status, lane } = this.codes.labels(code)
    const room = !counts.isFull
    const count = counts.named(client, status, lane, route.provider, route.model)
    if (room) route.requests.set(code, count)
    return count
  }

  private newLane(lane: number): Latencies {
    const added = this.tallies.of(addedLatency).named(this.codes.laneWord(lane))
    this.added[lane] = added
    return added
  }

  private newRoute(model: string, provider: string): Route {
    return this.openRoute(this.tallies.label('model', model), this.tallies.label('provider', provider))
  }

  private openRoute(model: string, provider: string): Route {
    const found = this.routes.get(model)?.get(provider)
    if (found) return found
    const full = this.routeCount >= MAX_ROUTES || (!this.providers.has(provider) && this.providers.size >= MAX_PROVIDERS)
    if (full) return this.openRoute(OTHER, OTHER)
    const { tallies } = this
    const route: Route = {
      model,
      provider,
      requests: new Map(),
      tokensIn: tallies.of(tokens).named('input', provider, model),
      tokensOut: tallies.of(tokens).named('output', provider, model),
      cost: tallies.of(cost).named(provider, model),
      firstEvent: tallies.of(firstEvent).named(provider),
    }
    const siblings = this.routes.get(model) ?? new Map<string, Route>()
    this.routes.set(model, siblings.set(provider, route))
    this.providers.add(provider)
    this.routeCount++
    return route
  }
}
