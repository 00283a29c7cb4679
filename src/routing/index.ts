export {
  type Ceiling,
  capWithin,
  endpointTag,
  type FilterName,
  hasRoom,
  isNearEnd,
  listExcludes,
  listNames,
  orderFor,
  overCeiling,
  parseCeiling,
  type Tier,
  type TokenNeed,
  tokensAt,
} from './criteria/index.ts'
export type { Filtered, Removed, RouteNeeds } from './filters.ts'
export { exclusion, filterEndpoints, noEndpointFault } from './filters.ts'
export type { ServedSample } from './health.ts'
export { HealthBook, isOutage } from './health.ts'
export type { EndpointFigures, EndpointStatus, PercentileFigures } from './health-figures.ts'
export type { MergedPreferences, PreferenceSide, RequestDemands } from './merge.ts'
export { bindingPart, dataDemands, mergePreferences, NO_PREFERENCES, requestSides } from './merge.ts'
export type { Band, Health, OrderPreferences, PercentileName } from './order.ts'
export { areWeighted, orderEndpoints, sortPartition, wantedSortKey } from './order.ts'
export { RetryBudget, type RetryPermit } from './retry-budget.ts'
export { StickySessions } from './sessions.ts'

/**
 * Names of models in lists: a slug, or a pattern in which `*` stands for any characters, such as `openai/*`.
 * True where one of the entries names the slug; without a list every model is allowed.
 */
export function allowsModel(entries: readonly string[] | undefined, slug: string): boolean {
  return entries === undefined || entries.some((entry) => namesModel(entry, slug))
}

/** Greedy matching piece by piece: linear in the slug for each piece, whatever the pattern. */
export function namesModel(entry: string, slug: string): boolean {
  if (!entry.includes('*')) return entry === slug
  const [head = '', ...rest] = entry.split('*')
  const tail = rest.pop() ?? ''
  if (slug.length < head.length + tail.length || !slug.startsWith(head) || !slug.endsWith(tail)) return false
  let at = head.length
  const end = slug.length - tail.length
  for (const piece of rest) {
    const found = slug.indexOf(piece, at)
    if (found < 0 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}
