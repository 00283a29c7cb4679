/** What providers of this wire add to a prompt (OpenAI, "Using tools"; types of openai 7.59.0, `Tool`). */
import { isObject, type JsonObject, objectsOf } from '../../core/json.ts'
import { LEAVE_OUT, type OutsideTable, REST_OF_CONTEXT } from '../canon/outside-input.ts'

export const outsideInput: OutsideTable = {
  from: 'own',
  // Results of a search for tools offer what stands in them (added-tools.ts has those that no other wire could run).
  elsewhere: ({ input }) =>
    objectsOf(input).flatMap((item) =>
      item.type === 'tool_search_output' ? objectsOf(item.tools).filter(({ type }) => type === 'mcp') : [],
    ),
  tools: [
    { type: /^(?:mcp|file_search|code_interpreter)$/, tokens: () => REST_OF_CONTEXT, help: LEAVE_OUT },
    // The caller itself runs one that is local.
    {
      type: /^shell$/,
      tokens: ({ environment }) => (isObject(environment) && environment.type !== 'local' ? REST_OF_CONTEXT : 0),
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

/** Tools that the provider runs and whose calls the hold counts. */
const RUN_THERE = /^(?:web_search|file_search$|code_interpreter$|mcp$|shell$|x_search$|image_generation$)/

/** `max_tool_calls` bounds the calls of tools that the provider runs (types of openai 7.59.0, `ResponseCreateParams.max_tool_calls`). */
export function capCalls(body: JsonObject, most: number | undefined): void {
  if (most === undefined || most < 1 || body.max_tool_calls !== undefined) return
  if (objectsOf(body.tools).some(({ type }) => RUN_THERE.test(String(type)))) body.max_tool_calls = most
}
