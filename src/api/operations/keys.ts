/** API keys. */

import { Type } from 'typebox'
import { WINDOWS } from '../../core/windows.ts'
import { readKey } from '../key.ts'
import { checkChanges, checkMaking } from '../key-body.ts'
import { changeKey, createKey, hashIn, KEYS_QUERY, listKeys, oneKey, removeKey, rotateKey } from '../keys.ts'
import { withNotes } from '../openapi.ts'
import { type Operation, operation } from '../operation.ts'
import { amount, data, deleted, flag, forecast, maybe, text, texts } from '../schemas.ts'

const spending = {
  limit: maybe(amount('USD; null for none.')),
  limit_remaining: maybe(amount('USD; open requests count with what is held for them.')),
  limit_reset: maybe(Type.Enum([...WINDOWS])),
  usage: amount('USD, ever.'),
  usage_daily: amount('USD since 00:00 UTC.'),
  usage_weekly: amount('USD since Monday.'),
  usage_monthly: amount('USD since the first of the month.'),
}

const ownKey = data(
  Type.Object({
    label: text('The masked secret.'),
    ...spending,
    parent: maybe(Type.String({ description: 'The budget that it draws on, with other keys.' })),
    is_management_key: flag(),
    expires_at: maybe(Type.String()),
    rate_limit: Type.Object({ requests: Type.Integer(), interval: Type.String() }),
  }),
)

export const key = Type.Object(
  {
    hash: text('SHA-256 of the secret: the id of the key in paths.'),
    name: text(),
    label: text('The masked secret.'),
    disabled: flag(),
    ...spending,
    unrecovered: amount('USD that providers reported beyond what the limits and budgets of the key could pay.'),
    unrecovered_open: amount('What of it no other entry of the ledger has settled.'),
    disputed: amount('USD that providers reported and that is more than the requests can have used.'),
    disputed_open: amount('What of it no other entry of the ledger has settled.'),
    created_at: text(),
    updated_at: maybe(Type.String()),
    expires_at: maybe(Type.String()),
    creator_user_id: maybe(Type.String()),
    workspace_id: text(),
    is_management_key: flag('True: it manages, and generates nothing.'),
    source: Type.Enum(['configuration', 'store'], { description: 'Where it is defined.' }),
    forecast: Type.Optional(
      Type.Union([forecast, Type.Null()], {
        description:
          'With `include_forecast`, as in the budget of the key; null without a limit, where more than 20,000 keys have one, and while the ledger cannot be read.',
      }),
    ),
    provider_ids: texts(),
    parent: maybe(Type.String({ description: 'The budget that it draws on, with other keys; see `/budgets`.' })),
    parent_hash: maybe(Type.String({ description: 'Of a key issued through sign-in: the hash of the key that issued it.' })),
  },
  { description: 'An API key, without its secret.' },
)

const keyList = data(Type.Array(key))
const shownKey = data(key)
const madeKey = Type.Object({ data: key, key: text('The secret, shown this once.') })

/** Any other row in the store of keys is no key, so whatever stands in its place is looked at once the caller is known. */
export const HASH = {
  name: 'hash',
  in: 'path',
  description: 'SHA-256 of the secret, hexadecimal.',
  schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
  example: '0123456789abcdef'.repeat(4),
  pattern: '[^/]*',
} as const

export const KEY_NOTES = {
  name: 'Name of the key.',
  limit: 'USD that the key may spend; null or absent for no limit.',
  limit_reset: 'Period of the limit. Each starts at 00:00 UTC: every day, on Monday, or on the first of the month.',
  parent: 'Name of a budget of the configuration that the key draws on, together with other keys.',
  expires_at: 'A time in UTC such as `2027-01-31T00:00:00Z`.',
  disabled: 'Requests with a disabled key get 401.',
  workspace_id: 'There is one workspace.',
  creator_user_id:
    'User for whom the key was made; null for none. Keys of one user are one caller: requests of two of them that fail move no key of others to another provider.',
  include_byok_in_limit: 'True: what providers bill to [keys of the team](/docs/byok) counts towards the limit, too.',
  provider_ids:
    'Ids of what you keep at providers (files, vector stores, containers, custom skills, cached content) that requests of the key may name; with `*` at its end, an entry is for all that begin so. Keys issued through sign-in have those of their issuer.',
}

const manages = { tag: 'Keys', caller: 'management' } as const

export const keyOperations: readonly Operation[] = [
  operation('GET /keys', {
    ...manages,
    id: 'listKeys',
    summary: 'List keys',
    parameters: KEYS_QUERY,
    reply: { description: 'Keys.', schema: keyList },
    faults: ['bad_request'],
    csv: {
      name: 'keys',
      columns: [
        ...['hash', 'name', 'label', 'disabled', 'limit', 'limit_remaining', 'limit_reset', 'usage', 'usage_daily', 'usage_weekly'],
        ...['usage_monthly', 'created_at', 'updated_at', 'expires_at', 'creator_user_id', 'is_management_key', 'source', 'parent'],
        ...['parent_hash', 'unrecovered', 'unrecovered_open', 'disputed', 'disputed_open', 'provider_ids'],
      ],
    },
    handle: ({ query }, source) => listKeys(query, source),
  }),
  operation('POST /keys', {
    ...manages,
    id: 'createKey',
    audit: 'key.created',
    summary: 'Create a key',
    body: {
      schema: withNotes(checkMaking.schema, KEY_NOTES),
      examples: {
        plain: { summary: 'A key without a limit', value: { name: 'reports' } },
        monthly: { summary: 'Ten dollars a month', value: { name: 'reports', limit: 10, limit_reset: 'monthly' } },
        shared: { summary: 'Under a budget of several keys', value: { name: 'reports', parent: 'team-a' } },
      },
    },
    reply: { status: 201, description: 'The key and its secret.', schema: madeKey },
    handle: async ({ body }, source) => createKey(await body(), source),
  }),
  operation('GET /keys/{hash}', {
    ...manages,
    id: 'getKey',
    summary: 'Get a key',
    parameters: [HASH],
    reply: { description: 'The key.', schema: shownKey },
    faults: ['not_found'],
    handle: ({ path }, source) => oneKey(hashIn(path), source),
  }),
  operation('PATCH /keys/{hash}', {
    ...manages,
    id: 'changeKey',
    audit: 'key.changed',
    summary: 'Change a key',
    description: 'Fields that are absent stay as they are. Keys of the configuration file can only be changed there.',
    parameters: [HASH],
    body: {
      schema: withNotes(checkChanges.schema, KEY_NOTES),
      examples: {
        limit: { summary: 'Another limit', value: { limit: 25 } },
        disable: { summary: 'Disable it', value: { disabled: true } },
      },
    },
    reply: { description: 'The key as it is now.', schema: shownKey },
    faults: ['not_found', 'conflict'],
    handle: async ({ path, body }, source) => changeKey(hashIn(path), await body(), source),
  }),
  operation('DELETE /keys/{hash}', {
    ...manages,
    id: 'deleteKey',
    audit: 'key.deleted',
    summary: 'Delete a key',
    parameters: [HASH],
    reply: { description: 'The key is deleted. Its spending stays in the ledger.', schema: deleted },
    faults: ['not_found', 'conflict'],
    handle: ({ path }, source) => removeKey(hashIn(path), source),
  }),
  operation('POST /keys/{hash}/rotate', {
    ...manages,
    id: 'rotateKey',
    audit: 'key.rotated',
    summary: 'Replace the secret of a key',
    description:
      'Name, limit, spending and history stay; the hash changes. The old secret is refused from then on, and so are the keys that this key issued through sign-in.',
    parameters: [{ ...HASH, example: 'fedcba9876543210'.repeat(4) }],
    reply: { description: 'The key with its new hash, and its new secret.', schema: madeKey },
    faults: ['not_found', 'conflict'],
    handle: ({ path }, source) => rotateKey(hashIn(path), source),
  }),
  operation('GET /key', {
    id: 'getOwnKey',
    tag: 'Keys',
    caller: 'any',
    summary: 'Get the key of the request',
    reply: { description: 'The key, what it has spent, and what is left.', schema: ownKey },
    handle: ({ key }, source) => readKey(key, source),
  }),
]
