/** What providers of this wire add to a prompt (OpenAI, "Using tools"; types of openai 7.59.0, `Tool`). */
import { isObject } from '../../core/json.ts'
import { LEAVE_OUT, type OutsideTable, REST_OF_CONTEXT } from '../canon/outside-input.ts'

export const outsideInput: OutsideTable = {
  from: 'own',
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
