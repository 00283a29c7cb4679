export { fetchPage, PageError, type PageOptions } from './fetch-page.ts'
export { closeRobots } from './robots.ts'
export {
  addressPolicy,
  type FetchLimits,
  type FetchSettings,
  pageAccount,
  pageAccountName,
  parseFetchLimits,
  parseFetchSettings,
} from './settings.ts'
export type { Page, PageAccount, PageRequest } from './types.ts'
