/**
 * Tools that the gateway ran, as the pair of blocks that this wire shows a tool of the server by: for tools of the same kind those that its
 * own provider publishes.
 */
import { asObjects, asString, isObject, type Json, type JsonObject, objectWithin, present } from '../../core/json.ts'
import type { Opaque } from '../canon/request.ts'
import { parsedInput } from './tool-input.ts'

/** Marks the blocks when a caller sends them back. */
const ID = 'srvtoolu_hg_'

/** True for either block of such a pair. */
export function isGatewayTool(block: JsonObject): boolean {
  const id = block.type === 'server_tool_use' ? block.id : block.tool_use_id
  return typeof id === 'string' && id.startsWith(ID)
}

/**
 * `server_tool_use` and its result: in the form that the provider of this wire publishes for a tool of that kind,
 * else of type `<brand>_<name>_tool_result`.
 * @param of the output item; `call` in its data, where present, holds the arguments and the result that the model received.
 * @param place position among such items of the reply; names the pair where the call has no id.
 */
export function gatewayToolBlocks(of: Opaque, place: number): [use: JsonObject, result: JsonObject] {
  const { call, ...item } = of.data
  const record = isObject(call) ? call : of.data
  const id = ID + (asString(record.tool_call_id) ?? String(place)).replace(/[^A-Za-z0-9_]/g, '_')
  const word = of.type.replace(/[^A-Za-z0-9_]/g, '_')
  const input = parsedInput(asString(record.arguments) ?? '')
  const published = publishedBlocks(of.type, { id, input, result: record.result })
  if (published) return published
  return [
    { type: 'server_tool_use', id, name: of.type, input, caller: { type: 'direct' } },
    { type: `${word}_tool_result`, tool_use_id: id, content: present({ ...item, type: `${word}_result` }) },
  ]
}

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
        ? asObjects(results).map(({ url, title, published }) => ({
            type: 'web_search_result',
            url: asString(url) ?? '',
            title: asString(title) ?? '',
            // What is encrypted there only its provider could read.
            encrypted_content: '',
            page_age: asString(published) ?? null,
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
            url: asString(url) ?? '',
            content: {
              type: 'document',
              source: { type: 'text', media_type: 'text/plain', data: content },
              title: asString(title) ?? null,
              citations: null,
            },
            retrieved_at: asString(at) ?? null,
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
function publishedBlocks(
  type: string,
  { id, input, result }: { id: string; input: JsonObject; result: Json | undefined },
): [use: JsonObject, result: JsonObject] | undefined {
  const name = type.slice(type.indexOf(':') + 1)
  const form = PUBLISHED.find((each) => each.name === name)
  if (!form) return undefined
  const received = objectIn(result)
  const caller = { type: 'direct' }
  const code = asString(received.error_code) ?? ''
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
