/** Annotations: nested by type on the chat wire, flat in the canon. */
import { isObject, type JsonObject } from '../../core/json.ts'
import { mendCitations } from '../canon/places.ts'
import { WIRE } from './wire.ts'

/** Types that the canon has flat; any other is for this wire alone. */
const FLAT: ReadonlySet<unknown> = new Set(['url_citation', 'file_citation', 'file_path'])

/** `{type, url_citation: {url, …}}` becomes `{type, url, …}`; what the canon does not know stands in `native`. */
export function flatAnnotation(nested: JsonObject): JsonObject {
  mendCitations([nested])
  const { type } = nested
  const inner = nested[String(type)]
  if (FLAT.has(type)) return isObject(inner) ? { type, ...inner } : nested
  return { type, native: { dialect: WIRE, data: nested } }
}

/** Text that the gateway read of a file of the request. */
const isFileNote = ({ type, hash }: JsonObject): boolean => type === 'file' && typeof hash === 'string'

/**
 * The other way round; undefined for an annotation that only another wire knows.
 * @param before characters of the message in front of the annotated text.
 */
export function nestedAnnotation(flat: JsonObject, before = 0): JsonObject | undefined {
  const { type, native, ...inner } = flat
  const { start_index: start, end_index: end } = inner
  // Without a place both are 0.
  if (before > 0 && typeof start === 'number' && typeof end === 'number' && end > 0)
    Object.assign(inner, { start_index: start + before, end_index: end + before })
  if (isObject(native) && native.dialect === WIRE && isObject(native.data)) return native.data
  if (!FLAT.has(type) && !isFileNote(flat)) return undefined
  const name = String(type)
  return isObject(inner[name]) ? { type, [name]: inner[name] } : { type, [name]: inner }
}
