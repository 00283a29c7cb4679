/** The endpoints of a request in the order in which they are to be tried: what fits, what the key can pay, then the routing's order. */

import { Fault } from '../../core/faults.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import {
  filterEndpoints,
  NO_PREFERENCES,
  noEndpointFault,
  type OrderPreferences,
  orderEndpoints,
  type StickySessions,
  stickinessApplies,
} from '../../routing/index.ts'
import type { Exchange } from '../exchange.ts'
import { isLimited } from '../money/guardrail-budgets.ts'
import { unpriced } from '../money/provider-fees.ts'
import type { ChainParts } from '../parts.ts'
import { type Conversation, conversationName } from './conversation.ts'
import { contextNeed, contextOf, offersTools, priceMoment, tierOf } from './needs.ts'
import { watchTools } from './tool-watch.ts'

/** @throws Fault 400 where the input fits no endpoint, 403 where a key with a limit finds no price. */
export function orderedCandidates(exchange: Exchange, parts: Pick<ChainParts, 'sessions' | 'health' | 'clock'>): readonly Endpoint[] {
  return order(exchange, affordable(exchange, fitting(exchange)), parts)
}

/** @throws Fault 400 `context_length` where the input fits no endpoint. */
function fitting(exchange: Exchange): readonly Endpoint[] {
  const { endpoints } = exchange
  let smallest = Number.POSITIVE_INFINITY
  for (const endpoint of endpoints) smallest = Math.min(smallest, contextOf(endpoint))
  const contextTokens = contextNeed(exchange, smallest)
  if (contextTokens <= smallest) return endpoints
  const { kept, removed } = filterEndpoints(endpoints, { provider: NO_PREFERENCES, contextTokens, tiers: ALL_TIERS })
  if (kept.length > 0) return kept
  const fault = noEndpointFault([exchange.requested], removed)
  throw new Fault('context_length', {
    message: `${fault.message}. Shorten the input, or add the plugin context-compression`,
    metadata: fault.metadata,
    availability: fault.availability,
  })
}

const ALL_TIERS: ReadonlySet<'flex' | 'priority'> = new Set(['flex', 'priority'])

function affordable(exchange: Exchange, endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const isPriced = (endpoint: Endpoint): boolean => unpriced(exchange, endpoint) === undefined
  if (!isLimited(exchange.key, exchange.budgets) || endpoints.every(isPriced)) return endpoints
  const priced = endpoints.filter(isPriced)
  if (priced.length === 0) {
    const tool = endpoints.map((endpoint) => unpriced(exchange, endpoint)).find((what) => what !== 'endpoint')
    const what = tool === undefined ? '' : ` for the tool ${tool}`
    throw new Fault('forbidden', { message: `${exchange.requested} has no price${what}: a key with a limit cannot use it` })
  }
  return priced
}

function order(
  exchange: Exchange,
  endpoints: readonly Endpoint[],
  parts: Pick<ChainParts, 'sessions' | 'health' | 'clock'>,
): readonly Endpoint[] {
  const served = exchange.lastTurn?.endpoint
  if (served) return [served, ...exchange.candidates.filter((endpoint) => endpoint !== served)]
  exchange.conversation = conversationOf(exchange, endpoints, parts.sessions)
  // Where there is no choice nobody asks how well the one endpoint calls tools.
  if (endpoints.length > 1 || endpoints[0].model.endpoints.length > 1) exchange.toolWatch = watchTools(exchange)
  if (exchange.toolWatch) exchange.taps = [...(exchange.taps ?? []), exchange.toolWatch]
  if (endpoints.length === 1) return endpoints
  return orderEndpoints(endpoints, orderPreferences(exchange, parts), () => parts.clock.random(), parts.health)
}

/** What the request wants of the order, with the endpoint that its conversation stays on. */
export function orderPreferences(exchange: Exchange, { sessions }: Pick<ChainParts, 'sessions'>): OrderPreferences {
  const { preferences, gateway } = exchange
  const conversation = exchange.conversation ?? conversationOf(exchange, exchange.endpoints, sessions)
  return {
    ...preferences,
    route: gateway.route,
    sticky: conversation?.pinned,
    serviceTier: tierOf(gateway.serviceTier),
    tools: offersTools(exchange),
    priceMoment: priceMoment(exchange, exchange.endpoints),
  }
}

/** Undefined where the conversation is not to stay anywhere: the caller orders, or it has no name. */
function conversationOf(exchange: Exchange, endpoints: readonly Endpoint[], sessions: StickySessions): Conversation | undefined {
  // A vector is no turn of a conversation: the session's name only groups (contract section 5.3).
  if (exchange.client.embedding || !stickinessApplies(exchange.preferences)) return undefined
  const known = conversationName(exchange, endpoints, sessions.commonSecret)
  if (!known) return undefined
  return { ...known, pinned: sessions.get(exchange.key.identity, exchange.models[0].slug, known.name) }
}
