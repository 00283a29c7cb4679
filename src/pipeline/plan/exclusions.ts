/** Every endpoint of the requested models that is not among the candidates, with what took it out. */
import type { Endpoint } from '../../routing/catalog/types.ts'
import { endpointTag, type FilterName, tokensAt } from '../../routing/index.ts'
import type { Aimed, Exchange, Guarded } from '../exchange.ts'
import { isLimited } from '../money/hold.ts'
import { unpriced } from '../money/provider-prices.ts'
import { contextNeed, contextOf } from '../route/needs.ts'

/** The hard filters, and what is decided after them: an unknown price, and fallbacks that were not allowed. */
export type Exclusion = FilterName | 'unpriced' | 'allow_fallbacks'

/** As `error.metadata.excluded` has it where no endpoint is left. */
export type ExcludedEndpoint = {
  model: string
  /** Display name. */
  provider: string
  /** Tag: `provider`, `provider/variant` or `provider/tier`. */
  endpoint: string
  filter: Exclusion
  /** What about the endpoint did not fit, for people. */
  detail: string
  /** Whose list it was, where the filter is a list: request, key or account. */
  from?: string | undefined
}

type Why = Pick<ExcludedEndpoint, 'filter' | 'detail' | 'from'>

/** In the order of the filters: those of the resolution first. */
export function exclusions(exchange: Exchange): ExcludedEndpoint[] {
  const found = exchange.trail.removed.map(({ endpoint, filter, detail, from }) => entry(endpoint, { filter, detail, from }))
  const { plan, route, wish } = exchange
  const candidates = plan?.candidates ?? []
  const listed = new Set([...candidates, ...exchange.trail.removed.map(({ endpoint }) => endpoint)])
  // A choice among models leaves out what the input does not fit before anything is ordered.
  const rest = (route?.models ?? wish?.models ?? []).flatMap((model) => model.endpoints.filter((endpoint) => !listed.has(endpoint)))
  if (rest.length === 0) return found
  const { request, auth } = exchange
  if (!wish || !request || !auth) return found
  const late = lateReasons({ ...exchange, wish, request, auth }, rest)
  for (const endpoint of rest) {
    const why = late.get(endpoint)
    if (why) found.push(entry(endpoint, why))
    // Without candidates the request ended before this endpoint's turn came.
    else if (candidates.length > 0) found.push(entry(endpoint, { filter: 'allow_fallbacks', detail: 'no fallback is allowed' }))
  }
  return found
}

/** Endpoints that the order is made of: those of the resolution that fit, and whose price the key may pay. */
export function orderedAmong(exchange: Guarded): Endpoint[] {
  const late = lateReasons(exchange, exchange.route.endpoints)
  return exchange.route.endpoints.filter((endpoint) => !late.has(endpoint))
}

function lateReasons(exchange: Aimed, endpoints: readonly Endpoint[]): Map<Endpoint, Why> {
  const limited = isLimited(exchange.auth.key, exchange.wish.budgets)
  const need = contextNeed(exchange, Math.min(...endpoints.map(contextOf)))
  const late = new Map<Endpoint, Why>()
  for (const endpoint of endpoints) {
    const room = contextOf(endpoint)
    const tokens = tokensAt(endpoint, need)
    if (tokens > room) late.set(endpoint, { filter: 'context', detail: `its context of ${room} tokens is shorter than ${tokens}` })
    else if (limited) {
      const what = unpriced(exchange, endpoint)
      const ofTool = what === 'endpoint' ? '' : ` for the tool ${what}`
      if (what !== undefined) late.set(endpoint, { filter: 'unpriced', detail: `it has no price${ofTool}, and the key has a limit` })
    }
  }
  return late
}

function entry(endpoint: Endpoint, { filter, detail, from }: Why): ExcludedEndpoint {
  const place = { model: endpoint.model.slug, provider: endpoint.provider.name, endpoint: endpointTag(endpoint) }
  return from === undefined ? { ...place, filter, detail } : { ...place, filter, detail, from }
}
