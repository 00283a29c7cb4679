/** Quirks of providers that speak the Responses API. */
import { Type } from 'typebox'
import {
  body,
  choiceQuirk,
  closedSchemas,
  efforts,
  explicitCaching,
  listQuirk,
  mediaUrls,
  prefill,
  safetyIdentifierLength,
  serviceTiers,
  unsignedReasoning,
  userLength,
  webSearch,
} from '../canon/quirks.ts'

export const responsesQuirks = {
  reasoning: choiceQuirk(
    '`object`: the provider takes `enabled` and `max_tokens` of `reasoning` as well; `effort`: it does not. If unset: `effort`.',
    ['effort', 'object'],
  ),
  efforts,
  unsigned_reasoning: unsignedReasoning,
  prefill,
  min_output_tokens: Type.Integer({
    description: 'The lowest output cap that the provider takes, in tokens; lower ones are raised to it, and so is what is held for them.',
    minimum: 1,
    maximum: 4096,
  }),
  strict: choiceQuirk(
    '`stated`: functions of callers of other formats go out without `strict` where the caller did not set it. Servers that print the tools into the prompt print it too. If unset: with `strict: false`, since this format is strict without it.',
    ['stated'],
  ),
  developer: choiceQuirk('`system`: messages of the role `developer` are sent as `system`. If unset: as they are.', ['system']),
  json_schema: choiceQuirk(
    '`checked`: the provider may ignore the schema of an answer; it is sent, and the gateway checks the answer against it. `words`: it stands in the instructions in place of `text.format`, and the answer is checked. If unset: the provider enforces it.',
    ['checked', 'words'],
  ),
  closed_schemas: closedSchemas,
  explicit_caching: explicitCaching,
  user_length: userLength,
  safety_identifier_length: safetyIdentifierLength,
  web_search: webSearch,
  compaction: choiceQuirk(
    '`native`: the provider compacts conversations itself, and only its own account can read the items that it makes. If unset: the gateway has the model write a summary, which every model can go on from.',
    ['native'],
  ),
  external_web_access: Type.Boolean({
    description:
      'False: the provider refuses `external_web_access` of a search. Where it is true it is left out; a search that may not fetch anything new is left out whole.',
  }),
  native_tools: listQuirk('Tools that the provider runs or knows itself.', choiceQuirk('A tool.', ['apply_patch', 'shell'])),
  functions_only: Type.Boolean({
    description:
      'The provider knows no tools of the types `namespace`, `custom`, `local_shell` and no `tool_search` that the caller runs: functions stand for them.',
  }),
  media_urls: mediaUrls,
  service_tiers: serviceTiers,
  body,
}
