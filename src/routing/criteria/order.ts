/** `order`: without fallbacks the list of the strongest side is all that there is. */

import { ALL_TIERS } from '../../core/service-tiers.ts'
import type { Endpoint } from '../catalog/types.ts'
import { criterion } from './criterion.ts'
import { admittedTiers, listNames, shownSlugs } from './slugs.ts'

/** Sides that the operator states for all requests of a key, or of the account: no request has named what they say. */
const OPERATOR: ReadonlySet<string | undefined> = new Set(['key', 'account'])

export const ofOperator = (from: string | undefined): boolean => OPERATOR.has(from)

/** The list, and where it comes from. */
export interface StatedOrder {
  readonly order?: readonly string[] | null | undefined
  /** `key` or `account` where one of these states it; absent where the request or its preset does. */
  readonly order_from?: string | undefined
  /** True where that side itself allows no other endpoints. */
  readonly order_only?: true | undefined
}

/**
 * The list where it holds for these endpoints, which are those of one group. One of a key or of the account is passed over where it names
 * none of them: it was written for other models. A request's own holds as it is (docs/contract.md#provider-preferences).
 */
export function orderFor(endpoints: readonly Endpoint[], { order, order_from: from }: StatedOrder): readonly string[] | undefined {
  if (!order?.length) return undefined
  return ofOperator(from) && !namesAny(order, endpoints) ? undefined : order
}

/** A tier endpoint that passed the filters was requested: its provider's name stands for it. */
function namesAny(order: readonly string[], endpoints: readonly Endpoint[]): boolean {
  return endpoints.some((endpoint) => listNames(order, endpoint, ALL_TIERS))
}

interface Preferences extends StatedOrder {
  readonly allow_fallbacks?: boolean | null | undefined
}

export const order = criterion({
  name: 'order',
  fields: {
    order: {
      kind: 'endpoints',
      text: 'Endpoints are tried in this order; entries that do not serve the model are skipped. The other endpoints follow, unless `allow_fallbacks` is false. Turns off the random draw and sticky sessions. A list of the key or the account that names no endpoint of a model changes nothing for that model.',
    },
    allow_fallbacks: {
      kind: 'flag',
      text: 'False: only the first endpoint of each model is tried; with `order`, only the endpoints that it names. If unset: true.',
    },
  },
  refusal: { code: 'constraint_filtered', excludedBy: 'allowed_providers' },
  removes: 'that is not in `order`, with `allow_fallbacks: false`',
  demand: ({ order: slugs, allow_fallbacks: fallbacks, order_from: from, order_only: isOnly }: Preferences, needs) =>
    fallbacks === false && slugs?.length
      ? { slugs, admitted: admittedTiers(needs), passesOver: ofOperator(from) && isOnly !== true }
      : undefined,
  test: (endpoint, { slugs, admitted, passesOver }) =>
    listNames(slugs, endpoint, admitted) || (passesOver && !namesAny(slugs, endpoint.model.endpoints)),
  explain: (_endpoint, { slugs }) => `order without fallbacks: [${shownSlugs(slugs)}]`,
})
