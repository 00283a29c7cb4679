/** Quirks of providers that speak the Gemini API. */
import { drop, efforts, oneOf, webSearch } from '../canon/quirks.ts'

export const geminiQuirks = {
  thinking: oneOf('How reasoning is requested: a budget in tokens, or a level. If unset: a budget.', ['budget', 'level']),
  efforts,
  web_search: webSearch,
  drop,
}
