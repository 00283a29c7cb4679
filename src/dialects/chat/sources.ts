/**
 * Pages that a provider has read for an answer, as annotations of its text. On this wire each provider shows them in a form of its own:
 * - `search_results` and `citations` of the reply, which numbers in the text count from 1 (npm @perplexity-ai/perplexity_ai 0.38.5,
 *   `CompletionResponse`, `ApiPublicSearchResult`; docs.perplexity.ai, Sonar quickstart);
 * - `executed_tools` of the message (npm groq-sdk 1.6.0, `ChatCompletionMessage.ExecutedTool`; recorded: test_groq_model_web_search_tool);
 * - parts `reference` and `tool_reference` of the content (npm @mistralai/mistralai 2.7.0, `ReferenceChunk`, `ToolReferenceChunk`).
 */
import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { CitedResults, Page } from '../canon/cited-results.ts'
import type { Quirks } from '../quirks.ts'
import type { Sent } from '../types.ts'
import { nestedAnnotation } from './annotations.ts'
import { BUILTIN_SEARCH } from './web-search.ts'

/** A number in the text that counts a source. */
const NUMBER = /\[(\d{1,3})\]/g
/** Pages of one answer, and places in its text, that are cited at most. */
const MAX_PAGES = 200
const MAX_PLACES = 500

/** Types of executed tools that search; `visit` and code have fees of other kinds (recorded: `search`, `visit`; groq-sdk 1.6.0: `browser_search`). */
const SEARCHES: ReadonlySet<unknown> = new Set(['search', 'web_search', 'browser_search'])

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

const toPage = ({ url, title, snippet, content }: JsonObject): Page => ({
  url: text(url),
  title: text(title),
  content: text(snippet) || text(content),
})

function citation({ url, title, content }: Page, start: number, end: number): JsonObject {
  return { type: 'url_citation', url, title, start_index: start, end_index: end, ...(content === '' ? {} : { content }) }
}

/** The sources of one reply, and what of them its text cites. */
export class Sources {
  private readonly pages = new Map<string, Page>()
  private readonly cited = new Set<string>()
  private numbered: readonly Page[] = []
  private readonly searched = new Set<unknown>()
  private readonly results: CitedResults | undefined
  /** True where numbers in the text count the sources. */
  readonly areNumbered: boolean

  /** True where calls of the provider's own search are the gateway's to answer. */
  readonly echoesSearch: boolean

  constructor(quirks?: Quirks, { cited, echoesSearch }: Sent = {}) {
    this.areNumbered = quirks?.citations === 'numbers'
    this.results = cited
    this.echoesSearch = echoesSearch === true
  }

  /** A call of the model, by its place: of its provider's own search it has a fee (platform.kimi.ai/docs/pricing/tools). */
  readCall(name: string, place: number): void {
    if (name === BUILTIN_SEARCH) this.searched.add(`call ${place}`)
  }

  /** Searches that the provider has run, as far as the reply has shown. */
  get searches(): number {
    return this.searched.size
  }

  /** The members of a chunk or of a whole reply. */
  readReply({ search_results: results, citations }: JsonObject): void {
    if (!this.areNumbered) return
    const found = Array.isArray(results) && results.length > 0 ? asObjects(results).map(toPage) : linksIn(citations)
    if (found.length > 0) this.numbered = found.slice(0, MAX_PAGES)
    for (const page of this.numbered) this.add(page)
  }

  /** The member `executed_tools` of a message or of a delta, in which a tool may come twice: without its output, and with it. */
  readTools(tools: Json | undefined): void {
    for (const [place, { index = place, type, search_results: found, browser_results: browsed }] of asObjects(tools).entries()) {
      if (SEARCHES.has(type)) this.searched.add(index)
      if (isObject(found)) for (const result of asObjects(found.results)) this.add(toPage(result))
      for (const result of asObjects(browsed)) this.add(toPage(result))
    }
  }

  /** Annotations of a text that has ended: where it has numbers; each other source once, without a place. */
  annotations(of: string): JsonObject[] {
    const found: JsonObject[] = []
    if (this.numbered.length > 0) {
      for (const { 0: mark, 1: number, index } of of.matchAll(NUMBER)) {
        const page = this.numbered[Number(number) - 1]
        if (page === undefined || page.url === '' || found.length >= MAX_PLACES) continue
        found.push(citation(page, index, index + mark.length))
        this.cited.add(page.url)
      }
    }
    for (const page of this.pages.values()) {
      if (this.cited.has(page.url)) continue
      this.cited.add(page.url)
      found.push(citation(page, 0, 0))
    }
    return found
  }

  /** Annotations of the text between two places, from a part of the content that stands behind it; undefined for any other part. */
  references(part: JsonObject, from: number, to: number): JsonObject[] | undefined {
    if (part.type === 'tool_reference') {
      const { url, title, description } = part
      return typeof url === 'string' ? [citation({ url, title: text(title), content: text(description) }, from, to)] : []
    }
    if (part.type !== 'reference') return undefined
    const ids = Array.isArray(part.reference_ids) ? part.reference_ids : []
    return ids.slice(0, MAX_PAGES).map((id) => {
      const page = this.results?.get(String(id))
      if (page === undefined || page.url === '')
        return { type: 'file_citation', file_id: String(id), filename: page?.title ?? '', index: to }
      return citation(page, from, to)
    })
  }

  private add(page: Page): void {
    if (page.url !== '' && this.pages.size < MAX_PAGES && !this.pages.has(page.url)) this.pages.set(page.url, page)
  }
}

/**
 * Puts the sources of executed tools beside them, as annotations, in place.
 * @returns true where there were any that have not been cited before.
 */
export function citeTools(message: JsonObject, sources: Sources): boolean {
  sources.readTools(message.executed_tools)
  const found = sources.annotations('').map((flat) => nestedAnnotation(flat))
  if (found.length > 0) message.annotations = [...asObjects(message.annotations), ...found.filter((each) => each !== undefined)]
  return found.length > 0
}

function linksIn(citations: Json | undefined): Page[] {
  if (!Array.isArray(citations)) return []
  return citations.map((each) => (isObject(each) ? toPage(each) : { url: text(each), title: '', content: '' }))
}
