/** Results of the gateway's tools in the blocks that this wire's own provider publishes for tools of the same kind. */
import { type Json, type JsonObject, objectsOf, objectWithin, stringOf } from '../../core/json.ts'

interface Published {
  /** Name of the tool and beginning of its types. */
  readonly name: string
  /** @param result what the model received. @returns undefined where it reports a failure. */
  content(result: JsonObject): Json | undefined
  readonly errors: ReadonlySet<string>
  /** For a failure that names no such code. */
  readonly usualError: string
}

const COMMON_ERRORS = ['invalid_tool_input', 'unavailable', 'max_uses_exceeded', 'too_many_requests']

const PUBLISHED: readonly Published[] = [
  {
    name: 'web_search',
    content: ({ results }) =>
      Array.isArray(results)
        ? objectsOf(results).map(({ url, title, published }) => ({
            type: 'web_search_result',
            url: stringOf(url) ?? '',
            title: stringOf(title) ?? '',
            // What is encrypted there only its provider could read.
            encrypted_content: '',
            page_age: stringOf(published) ?? null,
          }))
        : undefined,
    errors: new Set([...COMMON_ERRORS, 'query_too_long', 'request_too_large']),
    usualError: 'unavailable',
  },
  {
    name: 'web_fetch',
    content: ({ url, title, content, retrieved_at: at }) =>
      typeof content === 'string'
        ? {
            type: 'web_fetch_result',
            url: stringOf(url) ?? '',
            content: {
              type: 'document',
              source: { type: 'text', media_type: 'text/plain', data: content },
              title: stringOf(title) ?? null,
              citations: null,
            },
            retrieved_at: stringOf(at) ?? null,
          }
        : undefined,
    errors: new Set([
      ...COMMON_ERRORS,
      'url_too_long',
      'url_not_allowed',
      'url_not_in_prior_context',
      'url_not_accessible',
      'unsupported_content_type',
      'content_too_large',
    ]),
    usualError: 'url_not_accessible',
  },
]

/**
 * The pair of blocks of such a tool; undefined for any other.
 * @param type of the output item, `<brand>:<name>`.
 * @param call its arguments, and `result`, the JSON text that the model received; an `error_code` in it is shown where the wire knows it.
 */
export function publishedBlocks(
  type: string,
  { id, input, result }: { id: string; input: JsonObject; result: Json | undefined },
): [use: JsonObject, result: JsonObject] | undefined {
  const name = type.slice(type.indexOf(':') + 1)
  const form = PUBLISHED.find((each) => each.name === name)
  if (!form) return undefined
  const received = objectIn(result)
  const caller = { type: 'direct' }
  const code = stringOf(received.error_code) ?? ''
  const error = { type: `${name}_tool_result_error`, error_code: form.errors.has(code) ? code : form.usualError }
  const content = form.content(received) ?? error
  return [
    { type: 'server_tool_use', id, name, input, caller },
    { type: `${name}_tool_result`, tool_use_id: id, content, caller },
  ]
}

function objectIn(text: Json | undefined): JsonObject {
  return (typeof text === 'string' ? objectWithin(text) : undefined) ?? {}
}
