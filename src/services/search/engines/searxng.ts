import { isObject, type JsonObject } from '../../../core/json.ts'
import type { FoundPage, SearchEngine } from '../types.ts'
import { withSites } from './query-text.ts'

/** SearXNG's own JSON format (docs.searxng.org/dev/search_api.html); `search.formats` of the instance must list `json`. */
export const searxng: SearchEngine = {
  name: 'searxng',
  url: undefined,
  keyed: false,
  most: 25,
  bothLists: false,

  ask(query, { url }) {
    const params = new URLSearchParams({ q: withSites(query, 1000), format: 'json' })
    return { url: `${url}/search?${params}`, headers: {} }
  },

  read({ results, unresponsive_engines: silent }: JsonObject): FoundPage[] {
    const found = Array.isArray(results) ? results.filter(isObject) : []
    // An empty list counts as a failure where one of its engines did not respond.
    if (found.length === 0 && Array.isArray(silent) && silent.length > 0) throw new Error('its engines do not respond')
    return found.map(({ url, title, content, publishedDate }) => ({ url, title, content, published: publishedDate }))
  },
}
