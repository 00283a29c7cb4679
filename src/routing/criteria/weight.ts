/** `weight`: a drained endpoint gets no new requests, only those that are bound to it or that name it. */
import type { Endpoint } from '../catalog/types.ts'
import { criterion, type RequestNeeds, type SidedSlugs } from './criterion.ts'
import { ofOperator } from './order.ts'
import { endpointTag } from './slugs.ts'

/** True for one that the operator drains. */
export function isDrained({ weight }: Endpoint): boolean {
  return weight === 0
}

/** Lists that may name a drained endpoint. */
interface Lists {
  readonly order?: readonly string[] | null | undefined
  readonly order_from?: string | undefined
  readonly only: readonly SidedSlugs[]
}

export interface WeightDemand {
  /** The request's own, and those of its preset. */
  readonly lists: readonly (readonly string[])[]
  readonly isBound: (endpoint: Endpoint) => boolean
}

export const weight = criterion({
  name: 'weight',
  refusal: { code: 'no_endpoints' },
  removes:
    'that is [drained](#weights) (`weight: 0`), unless `only` or `order` of the request has its tag, or the conversation or a file of the request is there',
  need: 'drained',
  demand: ({ order, order_from: from, only }: Lists, { drained: isBound }: RequestNeeds): WeightDemand | undefined => {
    if (isBound === undefined) return undefined
    const lists = only.filter((list) => !ofOperator(list.from)).map(({ slugs }) => slugs)
    return { lists: order && !ofOperator(from) ? [...lists, order] : lists, isBound }
  },
  test: (endpoint, { lists, isBound }) => !isDrained(endpoint) || isNamed(endpoint, lists) || isBound(endpoint),
  explain: () => 'weight 0: it is drained',
})

/** By its tag: a provider's name alone may stand for another endpoint of it. */
function isNamed(endpoint: Endpoint, lists: WeightDemand['lists']): boolean {
  const tag = endpointTag(endpoint)
  return lists.some((list) => list.includes(tag))
}
