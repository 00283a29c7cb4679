/**
 * Requests that fill a provider's cache and want no answer: `max_tokens: 0` of the Messages format (platform.claude.com, Prompt caching,
 * "Pre-warming the cache"). Providers of other wires would refuse it, or answer.
 */
import { Fault } from '../../core/faults.ts'
import type { ChainDependencies } from '../dependencies.ts'
import { narrow, type Routed } from '../exchange.ts'

/**
 * @returns with the endpoints of the caller's own wire, for a request that wants no answer.
 * @throws Fault 400 where there are none.
 */
export function withCacheFill(routed: Routed, upstreams: ChainDependencies['upstreams']): Routed {
  const { client } = routed.request
  const { endpoints } = routed.route
  const able = endpoints.filter(({ provider }) => upstreams.get(provider.dialect)?.wire === client.id)
  if (able.length > 0 || endpoints.length === 0) return narrow(routed, able)
  throw new Fault('bad_request', {
    message:
      'max_tokens: 0 fills the cache of a provider of this format, and no endpoint of the requested model is at one; expected at least 1',
    metadata: { field: 'max_tokens' },
  })
}
