/** The tariff of a turn: by the tier that served (contract section 5.5), the time of admission and the requested region. */

import { type Tariff, tariffAt } from '../../ledger/pricing.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Turn } from '../attempt/turn.ts'
import type { Accepted } from '../exchange.ts'

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

/** What the endpoint charges for this request. */
export function tariffOf({ head: { at }, request: { body, client } }: Accepted, endpoint: Endpoint): Tariff {
  const region = client.regionField === undefined ? undefined : body[client.regionField]
  return tariffAt(endpoint, at, typeof region === 'string' ? region : undefined)
}
