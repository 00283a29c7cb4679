/** One search: calls the engine, reads its answer, applies the domain rules again, and cuts the list to the wanted number. */
import type { Json } from '../../core/json.ts'
import { domainRules } from '../outbound/domains.ts'
import { type AskOptions, askEngine, EngineError } from './ask-engine.ts'
import type { EngineAccount, FoundPage, SearchQuery, SearchResult } from './types.ts'

const TITLE = 300
const ADDRESS = 2000

/**
 * @returns at most `query.count` results, each address once, in the engine's order.
 * @throws EngineError
 */
export async function searchWeb(account: EngineAccount, query: SearchQuery, options: AskOptions): Promise<SearchResult[]> {
  const { engine } = account
  const capped = { ...query, count: Math.min(query.count, engine.most) }
  try {
    return chosen(engine.read(await askEngine(engine.ask(capped, account), options)), query)
  } catch (thrown) {
    throw new EngineError(engine.name, thrown instanceof Error ? thrown.message : 'failed')
  }
}

function chosen(pages: readonly FoundPage[], query: SearchQuery): SearchResult[] {
  const { count, characters, allowed, excluded } = query
  const permits = domainRules({ allowed, blocked: excluded })
  const results = new Map<string, SearchResult>()
  for (const { url: address, title, content, published } of pages) {
    if (results.size >= count) break
    const url = typeof address === 'string' && address.length <= ADDRESS ? URL.parse(address) : null
    if (!url || !/^https?:$/.test(url.protocol) || results.has(url.href) || !permits(url)) continue
    const result: SearchResult = {
      url: url.href,
      title: cut(plain(title), TITLE) || url.hostname,
      content: cut(plain(content), characters),
    }
    if (typeof published === 'string' && published !== '') result.published = cut(plain(published), 40)
    results.set(url.href, result)
  }
  return [...results.values()]
}

const NAMED: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&#x27;': "'",
  '&nbsp;': ' ',
}

/** Some engines mark the words of the query with tags, and write entities. */
function plain(value: Json | undefined): string {
  if (typeof value !== 'string') return ''
  return value
    .replace(/<\/?(?:strong|b|em|i|mark|span|br|p)\b[^<>]*>/gi, '')
    .replace(/&(?:amp|lt|gt|quot|#39|#x27|nbsp);/g, (entity) => NAMED[entity] ?? entity)
    .trim()
}

/** Never between the halves of a character. */
function cut(text: string, most: number): string {
  if (text.length <= most) return text
  return text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '')
}
