/** In which order the endpoints are tried, and the money for it: the hold, as the maximum over all that may serve. */

import { entryAt } from '../../core/entry-at.ts'
import { Fault } from '../../core/faults.ts'
import { ALL_TIERS } from '../../core/service-tiers.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import {
  type Filtered,
  filterEndpoints,
  NO_PREFERENCES,
  noEndpointFault,
  type OrderPreferences,
  orderEndpoints,
  type StickySessions,
  type TokenNeed,
  tokensAt,
} from '../../routing/index.ts'
import type { ChainDependencies, ChainSettings } from '../dependencies.ts'
import type { Aimed, Guarded, Planned } from '../exchange.ts'
import type { Layer } from '../layer.ts'
import { isLimited, NO_PART, writeHold } from '../money/hold.ts'
import type { InputCounter } from '../money/outside-count.ts'
import { takeTurnHold } from '../money/outside-hold.ts'
import type { Payer } from '../money/take-hold.ts'
import { unpriced } from '../money/tool-fees.ts'
import { concludeTurn } from '../money/turn-cost.ts'
import type { Conversation, Plan } from '../records.ts'
import { countsTokens } from '../request/admission.ts'
import { usableKey } from '../request/authenticate.ts'
import { contextNeed, priceMoment, smallestContext } from '../request/client-request.ts'
import { keyOwner } from '../request/key-owner.ts'
import { takeTokens } from '../request/rate-limits.ts'
import { conversationName, mayStay } from './conversation.ts'
import { fetchMedia } from './media-fetch.ts'
import { type ContextCounter, countNearEnd } from './near-end.ts'
import { placeOwnKeys, sharedEndpoints, stillInForce } from './own-keys.ts'
import { watchTools } from './tool-watch.ts'

type PlanSettings = Pick<ChainSettings, 'callers' | 'outbound'>

/** Counters of tokens, for holds and for contexts. */
interface Counters {
  readonly input: InputCounter
  readonly context: ContextCounter
}

/** Two functions, so that nothing of the first lives as long as the reply. */
export function planLayer(settings: PlanSettings, dependencies: ChainDependencies, counters: Counters): Layer<Guarded, Planned> {
  const payer = { upstreams: dependencies.upstreams, seen: dependencies.seenInputs, counter: counters.input }
  return (next) => (exchange) => {
    const counting = isShort(exchange) ? undefined : countNearEnd(exchange, counters.context)
    const planning = counting
      ? counting.then(() => planned(exchange, settings, dependencies, payer))
      : planned(exchange, settings, dependencies, payer)
    return planning.then(next)
  }
}

async function planned(
  exchange: Guarded,
  { callers, outbound }: PlanSettings,
  dependencies: ChainDependencies,
  payer: Pick<Payer, 'upstreams' | 'seen' | 'counter'>,
): Promise<Planned> {
  const order = planOrder(exchange, dependencies)
  // Before the hold, which counts what is fetched by its size.
  const fetching = exchange.request.mayHoldMedia ? fetchMedia(exchange, order.candidates, outbound) : undefined
  const wanted = fetching ? await fetching : order.candidates
  // The body may have taken its time, and earlier turns have: what holds is the key as it is now.
  const found = callers.renew(exchange.auth.key.byPolicy?.key ?? exchange.auth.key)
  const renewed = found instanceof Promise ? await found.catch(() => exchange.auth.key) : found
  const { clock, costs } = exchange.head
  // An exchange that has had a turn goes on whatever became of its key, but within the limit of now.
  const key = costs.turns.length > 0 ? (renewed ?? exchange.auth.key) : usableKey(renewed, clock)
  const counted = countsTokens(exchange.auth.key) ? takeTokens(exchange, dependencies.admission) : undefined
  if (counted) await counted
  const concluding = exchange.run.turnHold === NO_PART ? undefined : concludeTurn(exchange)
  if (concluding) await concluding
  const { credit } = dependencies
  const taking = takeTurnHold(exchange, wanted, { ...payer, key, credit })
  const { input, candidates, outputCaps } = taking instanceof Promise ? await taking : taking
  costs.inputTokens = input
  exchange.decision?.admitCost(costs.hold.amount, input)
  const ready = Object.assign(exchange, { plan: { candidates, outputCaps, conversation: order.conversation, watch: order.watch } })
  const [first] = candidates
  // No candidate that can be paid for is a refusal of the hold.
  if (!first) throw new Fault('internal', { cause: new Error('the hold has no candidate') })
  await writeHold(ready, first, dependencies.journal)
  return ready
}

/** Endpoints in the order in which they are tried, and what of it later turns keep. */
type Order = Omit<Plan, 'outputCaps'>

/**
 * The endpoints of a request in the order in which they are to be tried: what fits, what the key can pay, then the routing's order.
 * @throws Fault 400 where the input fits no endpoint, 403 where a key with a limit finds no price.
 */
export function planOrder(
  exchange: Guarded & { readonly plan?: Plan | undefined },
  dependencies: Pick<ChainDependencies, 'sessions' | 'health' | 'clock'>,
): Order {
  const endpoints = affordable(exchange, fitting(exchange))
  const { plan, run } = exchange
  const served = run.lastTurn?.endpoint
  if (plan && served) {
    const candidates = [served, ...plan.candidates.filter((endpoint) => endpoint !== served)]
    return { ...plan, candidates: stillInForce(candidates) }
  }
  if (!endpoints.some(({ byok }) => byok)) return order(exchange, endpoints, dependencies)
  const ordered = order(exchange, sharedEndpoints(endpoints), dependencies)
  const health = dependencies.health.forKey(exchange.auth.key.identity, keyOwner(exchange.auth.key))
  return { ...ordered, candidates: placeOwnKeys(ordered.candidates, endpoints, (endpoint) => health.ejected(endpoint)) }
}

/** True where every endpoint has room for a token per byte and the cap: no context is in question. */
function isShort({ request: { need }, route: { endpoints } }: Guarded): boolean {
  const most = need.textBytes + (need.cap ?? 0)
  for (const { context = most } of endpoints) if (most > context) return false
  return true
}

/** @throws Fault 400 `context_length` where the input fits no endpoint. */
function fitting(exchange: Guarded): readonly Endpoint[] {
  const {
    route: { endpoints },
  } = exchange
  if (isShort(exchange)) return endpoints
  const smallest = smallestContext(endpoints)
  const need = contextNeed(exchange, smallest)
  if (need.input + need.cap <= smallest) return endpoints
  const { kept, removed } = withContext(exchange, endpoints, need)
  if (kept.length > 0) return kept
  const fault = noEndpointFault([exchange.demand.requested], removed)
  const roomiest = endpoints.reduce((best, endpoint) => ((endpoint.context ?? 0) > (best.context ?? 0) ? endpoint : best))
  throw new Fault('context_length', {
    message: `${fault.message}. Shorten the input, or add the plugin context-compression`,
    metadata: { ...fault.metadata, tokens: tokensAt(roomiest, need), context: roomiest.context },
    availability: fault.availability,
  })
}

/** @param need of the exchange's request: what of it may fit nowhere. */
export function withContext({ demand }: Aimed, endpoints: readonly Endpoint[], need: TokenNeed): Filtered {
  return filterEndpoints(endpoints, {
    provider: NO_PREFERENCES,
    contextTokens: need.input,
    counted: need.counted,
    maxOutput: need.cap,
    wholeCap: demand.preferences.require_parameters === true,
    tiers: ALL_TIERS,
  })
}

function affordable(exchange: Guarded, endpoints: readonly Endpoint[]): readonly Endpoint[] {
  if (exchange.request.need.isTokensAlone && endpoints.every(({ price }) => price !== 'unpriced')) return endpoints
  const isPriced = (endpoint: Endpoint): boolean => unpriced(exchange, endpoint) === undefined
  if (!isLimited(exchange.auth.key, exchange.demand.budgets) || endpoints.every(isPriced)) return endpoints
  const priced = endpoints.filter(isPriced)
  if (priced.length === 0) {
    const tool = endpoints.map((endpoint) => unpriced(exchange, endpoint)).find((what) => what !== 'endpoint')
    const what = tool === undefined ? '' : ` for the tool ${tool}`
    throw new Fault('forbidden', { message: `${exchange.demand.requested} has no known price${what}: a key with a limit cannot use it` })
  }
  return priced
}

function order(
  exchange: Guarded,
  endpoints: readonly Endpoint[],
  dependencies: Pick<ChainDependencies, 'sessions' | 'health' | 'clock'>,
): Order {
  const conversation = findConversation(exchange, endpoints, dependencies.sessions)
  // Where there is no choice it does not matter how well the one endpoint calls tools.
  const choice = endpoints.length > 1 || (endpoints[0]?.model.endpoints.length ?? 0) > 1
  const watch = choice ? watchTools(exchange) : undefined
  if (watch) exchange.run.taps.push(watch)
  if (endpoints.length === 1) return { candidates: endpoints, conversation, watch }
  const preferences = orderPreferences(exchange, conversation)
  const health = dependencies.health.forKey(exchange.auth.key.identity, keyOwner(exchange.auth.key))
  return { candidates: orderEndpoints(endpoints, preferences, () => dependencies.clock.random(), health), conversation, watch }
}

/** Preferences of the request for the order, with the endpoint that its conversation stays on. */
export function orderPreferences(exchange: Guarded, conversation: Conversation | undefined): OrderPreferences {
  const { gateway } = exchange.request
  return {
    ...exchange.demand.preferences,
    route: gateway.route,
    sticky: conversation?.pinned,
    serviceTier: exchange.demand.serviceTier,
    tools: exchange.request.need.offersTools,
    priceMoment: priceMoment(exchange, exchange.route.endpoints),
  }
}

/** Undefined where the conversation is not to stay anywhere: the caller orders, or it has no name. */
function findConversation(exchange: Guarded, endpoints: readonly Endpoint[], sessions: StickySessions): Conversation | undefined {
  // A vector is no turn of a conversation: the session's name only groups (docs/contract.md#sticky-sessions).
  const { client, gateway } = exchange.request
  // Where there is no choice only a name of the caller's makes a conversation.
  const mayHave = endpoints.length > 1 || gateway.sessionId !== undefined
  if (client.embedding || !mayHave) return undefined
  const primary = entryAt(exchange.route.models, 0)
  const { preferences } = exchange.demand
  const isListed = preferences.order?.length !== undefined && preferences.order.length > 0
  if (
    isListed &&
    !mayStay(
      preferences,
      endpoints.filter(({ model }) => model === primary),
    )
  )
    return undefined
  const known = conversationName(exchange.request, endpoints, sessions.commonSecret)
  if (!known) return undefined
  return { ...known, pinned: sessions.get(exchange.auth.key.identity, primary.slug, known.name) }
}
