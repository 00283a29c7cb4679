/** Quirks of providers that speak the Messages API. */
import { drop, efforts, flag, oneOf, webSearch, word } from '../canon/quirks.ts'

export const messagesQuirks = {
  thinking: oneOf('How reasoning is requested: a budget in tokens (default), or an effort (`adaptive`).', ['budget', 'adaptive']),
  efforts,
  system_messages: flag(
    'Whether system messages may stand in the middle of a conversation; by default where the caller speaks this format.',
  ),
  web_search: webSearch,
  web_search_tool: word("Type of the provider's search tool; `web_search_20250305` by default."),
  drop,
}
