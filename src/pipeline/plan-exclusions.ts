/** Every endpoint of the requested models that is not among the candidates, with what took it out. */
import type { Endpoint } from '../catalog/types.ts'
import { endpointTag, type FilterName } from '../routing/index.ts'
import type { Exchange } from './exchange.ts'
import { contextNeed, contextOf } from './needs.ts'

/** The hard filters, and what is decided after them: a price that nobody knows, and fallbacks that were not allowed. */
export type Exclusion = FilterName | 'unpriced' | 'allow_fallbacks'

export type ExcludedEndpoint = {
  /** Display name. */
  provider: string
  model: string
  /** Tag: `provider`, `provider/variant` or `provider/tier`. */
  endpoint: string
  filter: Exclusion
  reason: string
  /** Whose list it was, where the filter is a list: request, key or account. */
  from?: string
}

type Why = Pick<ExcludedEndpoint, 'filter' | 'reason' | 'from'>

/** In the order of the filters: those of the resolution first. */
export function exclusions(exchange: Exchange): ExcludedEndpoint[] {
  const found = exchange.removed.map(({ endpoint, filter, detail, from }) => entry(endpoint, { filter, reason: detail, from }))
  const { endpoints, candidates } = exchange
  if (endpoints.length === candidates.length) return found
  const late = lateReasons(exchange)
  const tried = new Set(candidates)
  for (const endpoint of endpoints) {
    if (tried.has(endpoint)) continue
    const why = late.get(endpoint)
    if (why) found.push(entry(endpoint, why))
    // Without candidates the request ended before this endpoint's turn came.
    else if (candidates.length > 0) found.push(entry(endpoint, { filter: 'allow_fallbacks', reason: 'no fallback is allowed' }))
  }
  return found
}

/** Endpoints that the order is made of: those of the resolution that fit, and whose price the key may pay. */
export function orderedAmong(exchange: Exchange): Endpoint[] {
  const late = lateReasons(exchange)
  return exchange.endpoints.filter((endpoint) => !late.has(endpoint))
}

function lateReasons(exchange: Exchange): Map<Endpoint, Why> {
  const { endpoints, key } = exchange
  const need = contextNeed(exchange, Math.min(...endpoints.map(contextOf)))
  const late = new Map<Endpoint, Why>()
  for (const endpoint of endpoints) {
    const room = contextOf(endpoint)
    if (need > room) late.set(endpoint, { filter: 'context', reason: `its context of ${room} tokens is shorter than ${need}` })
    else if (endpoint.price === 'unpriced' && key.limit !== null) {
      late.set(endpoint, { filter: 'unpriced', reason: 'it has no price, and the key has a limit' })
    }
  }
  return late
}

function entry(endpoint: Endpoint, { filter, reason, from }: Why): ExcludedEndpoint {
  const place = { provider: endpoint.provider.name, model: endpoint.model.slug, endpoint: endpointTag(endpoint) }
  return from === undefined ? { ...place, filter, reason } : { ...place, filter, reason, from }
}
