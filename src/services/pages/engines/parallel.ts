import { isObject } from '../../../core/json.ts'
import type { PageEngine } from '../types.ts'

/** Parallel, Extract API v1 (docs.parallel.ai/api-reference/extract/extract). */
export const parallel: PageEngine = {
  name: 'parallel',
  url: 'https://api.parallel.ai',

  ask(page, { url, key }) {
    const full_content = { max_chars_per_result: page.characters }
    return { url: `${url}/v1/extract`, headers: { 'x-api-key': key }, body: { urls: [page.url], advanced_settings: { full_content } } }
  },

  read({ results }) {
    const [found] = Array.isArray(results) ? results.filter(isObject) : []
    if (!found) return undefined
    const { url, title, full_content: whole, excerpts } = found
    const parts = Array.isArray(excerpts) ? excerpts.filter((one) => typeof one === 'string') : []
    return { url, title, content: typeof whole === 'string' ? whole : parts.join('\n\n') }
  },
}
