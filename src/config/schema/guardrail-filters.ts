/** One guardrail: the fields of all guardrails, and what only those of the file have. */

import { Type } from 'typebox'
import { WORKSPACE } from '../../core/workspace.ts'
import {
  ABOUT,
  AUDIT,
  BUDGET,
  ENDPOINTS,
  ENGINE,
  PARAMETERS,
  PRICE,
  TEXTS,
  WAY,
  WITHOUT_EFFECT,
  writtenFields,
} from '../../guardrails/settings/fields.ts'
import { choiceField, closed, entryName, listField } from '../fields/scalars.ts'

export const guardrail = closed('One guardrail.', {
  name: entryName('Name in metadata and errors.'),
  ...writtenFields(ABOUT),
  scope: Type.Optional(
    closed(
      'Requests to which it applies; without it, every request.',
      {
        keys: listField(
          'Names of keys of this file. An empty list: it holds where an entry of `policies` names it, and for the callers whose rule in `auth.issuers` or `auth.certificates` does.',
          entryName('A key.'),
        ),
      },
      ['members', 'workspaces'],
    ),
  ),
  ...writtenFields(WAY),
  ...writtenFields(TEXTS),
  ...writtenFields(ENGINE),
  ...writtenFields(ENDPOINTS),
  ...writtenFields(BUDGET),
  ...writtenFields(PRICE),
  ...writtenFields(PARAMETERS),
  ...writtenFields(WITHOUT_EFFECT),
  workspace_id: Type.Optional(choiceField('Id of the only workspace.', [WORKSPACE])),
  ...writtenFields(AUDIT),
})
