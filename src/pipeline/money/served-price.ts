/** The endpoint whose prices a turn is charged at: by the tier that served (docs/contract.md#service-tiers), and where that is not known, the dearest. */

import { SERVICE_TIERS } from '../../core/service-tiers.ts'
import { holdFor, tariffAt } from '../../ledger/pricing.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Turn } from '../attempt/turn.ts'

type Served = Pick<Turn, 'endpoint' | 'end'>

export interface ServedPrice {
  readonly endpoint: Endpoint
  /** The tier that served has no price here, or is not known. */
  readonly assumed: boolean
}

/** From the cheapest to the dearest. */
const RANKS: readonly string[] = ['flex', 'default', ...SERVICE_TIERS.filter((tier) => tier !== 'flex')]

/**
 * The endpoint that was called, unless its provider reports another tier and the configuration states prices for that one, which is an
 * endpoint of the same provider, model name and that tier. A word that is not known is charged at the dearest of these; a tier that is
 * known but has no price, at the dearest of those that are not above it.
 * @param at milliseconds since the epoch: when the request was admitted.
 */
export function servedPrice(turn: Served, at: number): ServedPrice {
  const { endpoint, end } = turn
  if (endpoint.byok) {
    // By the prices of the operator's endpoints: of those with the account of the team only the called one is made.
    const { shared, at: withAccount } = endpoint.byok
    const served = servedPrice({ ...turn, endpoint: shared }, at)
    return { endpoint: served.endpoint === shared ? endpoint : withAccount(served.endpoint), assumed: served.assumed }
  }
  const reported = end?.tier
  // The tier of the call, as far as its provider says.
  if (reported === undefined ? end?.unknownTier === undefined : reported === (endpoint.tier ?? 'default'))
    return { endpoint, assumed: false }
  if (endpoint.variant !== undefined) return { endpoint, assumed: end?.unknownTier !== undefined }
  const priced = endpoint.model.endpoints.filter(
    ({ provider, upstreamModel, variant, price }) =>
      provider === endpoint.provider && upstreamModel === endpoint.upstreamModel && variant === undefined && price !== 'unpriced',
  )
  const served = reported === undefined ? undefined : priced.find(({ tier = 'default' }) => tier === reported)
  if (served) return { endpoint: served, assumed: false }
  const rank = reported === undefined ? RANKS.length : RANKS.indexOf(reported)
  const within = priced.filter(({ tier = 'default' }) => RANKS.indexOf(tier) <= rank)
  return { endpoint: dearest(endpoint, within, at), assumed: true }
}

/** Tokens of each side that prices are compared for: not those of the turn, since the choice must stay while its usage is counted. */
const SAMPLE = 1_000

function dearest(called: Endpoint, others: readonly Endpoint[], at: number): Endpoint {
  const endpointCost = (endpoint: Endpoint): number => holdFor(tariffAt(endpoint, at), SAMPLE, SAMPLE).hold
  return others.reduce((most, each) => (endpointCost(each) > endpointCost(most) ? each : most), called)
}
