/**
 * Near the end of a context the estimate of a prompt decides too much: how many tokens are left for the output, and whether the request
 * fits at all. There a server that has a counter counts it, once for each request (docs/decisions/0057-counts-near-the-end-of-a-context.md).
 */
import type { Endpoint } from '../../routing/catalog/types.ts'
import { isNearEnd } from '../../routing/index.ts'
import type { Guarded } from '../exchange.ts'
import { contextNeed, inputModalities, smallestContext } from '../request/client-request.ts'

export interface ContextCounter {
  /** True where the provider has a counter that is worth a call. */
  counts(endpoint: Endpoint): boolean
  /** @returns undefined where there is no count. @throws Fault where the caller leaves or the deadline passes. */
  count(exchange: Guarded, endpoint: Endpoint): Promise<number | undefined>
}

/** Has a server count the prompt where it comes near the end of its context. @returns undefined where none needs to. */
export function countNearEnd(exchange: Guarded, counter: ContextCounter): Promise<void> | undefined {
  const {
    request,
    route: { endpoints },
    demand: { preferences },
  } = exchange
  if (request.client.embedding || request.noted.counted) return undefined
  const smallest = smallestContext(endpoints)
  const need = contextNeed(exchange, smallest)
  if (need.input + need.cap <= smallest) return undefined
  const strict = preferences.require_parameters === true
  const endpoint = endpoints.find((each) => isNearEnd(each, need, strict) && counter.counts(each))
  // What an image comes to is not in the counts of servers that know its place in the text alone.
  if (!endpoint || inputModalities(exchange)) return undefined
  return counter.count(exchange, endpoint).then((tokens) => {
    if (tokens !== undefined) request.noted.counted = { model: endpoint.model, tokens }
  })
}
