/** Additions of providers of this wire to a prompt, each in words of its own. */
import { isObject } from '../../core/json.ts'
import { CACHED_CONTENT, LEAVE_OUT, type OutsideTable, REST_OF_CONTEXT, SEARCH_TOKENS } from '../canon/outside-input.ts'

/** Results of one search that a provider reads where the caller sets no bound (docs.x.ai, Live Search, `max_search_results`). */
const USUAL_RESULTS = 20
const RESULT_TOKENS = 1_000

export const outsideInput: OutsideTable = {
  from: 'own',
  tools: [
    // What single providers run; `web_search_premium` counts with the searches.
    {
      type: /^(?:mcp|browser_search|code_interpreter|code_execution|connector|document_library|file_search|builtin_function)$/,
      tokens: () => REST_OF_CONTEXT,
      runs: true,
      help: LEAVE_OUT,
    },
  ],
  fields: {
    ...CACHED_CONTENT,
    // xAI, "Live Search".
    search_parameters: {
      tokens: (value) => {
        if (!isObject(value) || value.mode === 'off') return 0
        const { max_search_results: most } = value
        return (typeof most === 'number' && most > 0 ? most : USUAL_RESULTS) * RESULT_TOKENS
      },
      help: 'set max_search_results lower',
    },
    // DashScope, "Web search".
    enable_search: { tokens: (value) => (value === true ? SEARCH_TOKENS : 0), help: 'leave it out' },
  },
  harmless: new Set(['prompt_cache_options', 'prompt_cache_retention', 'moderation', 'logprobs', 'chat_template_kwargs', 'guided_json']),
}
