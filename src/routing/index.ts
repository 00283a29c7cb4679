export {
  type Ceiling,
  endpointTag,
  type FilterName,
  listExcludes,
  listNames,
  overCeiling,
  parseCeiling,
  type Tier,
} from './criteria/index.ts'
export type { EndpointFigures, EndpointStatus, PercentileFigures } from './figures.ts'
export type { Filtered, Removed, RouteNeeds } from './filters.ts'
export { filterEndpoints } from './filters.ts'
export type { ServedSample } from './health.ts'
export { HealthBook, isOutage } from './health.ts'
export type { MergedPreferences, PreferenceSide, RequestWishes } from './merge.ts'
export { bindingPart, dataDemands, mergePreferences, NO_PREFERENCES, requestSides } from './merge.ts'
export { allowsModel, namesModel } from './model-pattern.ts'
export { exclusion, noEndpointFault } from './no-endpoint.ts'
export type { Band, Health, OrderPreferences, PercentileName } from './order.ts'
export { orderEndpoints, partitionOf, sortKeyOf, stickinessApplies } from './order.ts'
export { StickySessions } from './sessions.ts'
