/** 10. In which order the endpoints are tried, and the money for it: the hold, as the maximum over all that may serve. */

import type { Endpoint } from '../../catalog/types.ts'
import { Fault } from '../../core/faults.ts'
import { usdText } from '../../core/money.ts'
import { affordableOutput, holdFor } from '../../ledger/pricing.ts'
import type { Planned, Resolved } from '../../plugin-api/exchange.ts'
import { filterEndpoints, NO_PREFERENCES, noEndpointFault, orderEndpoints, stickinessApplies } from '../../routing/index.ts'
import type { Exchange } from '../exchange.ts'
import { callerCap, contextNeed, imageCount, inputBound, searchBound, tierOf } from '../needs.ts'
import type { ChainParts } from '../parts.ts'
import { type At, advance, type Layer, type Reply } from '../reply.ts'

export function plan(parts: ChainParts): Layer<At<Resolved>, At<Planned>> {
  return (next) =>
    async function planned(exchange): Promise<Reply> {
      exchange.candidates = order(exchange, affordable(exchange, fitting(exchange)), parts)
      hold(exchange, parts)
      const { books } = exchange
      const first = exchange.candidates[0]
      parts.journal.hold({
        seq: exchange.seq,
        tag: exchange.tag,
        key: exchange.key.identity,
        model: first.model.slug,
        endpoint: first.id,
        hold: books.held,
        floor: books.floor,
      })
      // A later turn writes the same row again with the raised sums.
      // From here on a settlement must follow, even if this commit fails: the row may be there.
      books.open = true
      await parts.journal.committed()
      return await next(advance<Planned>(exchange))
    }
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
    availability: fault.availability,
  })
}

const contextOf = (endpoint: Endpoint): number => endpoint.context ?? endpoint.model.context ?? Number.POSITIVE_INFINITY

const ALL_TIERS: ReadonlySet<'flex' | 'priority'> = new Set(['flex', 'priority'])

/** A key with a limit is never let near a price that nobody knows. */
function affordable(exchange: Exchange, endpoints: readonly Endpoint[]): readonly Endpoint[] {
  if (exchange.key.limit === null || !endpoints.some((endpoint) => endpoint.price === 'unpriced')) return endpoints
  const priced = endpoints.filter((endpoint) => endpoint.price !== 'unpriced')
  if (priced.length === 0) {
    throw new Fault('forbidden', { message: `${exchange.requested} has no price: a key with a limit cannot use it` })
  }
  return priced
}

function order(exchange: Exchange, endpoints: readonly Endpoint[], parts: ChainParts): readonly Endpoint[] {
  const served = exchange.books.turns.at(-1)?.endpoint
  if (served) return [served, ...exchange.candidates.filter((endpoint) => endpoint !== served)]
  if (endpoints.length === 1) return endpoints
  const { preferences, gateway } = exchange
  const session = gateway.sessionId
  const sticky =
    session !== undefined && stickinessApplies(preferences)
      ? parts.sessions.get(exchange.key.identity, exchange.models[0].slug, session)
      : undefined
  return orderEndpoints(
    endpoints,
    { ...preferences, route: gateway.route, sticky, serviceTier: tierOf(gateway.serviceTier) },
    () => parts.clock.random(),
    parts.health,
  )
}

/** @throws Fault 402 that says what was needed, what is left and what would be affordable. */
function hold(exchange: Exchange, parts: ChainParts): void {
  const { books, key, candidates } = exchange
  const input = inputBound(exchange)
  const webSearches = searchBound(exchange)
  const extras = exchange.mayHoldMedia || webSearches > 0 ? { images: imageCount(exchange), webSearches } : undefined
  const cap = callerCap(exchange)
  let most = 0
  let floor = 0
  let largestCap = 0
  for (const endpoint of candidates) {
    const output = outputCap(exchange, endpoint, cap)
    const reserve = holdFor(endpoint.price, input, output, extras)
    if (reserve.hold >= most) largestCap = output
    most = Math.max(most, reserve.hold)
    floor = Math.max(floor, reserve.floor)
  }
  books.account ??= parts.credit.account(key.identity)
  if (!books.account.tryHold(most, key.limit)) throw noCredit(exchange, most, input)
  books.held += most
  books.floor += floor
  books.inputTokens = input
  exchange.outputCap = key.limit === null ? undefined : largestCap
}

/** The caller's own cap, else the model's default as far as the context has room for it; never more than the endpoint writes. */
function outputCap(exchange: Exchange, endpoint: Endpoint, callers: number | undefined): number {
  const most = endpoint.maxOutput ?? endpoint.model.maxOutput ?? Number.POSITIVE_INFINITY
  if (callers !== undefined) return Math.min(callers, most)
  const room = contextOf(endpoint) - contextNeed(exchange, contextOf(endpoint) - endpoint.model.defaultMaxOutput)
  return Math.max(1, Math.min(endpoint.model.defaultMaxOutput, most, room))
}

function noCredit(exchange: Exchange, needed: number, input: number): Fault {
  const left = exchange.books.account?.remaining(exchange.key.limit) ?? 0
  const tokens = exchange.candidates.reduce((best, endpoint) => Math.max(best, affordableOutput(endpoint.price, input, left)), 0)
  const affordable = Math.max(0, Math.floor(tokens))
  return new Fault('no_credit', {
    message:
      `Insufficient credits: this request may cost up to $${usdText(needed)}, $${usdText(left)} is left. ` +
      `With an output cap of ${affordable} tokens it would fit`,
    metadata: { needed: usdText(needed), left: usdText(left), affordable_output_tokens: affordable },
  })
}
