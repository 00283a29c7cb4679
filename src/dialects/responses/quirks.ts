/** Quirks of providers that speak the Responses API. */
import { Type } from 'typebox'
import {
  body,
  closedSchemas,
  efforts,
  explicitCaching,
  listOf,
  mediaUrls,
  oneOf,
  safetyIdentifierLength,
  serviceTiers,
  userLength,
  webSearch,
} from '../canon/quirks.ts'

export const responsesQuirks = {
  reasoning: oneOf(
    '`object`: the provider takes `enabled` and `max_tokens` of `reasoning` as well; `effort`: it does not. If unset: `effort`.',
    ['effort', 'object'],
  ),
  efforts,
  min_output_tokens: Type.Integer({
    description: 'The lowest output cap that the provider takes, in tokens; lower ones are raised to it, and so is what is held for them.',
    minimum: 1,
    maximum: 4096,
  }),
  developer: oneOf('`system`: messages of the role `developer` are sent as `system`. If unset: as they are.', ['system']),
  closed_schemas: closedSchemas,
  explicit_caching: explicitCaching,
  user_length: userLength,
  safety_identifier_length: safetyIdentifierLength,
  web_search: webSearch,
  compaction: oneOf(
    '`native`: the provider compacts conversations itself, and only its own account can read the items that it makes. If unset: the gateway has the model write a summary, which every model can go on from.',
    ['native'],
  ),
  external_web_access: Type.Boolean({
    description:
      'False: the provider refuses `external_web_access` of a search. Where it is true it is left out; a search that may not fetch anything new is left out whole.',
  }),
  native_tools: listOf('Tools that the provider runs or knows itself.', oneOf('A tool.', ['apply_patch', 'shell'])),
  functions_only: Type.Boolean({
    description:
      'The provider knows no tools of the types `namespace`, `custom`, `local_shell` and no `tool_search` that the caller runs: functions stand for them.',
  }),
  media_urls: mediaUrls,
  service_tiers: serviceTiers,
  body,
}
