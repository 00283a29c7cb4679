/** Quirks of providers that speak the Chat Completions API. */
import { drop, efforts, explicitCaching, oneOf, webSearch, word } from '../canon/quirks.ts'

export const chatQuirks = {
  max_tokens_field: oneOf('Field of the output cap. If unset: `max_tokens`.', ['max_tokens', 'max_completion_tokens']),
  reasoning: oneOf('`effort`: the provider takes `reasoning_effort`; `object`: it takes `reasoning`. If unset: `effort`.', [
    'effort',
    'object',
  ]),
  efforts,
  reasoning_replay: word('Field that takes the reasoning of earlier turns as text, or `details`, or `none`. If unset: `details`.'),
  explicit_caching: explicitCaching,
  web_search: webSearch,
  drop,
}
