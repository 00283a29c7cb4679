import { isObject, type JsonObject } from '../../../core/json.ts'
import type { FoundPage, SearchEngine } from '../types.ts'

const MODES: ReadonlySet<string> = new Set(['instant', 'fast', 'auto', 'deep-lite', 'deep', 'deep-reasoning'])

/** Exa, search with highlights of each page (exa.ai/docs/reference/search). */
export const exa: SearchEngine = {
  name: 'exa',
  url: 'https://api.exa.ai',
  keyed: true,
  most: 100,
  bothLists: true,

  ask({ text, count, characters, allowed, excluded, location, mode }, { url, key }) {
    const body: JsonObject = {
      query: text,
      numResults: count,
      type: mode !== undefined && MODES.has(mode) ? mode : 'auto',
      contents: { highlights: { maxCharacters: characters } },
    }
    if (allowed.length > 0) body.includeDomains = [...allowed]
    if (excluded.length > 0) body.excludeDomains = [...excluded]
    if (location?.country) body.userLocation = location.country
    return { url: `${url}/search`, headers: { 'x-api-key': key }, body }
  },

  read({ results }: JsonObject): FoundPage[] {
    const found = Array.isArray(results) ? results.filter(isObject) : []
    return found.map(({ url, title, highlights, text, publishedDate }) => ({
      url,
      title,
      content: Array.isArray(highlights) ? highlights.filter((one) => typeof one === 'string').join('\n') : text,
      published: publishedDate,
    }))
  },
}
