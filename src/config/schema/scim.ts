/** Provisioning of people and groups by an identity provider over SCIM. */
import { Type } from 'typebox'
import { MEMBER_ROLES } from '../../core/levels.ts'
import { choiceField, closed, entryName, line, listField, secret, withDefault } from '../fields/scalars.ts'

/** Characters of a token, with which people are added and removed. */
const MIN_TOKEN_LENGTH = 32

const token = closed('One token of an identity provider.', {
  name: entryName('Name of the identity provider, which the audit log has.'),
  token: secret(
    'The token that it sends as `Authorization: Bearer`, by a reference to a secret. Make one with `openssl rand -hex 32`.',
    MIN_TOKEN_LENGTH,
  ),
})

const rule = closed('One rule.', {
  group: line('Display name of the group at the identity provider; `*` stands for any text, and case does not count.', 256),
  workspace: Type.Optional(
    line('Slug or id of the workspace whose members its users are. If unset: they are members of the organization.', 64),
  ),
  role: withDefault(choiceField('Role of its users there.', MEMBER_ROLES), 'member'),
})

const groups = closed('What groups of the identity provider are here.', {
  rules: withDefault(listField('Groups by name, in order: the first rule that fits decides.', rule), []),
  others: withDefault(
    choiceField(
      'Groups without a rule. `create`: each has a workspace of its name, which is made where it is missing. `match`: as `create`, but without such a workspace the group gives nothing.',
      ['create', 'match'],
    ),
    'create',
  ),
})

export const scim = closed('Provisioning over SCIM 2.0 at `/scim/v2` of the API listener; see [scim.md](scim.md).', {
  tokens: withDefault(listField('Tokens. If there are none, the path is closed.', token), []),
  organization: withDefault(line('Slug or id of the organization whose members the users are.', 64), 'default'),
  groups: withDefault(groups, {}),
})
