/** Citations of a reply as annotations; those that Messages has as well keep their form, for callers of that format. */
import { asObjects, isObject, type Json, type JsonObject, present } from '../../core/json.ts'
import { isPlace } from '../canon/places.ts'

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
const number = (value: Json | undefined): number => (isPlace(value) ? value : 0)

/** Cited text, as one. */
function citedText({ sourceContent }: JsonObject): string {
  return asObjects(sourceContent)
    .map((each) => text(each.text))
    .join('')
}

type Places = readonly [type: string, start: string, end: string]

/** `CitationLocation`, and the citation of Messages that names the same place. */
const PLACES: ReadonlyMap<string, Places> = new Map<string, Places>([
  ['documentChar', ['char_location', 'start_char_index', 'end_char_index']],
  ['documentPage', ['page_location', 'start_page_number', 'end_page_number']],
  ['documentChunk', ['content_block_location', 'start_block_index', 'end_block_index']],
])

/** The citation as Messages has it; undefined for one of the web, which every format knows. */
function nativeCitation(citation: JsonObject, kind: string, place: JsonObject): JsonObject | undefined {
  const cited_text = citedText(citation)
  const title = typeof citation.title === 'string' ? citation.title : null
  const known = PLACES.get(kind)
  if (known) {
    const [type, start, end] = known
    const document = { document_index: number(place.documentIndex), document_title: title }
    return { type, cited_text, ...document, [start]: number(place.start), [end]: number(place.end) }
  }
  if (kind !== 'searchResultLocation') return undefined
  const blocks = { start_block_index: number(place.start), end_block_index: number(place.end) }
  const source = text(citation.source)
  return { type: 'search_result_location', cited_text, source, title, search_result_index: number(place.searchResultIndex), ...blocks }
}

/**
 * A citation speaks for its whole block, so the annotation spans that block.
 * @param length of the block's text, in UTF-16 units.
 */
export function toAnnotation(citation: JsonObject, length: number): JsonObject {
  const [kind = '', place] = Object.entries(isObject(citation.location) ? citation.location : {})[0] ?? []
  const location = isObject(place) ? place : {}
  const data = nativeCitation(citation, kind, location)
  const native = data === undefined ? undefined : { dialect: 'messages', data }
  const title = text(citation.title)
  const source = text(citation.source)
  const url = text(location.url) || (/^https?:/.test(source) ? source : '')
  if (url === '') return present({ type: 'file_citation', file_id: '', filename: title || source, index: length, native })
  const content = citedText(citation) || undefined
  return present({ type: 'url_citation', url, title, start_index: 0, end_index: length, content, native })
}
