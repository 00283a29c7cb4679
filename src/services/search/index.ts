export { Citations } from './citations.ts'
export {
  charactersOf,
  domainsOf,
  locationOf,
  MOST_RESULTS,
  modeOf,
  nativeSearch,
  type SearchParameters,
  searchParameters,
  USUAL_CHARACTERS,
  USUAL_RESULTS,
  wholeNumber,
} from './scope.ts'
export { searchWeb } from './search.ts'
export { accountFor, checkEngine, hasEngines, type SearchDesk, searchDesk, wayOf } from './settings.ts'
export type { EngineAccount, SearchQuery, SearchResult, SearchScope, UserLocation } from './types.ts'
