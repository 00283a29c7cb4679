/** Quirks of providers that speak the Chat Completions API. */
import { drop, efforts, explicitCaching, oneOf, webSearch, word } from '../canon/quirks.ts'

export const chatQuirks = {
  max_tokens_field: oneOf('Field of the output cap; `max_tokens` by default.', ['max_tokens', 'max_completion_tokens']),
  reasoning: oneOf('`effort` (default): the provider takes `reasoning_effort`; `object`: it takes `reasoning`.', ['effort', 'object']),
  efforts,
  reasoning_replay: word('Field that takes the reasoning of earlier turns as text; `details` (default) or `none`.'),
  explicit_caching: explicitCaching,
  web_search: webSearch,
  drop,
}
