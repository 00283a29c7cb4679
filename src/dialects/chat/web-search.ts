/** The provider's own search of the web, in each form in which providers of this wire take a request for it: the quirk `web_search_form`. */
import { isObject, type JsonObject } from '../../core/json.ts'
import type { NativeSearch, SearchWire } from '../canon/native-search.ts'
import type { Quirks } from '../quirks.ts'
import { switchThinkingOff } from './no-thinking.ts'
import type { SearchFormName } from './search-forms.ts'

/**
 * The search that Moonshot's models call by this name. What a caller hands back is the call's own arguments; the provider searches then
 * (platform.kimi.ai/docs/guide/use-web-search).
 */
export const BUILTIN_SEARCH = '$web_search'
export const BUILTIN = 'builtin_function'

interface SearchForm extends SearchWire {
  /** Adds the search to a body that is ready but for it. */
  write(body: JsonObject, search: NativeSearch, quirks: Quirks, dropped: string[]): void
}

const withoutDomains = ({ allowed, excluded }: NativeSearch): boolean => allowed.length + excluded.length === 0

const addTool = (body: JsonObject, tool: JsonObject): void => {
  body.tools = [...(Array.isArray(body.tools) ? body.tools : []), tool]
}

/** Names of countries, in English, by their two letters. Made at their first use: their data take 4 MB of each process that reads them. */
let countries: Intl.DisplayNames | undefined

function countryName(location: JsonObject | undefined): string | undefined {
  const { country } = location ?? {}
  if (typeof country !== 'string') return undefined
  countries ??= new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' })
  try {
    return countries.of(country.toUpperCase())?.toLowerCase()
  } catch {
    return undefined
  }
}

function searchSettings({ allowed, excluded, location }: NativeSearch, dropped: string[]): JsonObject | undefined {
  const settings: JsonObject = {}
  if (allowed.length > 0) settings.include_domains = [...allowed]
  if (excluded.length > 0) settings.exclude_domains = [...excluded]
  const country = countryName(location)
  if (country !== undefined) settings.country = country
  else if (location) dropped.push('web_search.user_location')
  return Object.keys(settings).length > 0 ? settings : undefined
}

const FORMS: Readonly<Record<SearchFormName, SearchForm>> = {
  // openai 7.59.0, ChatCompletionCreateParams.WebSearchOptions
  options: {
    canExpress: withoutDomains,
    isTool: false,
    besideFunctions: true,
    write: (body, { contextSize, location }) => {
      const options: JsonObject = {}
      if (contextSize !== undefined) options.search_context_size = contextSize
      if (location) options.user_location = { type: 'approximate', approximate: location }
      body.web_search_options = options
    },
  },
  // npm @perplexity-ai/perplexity_ai 0.38.5, ApiChatCompletionsRequestInput: each answer searches; a domain behind a dash is excluded.
  filters: {
    canExpress: ({ allowed, excluded }) => allowed.length === 0 || excluded.length === 0,
    isTool: false,
    besideFunctions: true,
    write: (body, { contextSize, location, allowed, excluded }) => {
      const options: JsonObject = {}
      if (contextSize !== undefined) options.search_context_size = contextSize
      if (location) {
        const { city, country, region } = location
        options.user_location = Object.fromEntries(Object.entries({ city, country, region }).filter(([, value]) => value !== undefined))
      }
      if (Object.keys(options).length > 0) body.web_search_options = options
      const domains = [...allowed, ...excluded.map((domain) => `-${domain}`)]
      if (domains.length > 0) body.search_domain_filter = domains
    },
  },
  // npm groq-sdk 1.6.0, CompletionCreateParams.SearchSettings: Compound decides when it searches, and takes no functions of the caller's.
  settings: {
    canExpress: () => true,
    isTool: false,
    besideFunctions: false,
    write: (body, search, _quirks, dropped) => {
      const settings = searchSettings(search, dropped)
      if (settings) body.search_settings = settings
    },
  },
  // npm groq-sdk 1.6.0, ChatCompletionTool; console.groq.com/docs/browser-search
  browser_search: {
    canExpress: withoutDomains,
    isTool: true,
    besideFunctions: true,
    write: (body) => addTool(body, { type: 'browser_search' }),
  },
  // platform.kimi.ai/docs/guide/use-web-search: thinking must be off.
  builtin_function: {
    canExpress: withoutDomains,
    isTool: true,
    besideFunctions: true,
    write: (body, _search, { thinking_off: way }, dropped) => {
      addTool(body, { type: BUILTIN, function: { name: BUILTIN_SEARCH } })
      const { reasoning_effort: effort, thinking } = body
      if (!switchThinkingOff(body, way)) return
      delete body.reasoning_effort
      if (effort !== undefined || (isObject(thinking) && thinking.type !== 'disabled')) dropped.push('reasoning')
    },
  },
}

/** The form that the endpoint takes. */
export function searchForm({ web_search_form: form = 'options' }: Quirks): SearchForm {
  return FORMS[form]
}
