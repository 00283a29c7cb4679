/** Which service tier goes to a provider: only the one that the endpoint's prices are for (issue 15 section 2). */
import type { Json } from '../core/json.ts'

/** Tiers that endpoints of their own are declared for; an endpoint without one serves the provider's usual tier. */
export type ServiceTier = 'flex' | 'priority'

/** The usual tier, by the words of all client formats. */
const USUAL: ReadonlySet<Json | undefined> = new Set(['default', 'standard', 'standard_only'])

/**
 * The tier to send. An endpoint of a tier gets that tier, whatever opened it for the request; any other gets `default`
 * where the caller asked for just that, else none.
 * @param asked the caller's word in any client format.
 */
export function tierToSend(asked: Json | undefined, endpoint: ServiceTier | undefined): ServiceTier | 'default' | undefined {
  if (endpoint !== undefined) return endpoint
  return USUAL.has(asked) ? 'default' : undefined
}

/** True where the caller asked for a tier that this endpoint does not serve, so that `dropped` names it. */
export function losesTier(asked: Json | undefined, endpoint: ServiceTier | undefined): boolean {
  if (typeof asked !== 'string' || asked === 'auto' || USUAL.has(asked)) return false
  return (asked === 'fast' ? 'priority' : asked) !== endpoint
}
