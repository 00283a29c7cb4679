/** Additions of providers of this wire to a prompt (OpenAI, "Using tools"; types of openai 7.57.0, `Tool`). */
import { asObjects, isObject, type JsonObject } from '../../core/json.ts'
import { boundedCalls, LEAVE_OUT, type OutsideTable, REST_OF_CONTEXT, SEARCH_TOKENS } from '../canon/outside-input.ts'
import { addedNativeTools } from './added-tools.ts'

/** Calls of a search that a hold counts where the caller sets no bound. */
const SEARCHES = 10

export const outsideInput: OutsideTable = {
  from: 'own',
  // Results of a search for tools offer what stands in them (added-tools.ts has those that no other wire could run).
  elsewhere: ({ input }) =>
    asObjects(input).flatMap((item) =>
      item.type === 'tool_search_output' ? asObjects(item.tools).filter(({ type }) => type === 'mcp') : [],
    ),
  tools: [
    { type: /^(?:mcp|file_search|code_interpreter)$/, tokens: () => REST_OF_CONTEXT, runs: true, help: LEAVE_OUT },
    // xAI, "X Search": sent with so many calls, as other searches are.
    { type: /^x_search$/, tokens: () => SEARCHES * SEARCH_TOKENS, help: 'set max_tool_calls lower' },
    // The caller itself runs one that is local.
    {
      type: /^shell$/,
      tokens: ({ environment }) => (isObject(environment) && environment.type !== 'local' ? REST_OF_CONTEXT : 0),
      runs: true,
      help: LEAVE_OUT,
    },
  ],
  fields: {},
  // `conversation` is refused (check.ts), a stored prompt is written out (prompt.ts), and what `previous_response_id` names over a WebSocket
  // is put into the input.
  harmless: new Set([
    ...['client_metadata', 'prompt_cache_options', 'prompt_cache_retention', 'moderation', 'background', 'top_logprobs'],
    ...['previous_response_id', 'conversation'],
  ]),
}

/** Tools whose calls `max_tool_calls` bounds. */
const RUN_BY_PROVIDERS = /^(?:web_search|(?:file_search|code_interpreter|x_search|image_generation|mcp|shell)$)/

/**
 * `max_tool_calls` bounds the calls of all tools that the provider runs together; further ones are ignored (types of openai 7.57.0,
 * `ResponseCreateParams.max_tool_calls`).
 * @param most the caller's own bound. @param limited a limit applies: tools are sent with the calls that are held or kept free.
 */
export function capCalls(body: JsonObject, most: number | undefined, limited: boolean): void {
  if ((body.max_tool_calls ?? undefined) !== undefined) return
  const tools = [...asObjects(body.tools), ...addedNativeTools(body).map(({ of }) => of.data)]
  const calls = boundedCalls(tools)
  if (most !== undefined && most >= 1) {
    if (tools.some(({ type }) => RUN_BY_PROVIDERS.test(String(type)))) body.max_tool_calls = most
  } else if (limited && calls !== undefined) body.max_tool_calls = calls
}
