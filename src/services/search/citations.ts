/** Results of a search as citations of the answer: a reader of its text that adds `url_citation` annotations. */

import type { JsonObject } from '../../core/json.ts'
import type { StreamEvent } from '../../dialects/canon/events.ts'
import type { SearchResult } from './types.ts'

/** Places of one result that are cited at most. */
const MAX_PLACES = 10
/** A character that continues an address: the text names another page then. */
const GOES_ON = /[\w~%/?#=&@+-]/

/**
 * Every result is cited once: where the answer links to it, else without a place (both indices 0).
 * Those without a place are cited at the end of a text that no further turn follows.
 */
export class Citations {
  readonly mode = 'mutate'
  private readonly results = new Map<string, SearchResult>()
  private readonly cited = new Set<string>()
  private readonly texts = new Map<number, string>()
  /** The end of a text, kept back until it is known what follows. */
  private held: { block: number; text: string } | undefined

  add(results: readonly SearchResult[]): void {
    for (const result of results) if (!this.results.has(result.url)) this.results.set(result.url, result)
  }

  get empty(): boolean {
    return this.results.size === 0
  }

  push(event: StreamEvent, emit: (event: StreamEvent) => void): void {
    switch (event.type) {
      case 'block-start':
        this.release(emit, true)
        if (event.kind === 'text') this.texts.set(event.block, '')
        break
      case 'block-delta': {
        const text = this.texts.get(event.block)
        if (text !== undefined) this.texts.set(event.block, text + event.text)
        break
      }
      case 'block-end': {
        const text = this.texts.get(event.block)
        this.texts.delete(event.block)
        if (text === undefined || text.trim() === '' || this.results.size === 0) break
        this.release(emit, true)
        this.held = { block: event.block, text }
        return
      }
      case 'end':
        // After a tool call the answer continues in another turn.
        this.release(emit, event.reason !== 'tool_calls')
        break
      case 'fault':
        this.release(emit, true)
    }
    emit(event)
  }

  /** @param all also results that no text has linked to. */
  private release(emit: (event: StreamEvent) => void, all: boolean): void {
    const { held } = this
    if (!held) return
    this.held = undefined
    for (const data of this.annotations(held.text, all)) emit({ type: 'block-note', block: held.block, note: 'annotation', data })
    emit({ type: 'block-end', block: held.block })
  }

  private annotations(text: string, all: boolean): JsonObject[] {
    const placed: { start: number; data: JsonObject }[] = []
    const placeless: JsonObject[] = []
    for (const result of this.results.values()) {
      const places = urlPlaces(result.url, text)
      for (const [start, end] of places) placed.push({ start, data: citation(result, start, end) })
      if (places.length === 0 && all && !this.cited.has(result.url)) placeless.push(citation(result, 0, 0))
      if (places.length > 0 || all) this.cited.add(result.url)
    }
    placed.sort((a, b) => a.start - b.start)
    return [...placed.map(({ data }) => data), ...placeless]
  }
}

function citation({ url, title, content }: SearchResult, start: number, end: number): JsonObject {
  return { type: 'url_citation', url, title, start_index: start, end_index: end, ...(content === '' ? {} : { content }) }
}

/** Places at which a text names an address, in UTF-16 units: the whole of a markdown link, else the address itself. */
function urlPlaces(url: string, text: string): [start: number, end: number][] {
  const shorter = url.endsWith('/') ? url.slice(0, -1) : url
  const places: [number, number][] = []
  for (let at = text.indexOf(shorter); at !== -1 && places.length < MAX_PLACES; at = text.indexOf(shorter, at + shorter.length)) {
    let end = at + shorter.length
    if (shorter !== url && text[end] === '/') end++
    if (GOES_ON.test(text[end] ?? '')) continue
    const open = text.startsWith('](', at - 2) && text[end] === ')' ? text.lastIndexOf('[', at - 2) : -1
    places.push(open === -1 || text.slice(open, at).includes('\n') ? [at, end] : [open, end + 1])
  }
  return places
}
