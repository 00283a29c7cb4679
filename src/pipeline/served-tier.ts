/** Prices by the tier that served (contract section 5.5). */
import type { Endpoint } from '../catalog/types.ts'
import type { Turn } from './reply.ts'

/**
 * The endpoint whose prices a turn is charged at: the one that was called, unless its provider reports another tier and
 * the configuration states prices for that one, which is an endpoint of the same provider, model name and that tier.
 */
export function pricedEndpoint({ endpoint, end }: Pick<Turn, 'endpoint' | 'end'>): Endpoint {
  const reported = end?.tier
  if (reported === undefined || reported === (endpoint.tier ?? 'default') || endpoint.variant !== undefined) return endpoint
  const served = endpoint.model.endpoints.find(
    ({ provider, upstreamModel, tier, variant, price }) =>
      provider === endpoint.provider &&
      upstreamModel === endpoint.upstreamModel &&
      (tier ?? 'default') === reported &&
      variant === undefined &&
      price !== 'unpriced',
  )
  return served ?? endpoint
}
