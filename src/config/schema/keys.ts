/** API keys, and what a key may do. */

import { Type } from 'typebox'
import { ROLES } from '../../core/roles.ts'
import { SCOPE_NAMES } from '../../core/scopes.ts'
import { WINDOWS } from '../../core/windows.ts'
import {
  choiceField,
  closed,
  count,
  entryName,
  flag,
  line,
  listField,
  modelSlug,
  secret,
  time,
  usd,
  withDefault,
} from '../fields/scalars.ts'
import { limits, preferences } from './preferences.ts'
import { errorCode } from './server.ts'

export const key = closed('One API key.', {
  name: entryName('Identity of the key. Spend is recorded by name, so it stays when you replace the secret.'),
  key: secret(
    'The secret that callers send, at least 8 characters; only its SHA-256 is kept in memory. An entry whose variable is marked ? and not set is left out.',
    8,
  ),
  creator_user_id: Type.Optional(
    line(
      'User for whom the key was made. Keys of one user are one caller: what two of them fail for moves no key of others. See [routing.md](routing.md#owner-of-the-key).',
      256,
    ),
  ),
  limit: Type.Optional(usd('USD that the key may spend: in all, or in each window of `limit_reset`. If unset: no limit.')),
  limit_reset: Type.Optional(choiceField('The limit counts the spend of the current UTC day, week (from Monday) or month.', WINDOWS)),
  parent: Type.Optional(entryName('Name of an entry of `budgets`: the key draws on it together with others, beside its own limit.')),
  workspace: Type.Optional(
    entryName(
      'Slug or id of a workspace of the store: the key counts towards its limits and those of its organization, and is refused where it is disabled or gone. A management key governs what lies in it. See [teams.md](teams.md). If unset: the workspace `default`, and of a management key the whole gateway.',
    ),
  ),
  member: Type.Optional(
    line(
      'Of a member of that workspace or its organization, the id or the name that the identity provider has for it: its limits hold as well.',
      256,
    ),
  ),
  organization: Type.Optional(
    entryName(
      'Of a management key, in the place of `workspace`: slug or id of the organization that it governs, with all workspaces below it. With neither it governs the whole gateway. See [keys.md](keys.md#place-of-a-management-key).',
    ),
  ),
  scopes: Type.Optional(
    listField(
      'Of a management key: what it opens of all that its role has. If unset: all of it. See [keys.md](keys.md#scopes).',
      choiceField('A scope.', SCOPE_NAMES),
      1,
    ),
  ),
  role: Type.Optional(
    choiceField(
      'Rights of the key. `member` generates; the others manage, and cannot generate: see [keys.md](keys.md#roles). If unset: `member`, or `owner` with `management: true`.',
      ROLES,
    ),
  ),
  management: withDefault(flag('True: the same as `role: owner`, a management key with all rights.'), false),
  disabled: withDefault(flag('True: the key is refused with 401.'), false),
  expires_at: Type.Optional(time('From this time on, the key is refused with 401.')),
  allowed_models: Type.Optional(
    listField('Only these models; `*` stands for any text.', modelSlug('A slug, or a pattern such as openai/*.'), 1),
  ),
  provider: Type.Optional(preferences),
  limits: withDefault(limits, {}),
  default_max_output: Type.Optional(
    count('Output cap in tokens for requests that set none. Applies only to priced endpoints under a limit or budget.'),
  ),
  pass_through: withDefault(flag('True: may use the pass-through to provider-native paths.'), false),
  provider_ids: Type.Optional(
    listField(
      'Ids of what you keep at providers (files, vector stores, containers, custom skills, cached content) that requests of this key may name. Others return 404. See [keys.md](keys.md#ids-of-providers).',
      line('An id; with `*` at its end, all that begin so.', 256),
    ),
  ),
  error_code: Type.Optional(errorCode('Of callers with this key, in place of `errors.code`.')),
  capture_content: withDefault(
    flag(
      'True: the spans of traced requests hold the words of prompts and answers, after guardrails have redacted them and up to 16 KB each. See [observability.md](observability.md#content).',
    ),
    false,
  ),
})
