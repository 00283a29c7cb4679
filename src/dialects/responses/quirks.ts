/** Quirks of providers that speak the Responses API. */
import { drop, efforts, explicitCaching, listOf, oneOf, webSearch } from '../canon/quirks.ts'

export const responsesQuirks = {
  reasoning: oneOf(
    '`object`: the provider takes `enabled` and `max_tokens` of `reasoning` as well; `effort`: it does not. If unset: `effort`.',
    ['effort', 'object'],
  ),
  efforts,
  explicit_caching: explicitCaching,
  web_search: webSearch,
  native_tools: listOf('Tools that the provider runs or knows itself.', oneOf('A tool.', ['apply_patch', 'shell'])),
  drop,
}
