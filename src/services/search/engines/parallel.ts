import { isObject, type JsonObject } from '../../../core/json.ts'
import type { FoundPage, SearchEngine } from '../types.ts'
import { allowedHosts, wholeHosts } from './domain-lists.ts'
import { shortened } from './query-text.ts'

/** Characters of a query and of the objective, and entries of the domain lists. */
const MAX_CHARACTERS = 200
const MAX_OBJECTIVE_LENGTH = 5000
const MAX_DOMAINS = 200
const MODES: ReadonlySet<string> = new Set(['turbo', 'basic', 'advanced'])

/** Parallel, Search API v1 (docs.parallel.ai/api-reference/search/search). */
export const parallel: SearchEngine = {
  name: 'parallel',
  url: 'https://api.parallel.ai',
  keyed: true,
  most: 40,
  bothLists: false,

  ask({ text, count, characters, allowed, excluded, location, mode }, { url, key }) {
    const settings: JsonObject = { max_results: count, excerpt_settings: { max_chars_per_result: characters } }
    const without = wholeHosts(excluded)
    if (allowed.length > 0) settings.source_policy = { include_domains: allowedHosts(allowed).slice(0, MAX_DOMAINS) }
    else if (without.length > 0) settings.source_policy = { exclude_domains: without.slice(0, MAX_DOMAINS) }
    if (location?.country) settings.location = location.country.toLowerCase()
    const body: JsonObject = {
      objective: shortened(text, MAX_OBJECTIVE_LENGTH),
      search_queries: [shortened(text, MAX_CHARACTERS)],
      advanced_settings: settings,
    }
    if (mode !== undefined && MODES.has(mode)) body.mode = mode
    return { url: `${url}/v1/search`, headers: { 'x-api-key': key }, body }
  },

  read({ results }: JsonObject): FoundPage[] {
    const found = Array.isArray(results) ? results.filter(isObject) : []
    return found.map(({ url, title, excerpts, publish_date: published }) => ({
      url,
      title,
      content: Array.isArray(excerpts) ? excerpts.filter((one) => typeof one === 'string').join('\n') : '',
      published,
    }))
  },
}
