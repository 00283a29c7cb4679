import { isObject, type JsonObject } from '../../../core/json.ts'
import type { FoundPage, SearchEngine } from '../types.ts'
import { withSites } from './query-text.ts'

/** A query has at most 400 characters and 50 words. */
const MAX_CHARACTERS = 400
const MAX_WORDS = 50

/** Brave Search, web results (api-dashboard.search.brave.com/api-reference/web/search/get). */
export const brave: SearchEngine = {
  name: 'brave',
  url: 'https://api.search.brave.com',
  keyed: true,
  most: 20,
  bothLists: false,

  ask(query, { url, key }) {
    const words = query.text.split(/\s+/, MAX_WORDS - 2 * Math.min(8, query.allowed.length) - Math.min(8, query.excluded.length))
    const q = withSites({ ...query, text: words.join(' ') }, MAX_CHARACTERS)
    const params = new URLSearchParams({
      q,
      count: String(query.count),
      result_filter: 'web',
      text_decorations: 'false',
      extra_snippets: 'true',
    })
    const { location } = query
    if (location?.country) params.set('country', location.country)
    const headers: Record<string, string> = { 'x-subscription-token': key }
    if (location?.timezone) headers['x-loc-timezone'] = location.timezone
    return { url: `${url}/res/v1/web/search?${params}`, headers }
  },

  read({ web }: JsonObject): FoundPage[] {
    const results = isObject(web) && Array.isArray(web.results) ? web.results.filter(isObject) : []
    return results.map(({ url, title, description, extra_snippets: more, page_age: published }) => {
      const snippets = [description, ...(Array.isArray(more) ? more : [])].filter((one) => typeof one === 'string')
      return { url, title, content: snippets.join('\n'), published }
    })
  },
}
