/** API keys, and what a key may do. */

import { type TSchema, Type } from 'typebox'
import { ERROR_CODES } from '../../core/error-codes.ts'
import { KEY_FIELDS, type KeyField, MAX_TAG_LENGTH, MAX_TAGS, TAG_NAME, TAG_NAME_EXPECTED } from '../../core/key-fields.ts'
import { ROLES } from '../../core/roles.ts'
import { WINDOWS } from '../../core/windows.ts'
import {
  choiceField,
  closed,
  count,
  entryName,
  flag,
  line,
  listField,
  mapField,
  modelSlug,
  secret,
  time,
  usd,
  withDefault,
} from '../fields/scalars.ts'
import { limits, preferences } from './preferences.ts'

const tags = () =>
  Object.assign(mapField(KEY_FIELDS.tags, TAG_NAME, TAG_NAME_EXPECTED, line('Value of the tag.', MAX_TAG_LENGTH)), {
    maxProperties: MAX_TAGS,
  })

/** Fields that the API takes as well (`src/api/key-fields.ts`). */
const shared = {
  creator_user_id: Type.Optional(line(`${KEY_FIELDS.creator_user_id} See [routing.md](routing.md#owner-of-the-key).`, 256)),
  limit: Type.Optional(usd(KEY_FIELDS.limit)),
  limit_reset: Type.Optional(choiceField(KEY_FIELDS.limit_reset, WINDOWS)),
  parent: Type.Optional(entryName(KEY_FIELDS.parent)),
  role: Type.Optional(
    choiceField(`${KEY_FIELDS.role} See [keys.md](keys.md#roles). If unset: \`member\`, or \`owner\` with \`management: true\`.`, ROLES),
  ),
  disabled: withDefault(flag(KEY_FIELDS.disabled), false),
  expires_at: Type.Optional(time(KEY_FIELDS.expires_at)),
  allowed_models: Type.Optional(listField(KEY_FIELDS.allowed_models, modelSlug('A slug, or a pattern such as openai/*.'), 1)),
  provider: Type.Optional(preferences),
  limits: withDefault(limits, {}),
  default_max_output: Type.Optional(count(KEY_FIELDS.default_max_output)),
  pass_through: withDefault(flag(KEY_FIELDS.pass_through), false),
  provider_ids: Type.Optional(
    listField(`${KEY_FIELDS.provider_ids} See [keys.md](keys.md#ids-of-providers).`, line('An id, or the beginning of ids.', 256)),
  ),
  error_code: Type.Optional(choiceField(KEY_FIELDS.error_code, ERROR_CODES)),
  capture_content: withDefault(
    flag(`${KEY_FIELDS.capture_content} Up to 16 KB each, see [observability.md](observability.md#content).`),
    false,
  ),
  tags: Type.Optional(tags()),
} as const satisfies Readonly<Record<KeyField, TSchema>>

export const key = closed('One API key.', {
  name: entryName('Identity of the key. Spend is recorded by name, so it stays when you replace the secret.'),
  key: secret(
    'The secret that callers send, at least 8 characters; only its SHA-256 is kept in memory. An entry whose variable is marked ? and not set is left out.',
    8,
  ),
  workspace: Type.Optional(
    entryName(
      'Slug or id of a workspace of the store: the key counts towards its limits and those of its organization, and is refused where it is disabled or gone. See [teams.md](teams.md). If unset: the default workspace.',
    ),
  ),
  member: Type.Optional(
    line(
      'Of a member of that workspace or its organization, the id or the name that the identity provider has for it: its limits hold as well.',
      256,
    ),
  ),
  management: withDefault(flag('True: the same as `role: owner`, a management key with all rights.'), false),
  ...shared,
})
