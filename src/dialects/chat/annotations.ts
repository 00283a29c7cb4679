/** Annotations: nested by type on the chat wire, flat in the canon. */
import { isObject, type JsonObject } from '../../core/json.ts'

/** `{type, url_citation: {url, …}}` becomes `{type, url, …}`; other types stay as they are. */
export function flatAnnotation(nested: JsonObject): JsonObject {
  const inner = nested.url_citation
  return nested.type === 'url_citation' && isObject(inner) ? { type: 'url_citation', ...inner } : nested
}

/** The other way round. */
export function nestedAnnotation(flat: JsonObject): JsonObject {
  if (flat.type !== 'url_citation' || isObject(flat.url_citation)) return flat
  const { type, ...inner } = flat
  return { type, url_citation: inner }
}
