import { isObject } from '../../../core/json.ts'
import type { PageEngine } from '../types.ts'

/** Exa, contents of one address (exa.ai/docs/reference/get-contents). */
export const exa: PageEngine = {
  name: 'exa',
  url: 'https://api.exa.ai',

  ask(page, { url, key }) {
    return { url: `${url}/contents`, headers: { 'x-api-key': key }, body: { urls: [page.url], text: { maxCharacters: page.characters } } }
  },

  read({ results, statuses }) {
    const [status] = Array.isArray(statuses) ? statuses.filter(isObject) : []
    if (status?.status === 'error') return undefined
    const [found] = Array.isArray(results) ? results.filter(isObject) : []
    return found && { url: found.url, title: found.title, content: found.text }
  },
}
