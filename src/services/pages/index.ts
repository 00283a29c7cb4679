export { fetchPage, PageError, type PageOptions } from './fetch-page.ts'
export { closeRobots } from './robots.ts'
export { type FetchDesk, type FetchLimits, fetchDesk, limitsOf, nameOf, pageAccount, policyOf } from './settings.ts'
export type { Page, PageAccount, PageRequest } from './types.ts'
