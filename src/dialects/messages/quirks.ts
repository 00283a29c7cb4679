/** Quirks of providers that speak the Messages API. */
import { Type } from 'typebox'
import {
  body,
  choiceQuirk,
  efforts,
  flag,
  forcedTools,
  listQuirk,
  mediaUrls,
  prefill,
  serviceTiers,
  unsignedReasoning,
  webSearch,
  word,
} from '../canon/quirks.ts'

export const messagesQuirks = {
  thinking: choiceQuirk('How reasoning is requested: a budget in tokens, or an effort (`adaptive`). If unset: a budget.', [
    'budget',
    'adaptive',
  ]),
  thinking_off: choiceQuirk(
    'How an adaptive model is kept from thinking: `disabled`, `between_tools`, or `adaptive` where it always thinks and gets the lowest effort. If unset: `disabled`.',
    ['disabled', 'between_tools', 'adaptive'],
  ),
  thinking_bound: flag(
    'True: the provider refuses thinking of earlier turns where anything before it has changed; it is sent the setting by which it leaves such blocks out.',
  ),
  efforts,
  unsigned_reasoning: unsignedReasoning,
  prefill,
  signatures: choiceQuirk(
    "Where signed thinking is valid: at every provider of Anthropic's models (`portable`), or only at the account that made it. If unset: `portable`.",
    ['portable', 'account'],
  ),
  forced_tools: forcedTools,
  system_messages: flag('Whether system messages may be in the middle of a conversation. If unset: only for callers of this format.'),
  cache_prefix: choiceQuirk(
    'Tools, system, the turns before the newest and results of tools are marked for the cache of the provider, for this long, where the caller sets no marks. `auto`: for `5m`, for callers of other formats whose conversation has results of tools. If unset: `auto`.',
    ['auto', '5m', '1h', 'off'],
  ),
  cache_minimum: Type.Integer({
    description: 'Tokens of the shortest prompt that the provider caches, for `cache_prefix`. If unset: 1024.',
    minimum: 1,
    maximum: 100_000,
  }),
  cache_whole: flag(
    'False: the provider takes no `cache_control` of the whole request; its mark goes to the last block that takes one. If unset: it is sent as it is.',
  ),
  json_schema: choiceQuirk(
    '`words`: the model takes no schema of the answer and no strict tools; the schema stands in the system prompt. `checked`: the provider may ignore the schema; it is sent, and the gateway checks the answer against it. If unset: the schema is enforced.',
    ['words', 'checked'],
  ),
  betas: listQuirk('Names in `anthropic-beta` that the provider takes; others are left out. If unset: all.', word('A name.', 128)),
  raw_predict: flag(
    'True: the path names the model, `/models/NAME:rawPredict` or `:streamRawPredict`, and the body has the version in place of the header, as on Vertex AI.',
  ),
  threads: flag(
    'True: the provider keeps conversations for `thread`. If unset: requests with `thread` are refused with 400, and the SDKs of Anthropic send whole conversations from then on.',
  ),
  web_search: webSearch,
  web_search_tool: word("Type of the provider's search tool. If unset: `web_search_20250305`."),
  media_urls: mediaUrls,
  service_tiers: serviceTiers,
  body,
}
