/** The hard filters: which endpoints may serve a request at all, each exclusion with its reason. */

import type { Endpoint } from './catalog/types.ts'
import { type AnyCriterion, CRITERIA, type FilterName, type RequestNeeds } from './criteria/index.ts'
import { type MergedPreferences, NO_PREFERENCES } from './merge.ts'

export interface Removed {
  readonly endpoint: Endpoint
  readonly filter: FilterName
  /** What about the endpoint did not fit, for people. */
  readonly detail: string
  /** Whose lists they were, where the filter is a list: `request`, or `request and account`. */
  readonly from?: string
}

/** What a request needs of an endpoint. */
export interface RouteNeeds extends RequestNeeds {
  readonly provider: MergedPreferences
}

export interface Filtered {
  readonly kept: Endpoint[]
  readonly removed: Removed[]
}

const ALL: readonly AnyCriterion[] = CRITERIA
/** Criteria that a request without preferences may have a wish for. */
const WITHOUT_FIELDS = ALL.filter(({ fields }) => Object.keys(fields).length === 0)

/**
 * Applies every criterion (contract sections 5.1 and 5.2); `kept` stays in catalogue order.
 * @throws Fault 400 naming the member of `max_price` that is no price.
 */
export function filterEndpoints(endpoints: readonly Endpoint[], needs: RouteNeeds): Filtered {
  const { provider } = needs
  const wanted: AnyCriterion[] = []
  const wishes: unknown[] = []
  for (const criterion of provider === NO_PREFERENCES ? WITHOUT_FIELDS : ALL) {
    if (criterion.need !== undefined && needs[criterion.need] === undefined) continue
    const wish = criterion.wish(provider, needs)
    if (wish === undefined) continue
    wanted.push(criterion)
    wishes.push(wish)
  }
  const removed: Removed[] = []
  let kept: Endpoint[] = []
  for (const endpoint of endpoints) {
    let at = 0
    for (const criterion of wanted) {
      if (criterion.test?.(endpoint, wishes[at]) === false) break
      at++
    }
    const unmet = wanted[at]
    if (unmet === undefined) kept.push(endpoint)
    else removed.push(removal(endpoint, unmet, wishes[at]))
  }
  for (const [at, criterion] of wanted.entries()) {
    const worse = criterion.outdone?.(kept, wishes[at])
    if (!worse?.size) continue
    for (const [endpoint, detail] of worse) removed.push({ endpoint, filter: criterion.name, detail })
    kept = kept.filter((endpoint) => !worse.has(endpoint))
  }
  return { kept, removed }
}

function removal(endpoint: Endpoint, { name, explain }: AnyCriterion, wish: unknown): Removed {
  const why = explain?.(endpoint, wish) ?? ''
  return typeof why === 'string' ? { endpoint, filter: name, detail: why } : { endpoint, filter: name, ...why }
}
