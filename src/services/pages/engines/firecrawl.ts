import { isObject } from '../../../core/json.ts'
import type { PageEngine } from '../types.ts'

/** Firecrawl, scrape of one address (docs.firecrawl.dev/api-reference/endpoint/scrape, v2). */
export const firecrawl: PageEngine = {
  name: 'firecrawl',
  url: 'https://api.firecrawl.dev',

  ask(page, { url, key }) {
    return { url: `${url}/v2/scrape`, headers: { authorization: `Bearer ${key}` }, body: { url: page.url, formats: ['markdown'] } }
  },

  read({ success, data }) {
    if (success === false) return undefined
    if (!isObject(data)) throw new Error('unreadable')
    const facts = isObject(data.metadata) ? data.metadata : {}
    return { url: facts.sourceURL, title: facts.title, content: data.markdown, httpStatus: facts.statusCode }
  },
}
