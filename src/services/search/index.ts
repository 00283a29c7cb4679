export { Citations } from './citations.ts'
export {
  MAX_RESULTS,
  nativeSearch,
  parseCharacters,
  parseDomains,
  parseLocation,
  parseMode,
  type SearchParameters,
  searchParameters,
  USUAL_CHARACTERS,
  USUAL_RESULTS,
  wholeNumber,
} from './scope.ts'
export { searchWeb } from './search.ts'
export { accountFor, checkEngine, chooseSearchEngine, hasEngines, type SearchDesk, searchDesk } from './settings.ts'
export type { EngineAccount, SearchQuery, SearchResult, SearchScope, UserLocation } from './types.ts'
