import { isObject, type JsonObject } from '../../../core/json.ts'
import type { FoundPage, SearchEngine } from '../types.ts'
import { allowedHosts, wholeHosts } from './domain-lists.ts'
import { shortened } from './query-text.ts'

const MAX_CHARACTERS = 500

/** Firecrawl, search without scraping of the pages (docs.firecrawl.dev/api-reference/endpoint/search, v2). */
export const firecrawl: SearchEngine = {
  name: 'firecrawl',
  url: 'https://api.firecrawl.dev',
  keyed: true,
  most: 100,
  bothLists: false,

  ask({ text, count, allowed, excluded, location }, { url, key }) {
    const body: JsonObject = { query: shortened(text, MAX_CHARACTERS), limit: count, sources: ['web'] }
    const without = wholeHosts(excluded)
    // It takes one list.
    if (allowed.length > 0) body.includeDomains = allowedHosts(allowed)
    else if (without.length > 0) body.excludeDomains = without
    if (location?.country) body.country = location.country
    return { url: `${url}/v2/search`, headers: { authorization: `Bearer ${key}` }, body }
  },

  read({ success, data }: JsonObject): FoundPage[] {
    if (success === false) throw new Error('refused')
    const found = isObject(data) && Array.isArray(data.web) ? data.web.filter(isObject) : []
    return found.map(({ url, title, description }) => ({ url, title, content: description }))
  },
}
