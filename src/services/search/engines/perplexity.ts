import { isObject, type JsonObject } from '../../../core/json.ts'
import type { FoundPage, SearchEngine } from '../types.ts'
import { allowedHosts, wholeHosts } from './domain-lists.ts'

const MAX_DOMAINS = 20
/** No language writes fewer characters per token on average, so that an excerpt is long enough to be cut. */
const CHARACTERS_PER_TOKEN = 2
const MAX_TOKENS = 16_384

/** Perplexity, Search API (docs.perplexity.ai/api-reference/search-post). */
export const perplexity: SearchEngine = {
  name: 'perplexity',
  url: 'https://api.perplexity.ai',
  keyed: true,
  most: 20,
  // Its one list holds allowed or excluded domains: with both, the allowed ones are sent.
  bothLists: true,

  ask({ text, count, characters, allowed, excluded, location }, { url, key }) {
    const body: JsonObject = {
      query: text,
      max_results: count,
      max_tokens_per_page: Math.min(Math.ceil(characters / CHARACTERS_PER_TOKEN), MAX_TOKENS),
    }
    const domains = allowed.length > 0 ? allowedHosts(allowed) : wholeHosts(excluded).map((domain) => `-${domain}`)
    if (domains.length > 0) body.search_domain_filter = domains.slice(0, MAX_DOMAINS)
    if (location?.country) body.country = location.country
    return { url: `${url}/search`, headers: { authorization: `Bearer ${key}` }, body }
  },

  read({ results }: JsonObject): FoundPage[] {
    const found = Array.isArray(results) ? results.filter(isObject) : []
    return found.map(({ url, title, snippet, date }) => ({ url, title, content: snippet, published: date }))
  },
}
