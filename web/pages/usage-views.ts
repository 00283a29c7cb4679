/** Views of the page "Usage": sums by what stands apart, single requests, or what happened beside them. */
import type { SlicesReply } from '../api-types.ts'

export type Slice = SlicesReply['data'][number]

/** Filters of the address, as the API has them, and their names on the page. */
export const FILTERS = {
  api_key_hash: 'Key',
  model: 'Model',
  provider_name: 'Provider',
  status: 'Outcome',
  error: 'Error',
  external_user: 'User',
  app_title: 'App',
  parent: 'Shared budget',
  creator_user_id: 'Member',
} as const
export type FilterName = keyof typeof FILTERS
export const FILTER_NAMES = Object.keys(FILTERS) as FilterName[]

interface SumsView {
  readonly title: string
  /** As the API has it; each has one column of the table. */
  readonly by: readonly (keyof typeof COLUMNS)[]
  /** Order without the visitor's own. */
  readonly sort?: string
  readonly filter?: Readonly<Partial<Record<FilterName, string>>>
}

/** Fields of the groups. */
export const COLUMNS = {
  key: 'api_key_hash',
  user: 'external_user',
  app: 'app_title',
  model: 'model',
  provider: 'provider_name',
  status: 'status',
  error: 'error',
  parent: 'parent',
  member: 'creator_user_id',
} as const satisfies Record<string, FilterName>

/** Views with sums, by their word in the address. */
export const SUMS: Readonly<Record<string, SumsView>> = {
  key: { title: 'Keys', by: ['key'] },
  member: { title: 'Members', by: ['member'] },
  parent: { title: 'Budgets', by: ['parent'] },
  user: { title: 'Users', by: ['user'] },
  app: { title: 'Apps', by: ['app'] },
  model: { title: 'Models', by: ['model'] },
  provider: { title: 'Providers', by: ['provider'] },
  status: { title: 'Outcomes', by: ['status'] },
  errors: { title: 'Errors', by: ['provider', 'error'], sort: 'failed' },
}

/** Views with single requests: the measure that the API has for each. */
export const REQUESTS: Readonly<Record<string, { readonly title: string; readonly sort: string }>> = {
  dearest: { title: 'Dearest', sort: 'usage' },
  slowest: { title: 'Slowest', sort: 'whole' },
}

export const HAPPENED = 'happened'

/** The value of a row in a column, as the filter has it: `-` for none. */
export const filterValue = (slice: Slice, field: FilterName): string => slice[field] || '-'

/** @param value of a filter or a row; '-' and null: none. */
export const shownValue = (value: string | null | undefined): string => (value == null || value === '' || value === '-' ? 'None' : value)
