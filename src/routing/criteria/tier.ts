/** `tier`: endpoints of a service tier serve only requests that open the tier (docs/contract.md#service-tiers). */
import type { Endpoint } from '../catalog/types.ts'
import { criterion, type RequestNeeds, type SidedSlugs } from './criterion.ts'
import { admittedTiers, listTags, type Tier } from './slugs.ts'

/** Lists that open a tier by its tag. */
interface Lists {
  readonly order?: readonly string[] | null | undefined
  readonly only: readonly SidedSlugs[]
}

export interface TierDemand extends Lists {
  readonly admitted: ReadonlySet<Tier>
  /** Tier endpoints serve alone where there are any. */
  readonly flex: boolean
}

export const tier = criterion({
  name: 'tier',
  refusal: { code: 'constraint_filtered', field: 'service_tier' },
  removes: 'of a tier that the request does not select; with `service_tier: flex`, every other endpoint if a flex endpoint is left',
  demand: ({ order, only }: Lists, needs: RequestNeeds): TierDemand => ({
    order,
    only,
    admitted: admittedTiers(needs),
    flex: needs.serviceTier === 'flex',
  }),
  test: (endpoint, demand) => endpoint.tier === undefined || isOpen(endpoint, endpoint.tier, demand),
  explain: (endpoint) => `serves the ${endpoint.tier} tier only`,
  inferior(kept, { flex }) {
    if (!flex || !kept.some((endpoint) => endpoint.tier === 'flex')) return undefined
    const others = new Map<Endpoint, string>()
    for (const endpoint of kept) if (endpoint.tier !== 'flex') others.set(endpoint, 'the flex tier was requested')
    return others
  },
})

function isOpen(endpoint: Endpoint, of: Tier, { admitted, order, only }: TierDemand): boolean {
  if (admitted.has(of)) return true
  return (order && listTags(order, endpoint)) || only.some((list) => listTags(list.slugs, endpoint))
}
