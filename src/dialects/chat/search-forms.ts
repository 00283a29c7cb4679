/** Values of the quirk `web_search_form`; `web-search.ts` has what each writes. */
export const SEARCH_FORMS = ['options', 'filters', 'settings', 'browser_search', 'builtin_function'] as const

export type SearchFormName = (typeof SEARCH_FORMS)[number]
