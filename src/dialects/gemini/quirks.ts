/** Quirks of providers that speak the Gemini API. */
import { body, choiceQuirk, efforts, flag, mediaUrls, webSearch, word } from '../canon/quirks.ts'

export const geminiQuirks = {
  thinking: choiceQuirk('How reasoning is requested: a budget in tokens, or a level. If unset: a budget.', ['budget', 'level']),
  efforts,
  call_ids: flag('False: the provider refuses `id` in calls and results of functions; they are matched by their order.'),
  tier_header: word('Header that requests the service tier. If unset: the field `serviceTier` of the body.'),
  stream_arguments: flag('True: in streams the provider is to send the arguments of calls as they are written.'),
  web_search: webSearch,
  media_urls: mediaUrls,
  body,
}
