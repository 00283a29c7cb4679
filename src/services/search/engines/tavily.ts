import { isObject, type JsonObject } from '../../../core/json.ts'
import type { FoundPage, SearchEngine } from '../types.ts'
import { allowedHosts, wholeHosts } from './domain-lists.ts'
import { shortened } from './query-text.ts'

const MAX_CHARACTERS = 400
const DEPTHS: ReadonlySet<string> = new Set(['basic', 'advanced', 'fast'])

/** Tavily Search (docs.tavily.com/documentation/api-reference/endpoint/search). */
export const tavily: SearchEngine = {
  name: 'tavily',
  url: 'https://api.tavily.com',
  keyed: true,
  most: 20,
  bothLists: false,

  ask({ text, count, allowed, excluded, mode }, { url, key }) {
    const body: JsonObject = { query: shortened(text, MAX_CHARACTERS), max_results: count }
    if (mode !== undefined && DEPTHS.has(mode)) body.search_depth = mode
    if (allowed.length > 0) body.include_domains = allowedHosts(allowed)
    const without = wholeHosts(excluded)
    if (without.length > 0) body.exclude_domains = without
    return { url: `${url}/search`, headers: { authorization: `Bearer ${key}` }, body }
  },

  read({ results }: JsonObject): FoundPage[] {
    const found = Array.isArray(results) ? results.filter(isObject) : []
    return found.map(({ url, title, content, published_date: published }) => ({ url, title, content, published }))
  },
}
