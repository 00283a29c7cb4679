/** Quirks of providers that speak the Chat Completions API. */
import { Type } from 'typebox'
import { MAX_ENTRIES } from '../canon/bounds.ts'
import {
  body,
  choiceQuirk,
  closedSchemas,
  efforts,
  explicitCaching,
  flag,
  forcedTools,
  listQuirk,
  mediaUrls,
  prefill,
  safetyIdentifierLength,
  serviceTiers,
  userLength,
  webSearch,
  word,
} from '../canon/quirks.ts'
import { DOCUMENT_URL } from './file-parts.ts'
import { THINKING_OFF } from './no-thinking.ts'
import { PROVIDER_TOOLS } from './provider-tools.ts'
import { SEARCH_FORMS } from './search-forms.ts'

/** A thought longer than this is longer than any context that is offered. */
const MAX_THOUGHT = 10_000_000

export const chatQuirks = {
  max_tokens_field: choiceQuirk('Field of the output cap. If unset: `max_tokens`.', ['max_tokens', 'max_completion_tokens']),
  thought_beyond_max_tokens: Type.Integer({
    description:
      'Most tokens of a thought that `max_tokens` does not bound at the provider, because it bounds the answer alone. A request that is capped by it may cost as many more, and they are held with it. If unset: it bounds the thought as well.',
    minimum: 1,
    maximum: MAX_THOUGHT,
  }),
  ignores_max_tokens: flag(
    'True: `max_tokens` has no effect at the provider, so that a request of the pass-through with it alone is held as one without a cap.',
  ),
  reasoning: choiceQuirk('`effort`: the provider takes `reasoning_effort`; `object`: it takes `reasoning`. If unset: `effort`.', [
    'effort',
    'object',
  ]),
  efforts,
  thinking_off: choiceQuirk(
    'What is sent where a request wants no thinking: the effort `none` or the nearest (`effort`), `thinking: {type: disabled}` (`thinking`), `enable_thinking: false`, that within `chat_template_kwargs`, or `reasoning: {enabled: false}` (`reasoning`). The other words are taken out of a caller’s request. If unset: `effort`, and where `efforts` does not have `none`, a caller’s own word passes.',
    THINKING_OFF,
  ),
  reasoning_replay: word(
    'Field of assistant messages that takes the reasoning of earlier turns as text; `details`: `reasoning_details` as they came; `thinking_parts`: parts of type `thinking` in front of the content; `none`: it is left out. If unset: `none`, and `details` with `reasoning: object`.',
  ),
  reasoning_replay_required: flag(
    'True: assistant messages with tool calls always have the field of `reasoning_replay`, if need be empty.',
  ),
  developer: choiceQuirk('Role in which developer messages are sent. If unset: `system`.', ['system', 'developer']),
  tool_ids: choiceQuirk('`alphanumeric_9`: ids of tool calls in any other form than nine letters and digits are replaced.', [
    'alphanumeric_9',
  ]),
  tool_images: choiceQuirk(
    '`tool`: images and files of a tool result are sent in the tool message; `user`: in a user message behind it. If unset: `user`.',
    ['user', 'tool'],
  ),
  after_tools: choiceQuirk(
    '`assistant`: the provider refuses a user message directly behind a tool message; a short message of the assistant is sent between them.',
    ['assistant'],
  ),
  file_parts: choiceQuirk('`document_url`: files of messages are parts of that type. If unset: of the type `file`.', [DOCUMENT_URL]),
  prefill,
  text_parts: flag('False: the provider takes content that is only text as one string; its parts are joined with line ends.'),
  one_system_message: flag('True: the provider takes one system message, which is the first; all others are joined to it, in their order.'),
  null_content: flag('False: the provider refuses an assistant message with calls whose content is null; an empty text is sent.'),
  tool_parameters: choiceQuirk('`required`: a tool without parameters is refused; an empty schema is sent.', ['required']),
  stop: choiceQuirk('`list`: a single stop sequence is sent as a list.', ['list']),
  most_stops: Type.Integer({
    description:
      'Most stop sequences that the provider takes. Where a request has more, the gateway cuts the answer itself. If unset: any.',
    minimum: 1,
    maximum: MAX_ENTRIES,
  }),
  logprobs: choiceQuirk('`count`: the provider takes the number of alternatives as `logprobs`; it has no `top_logprobs`.', ['count']),
  custom_tools: flag('True: the provider takes tools of the type `custom`. Otherwise functions stand for them.'),
  forced_tools: forcedTools,
  tool_choice: choiceQuirk(
    '`auto`: the provider takes no other `tool_choice`: `auto` is sent instead of one that forces a call, and with `none` the tools are left out. `words`: it takes no tool by its name: the named ones alone are sent, with `required` or `auto`.',
    ['auto', 'words'],
  ),
  effort_with_tools: flag('False: the provider refuses `reasoning_effort` in a request with tools; it is left out there.'),
  json_schema: choiceQuirk(
    '`json_object`: the provider takes no schema of the answer; JSON output is requested without one, and the schema stands in the system message.',
    ['json_object'],
  ),
  json_object: choiceQuirk('`schema`: the provider refuses the format `json_object`; a schema that any object fits is sent in its place.', [
    'schema',
  ]),
  strict_tools: flag('False: the provider refuses `strict` in a function, or cannot serve many such functions; it is left out.'),
  loose_schemas: flag('False: the provider takes `strict` of the schema of an answer only as true; `false` is left out.'),
  schemas: choiceQuirk(
    '`mfjs`: schemas of tools and of the answer are written in the subset of JSON Schema of that name; what it cannot say is left out or stands beside it. A schema of more than 120,000 characters, or one that multiplies when it is written so, is sent as it is.',
    ['mfjs'],
  ),
  boolean_schemas: flag(
    'False: the provider refuses a tool whose schema has `true` or `false` in the place of a schema, as the MCP SDK for Go writes it; `{}` and `{"not": {}}` are sent.',
  ),
  cache_control: flag('True: the provider takes `cache_control` on parts of messages and on tools. Otherwise the marks are left out.'),
  closed_schemas: closedSchemas,
  explicit_caching: explicitCaching,
  user_length: userLength,
  safety_identifier_length: safetyIdentifierLength,
  web_search: webSearch,
  web_search_form: choiceQuirk(
    'How the provider’s own search is requested: by `web_search_options` (`options`), by these and `search_domain_filter` (`filters`), by `search_settings` (`settings`), by a tool `browser_search`, or by the tool `$web_search` of the type `builtin_function`, whose calls the gateway answers with their own arguments. If unset: `options`.',
    SEARCH_FORMS,
  ),
  provider_tools: listQuirk('Tools of its own that the provider takes in requests, by type.', choiceQuirk('A type.', [...PROVIDER_TOOLS])),
  citations: choiceQuirk(
    'How answers name their sources: by numbers such as `[1]`, which count those of the reply (`numbers`), or by parts of the type `reference`, which name keys of a result of a tool (`references`).',
    ['numbers', 'references'],
  ),
  media_urls: mediaUrls,
  service_tiers: serviceTiers,
  count_tokens: choiceQuirk(
    'Where the provider counts the tokens of a request. `input_tokens`: at `/chat/completions/input_tokens`; `tokenize`: at `/tokenize` beside `/v1`, with the messages. If unset: nowhere, and the count is an estimate.',
    ['input_tokens', 'tokenize'],
  ),
  running_usage: choiceQuirk(
    'How the provider is requested to count along with each piece of a stream, so that an answer that is aborted is charged by its own count: `stream_options.continuous_usage_stats`, or `timings_per_token`. If unset: it is not.',
    ['continuous_usage_stats', 'timings_per_token'],
  ),
  body,
}
