/** Citations of this wire and annotations of the canon, each as the other. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { mendCitations, mendPlaces } from '../canon/places.ts'
import { WIRE } from './wire.ts'

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/**
 * A citation speaks for its whole text block, so the annotation spans that block.
 * @param length of the block's text, in UTF-16 units.
 * @returns the flat annotation with the citation itself as `native`.
 */
export function toAnnotation(citation: JsonObject, length: number): JsonObject {
  mendPlaces(citation)
  const native: JsonObject = { dialect: WIRE, data: citation }
  const link = text(citation.url) || (/^https?:/.test(text(citation.source)) ? text(citation.source) : '')
  if (link !== '') {
    const annotation: JsonObject = { type: 'url_citation', url: link, title: text(citation.title), start_index: 0, end_index: length }
    if (text(citation.cited_text) !== '') annotation.content = citation.cited_text
    return { ...annotation, native }
  }
  const filename = text(citation.document_title) || text(citation.title) || text(citation.source)
  return { type: 'file_citation', file_id: text(citation.file_id), filename, index: length, native }
}

/** Puts the offsets of the citations of a block, or the citation of a delta, right, in place. @returns true where it had to. */
export function mendBlock(block: Json | undefined): boolean {
  if (!isObject(block)) return false
  const { citation, citations } = block
  return isObject(citation) ? mendPlaces(citation) : mendCitations(citations)
}

/**
 * The citation of an annotation: the one it came as, or the nearest form of this wire.
 * @returns undefined for an annotation that has none.
 */
export function toCitation(annotation: JsonObject): JsonObject | undefined {
  const { native } = annotation
  if (isObject(native) && native.dialect === WIRE && isObject(native.data)) return native.data
  if (annotation.type === 'url_citation') {
    return {
      type: 'web_search_result_location',
      url: text(annotation.url),
      title: typeof annotation.title === 'string' ? annotation.title : null,
      cited_text: text(annotation.content),
      encrypted_index: '',
    }
  }
  if (annotation.type === 'file' && typeof annotation.hash === 'string') return annotation
  if (annotation.type !== 'file_citation') return undefined
  return {
    type: 'char_location',
    cited_text: '',
    document_index: 0,
    document_title: typeof annotation.filename === 'string' ? annotation.filename : null,
    file_id: typeof annotation.file_id === 'string' && annotation.file_id !== '' ? annotation.file_id : null,
    start_char_index: 0,
    end_char_index: 0,
  }
}
