/** API keys. */

import { Type } from 'typebox'
import { KEY_FIELDS } from '../../core/key-fields.ts'
import { ROLES } from '../../core/roles.ts'
import { SCOPE_NAMES } from '../../core/scopes.ts'
import { WINDOWS } from '../../core/windows.ts'
import { readKey } from '../key.ts'
import { readKeyAccess } from '../key-access.ts'
import { checkChanges, checkMaking, checkRotation } from '../key-body.ts'
import { checkImport, importKeys } from '../key-import.ts'
import { KEYS_QUERY, listKeys, MAX_KEYS } from '../key-list.ts'
import { changeKey, createKey, endOverlap, hashIn, oneKey, removeKey, rotateKey } from '../keys.ts'
import { withNotes } from '../openapi.ts'
import { bodyOrNone, type Operation, operation } from '../operation.ts'
import { amount, count, data, deleted, flag, forecast, maybe, text, texts } from '../schemas.ts'

const role = Type.Enum([...ROLES], { description: 'Role of the key: `member` generates, the others manage.' })

/** Bounds of a key within all that its role opens. */
const bounds = {
  organization_id: maybe(Type.String({ description: 'The organization that it lies in; null of a management key of the whole gateway.' })),
  reach: Type.Enum(['own', 'workspace', 'organization', 'gateway'], {
    description: 'What it governs: nothing beyond what is its own, a workspace, an organization with its workspaces, or the whole gateway.',
  }),
  scopes: maybe(Type.Array(Type.Enum([...SCOPE_NAMES]), { description: 'Null: all that its role has.' })),
}

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
    role,
    ...bounds,
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
    workspace_id: maybe(text()),
    member_id: maybe(Type.String({ description: 'The member that it belongs to.' })),
    role: maybe(role),
    ...bounds,
    is_management_key: flag('True: it manages, and generates nothing.'),
    source: Type.Enum(['configuration', 'store'], { description: 'Where it is defined.' }),
    forecast: Type.Optional(
      Type.Union([forecast, Type.Null()], {
        description:
          'With `include_forecast`, as in the budget of the key; null without a limit, where more than 20,000 keys have one, and while the ledger cannot be read.',
      }),
    ),
    provider_ids: texts(),
    allowed_models: maybe(texts()),
    provider: maybe(Type.Object({}, { description: 'Routing preferences.' })),
    limits: Type.Object(Object.fromEntries(['requests', 'tokens', 'streams', 'bytes'].map((name) => [name, maybe(Type.Integer())])), {
      description: 'Rate limits of its own; null where those for all keys hold.',
    }),
    default_max_output: maybe(Type.Integer()),
    pass_through: flag(),
    error_code: maybe(Type.String()),
    capture_content: flag(),
    tags: Type.Record(Type.String(), Type.String()),
    parent: maybe(Type.String({ description: 'The budget that it draws on, with other keys; see `/budgets`.' })),
    last_used_at: maybe(
      Type.String({ description: 'The minute of its last request for a model, as far as requests are kept; null without one.' }),
    ),
    rotated_at: maybe(Type.String({ description: 'When its secret was replaced last.' })),
    previous_secret_expires_at: maybe(Type.String({ description: 'Until then the secret before the last rotation opens it, too.' })),
    parent_hash: maybe(Type.String({ description: 'Of a key issued through sign-in: the hash of the key that issued it.' })),
  },
  { description: 'An API key, without its secret.' },
)

const totals = Type.Object(
  {
    keys: count(),
    in_use: count('Neither disabled nor expired.'),
    limit_reached: count('Of those in use: with nothing left.'),
    limit_near: count('Of those in use: 80 % of the limit and more are spent or held, and something is left.'),
    usage_daily: amount('USD since 00:00 UTC.'),
    usage_weekly: amount('USD since Monday.'),
    usage_monthly: amount('USD since the first of the month.'),
  },
  { description: 'With `include_totals`: of all keys, whatever the filters are.' },
)
const keyList = Type.Object({
  data: Type.Array(key),
  total_count: count('Keys of all pages together.'),
  next: maybe(Type.String({ description: 'The `cursor` of the next page; null at the end.' })),
  totals: Type.Optional(totals),
})
const shownKey = data(key)

const access = data(
  Type.Object({
    hash: text(),
    name: text(),
    refused_because: Type.Array(Type.Enum(['disabled', 'expired', 'manages', 'limit_spent']), {
      description:
        'Why its requests for models are refused; `limit_spent` does not refuse those that cost nothing. Empty where they are not.',
    }),
    role: maybe(role),
    role_text: text('The rights of the role.'),
    is_management_key: flag(),
    expires_at: maybe(Type.String()),
    models: Type.Array(Type.Object({ id: text(), providers: texts() }), {
      description: 'Models that its requests reach, with their providers.',
    }),
    model_count: count('Models of the gateway, whether or not the key reaches them.'),
    allowed_models: maybe(texts()),
    provider: maybe(Type.Object({}, { additionalProperties: true, description: 'Preferences that hold for its requests.' })),
    limits: Type.Array(
      Type.Object({
        level: Type.Enum(['key', 'issuer', 'budget', 'guardrail']),
        name: text(),
        limit: amount('USD.'),
        window: Type.Enum([...WINDOWS, 'lifetime']),
        used: amount('USD that it counts.'),
        held: amount('USD that open requests have reserved.'),
        remaining: amount('USD.'),
        resets_at: maybe(Type.String()),
      }),
      { description: 'Of all levels; each request has to fit into all of them.' },
    ),
    rates: Type.Array(
      Type.Object({
        from: Type.Enum(['key', 'issuer']),
        requests: maybe(count('Per minute.')),
        tokens: maybe(count('Per minute.')),
        streams: maybe(count('At once.')),
        bytes: maybe(count('Of requests at once.')),
      }),
    ),
    guardrails: Type.Array(Type.Object({ id: text(), name: text(), scope: text('`account` where it holds for every request.') })),
    pass_through: flag('True: it may use the pass-through.'),
    provider_ids: texts(),
    default_max_output: maybe(count('Output tokens of a request that sets no cap, where a limit applies.')),
  }),
)
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
  ...KEY_FIELDS,
  name: 'Name of the key.',
  limit: 'USD that the key may spend; null or absent for no limit.',
  limit_reset: 'Period of the limit. Each starts at 00:00 UTC: every day, on Monday, or on the first of the month.',
  parent: 'Name of a budget of the configuration that the key draws on, together with other keys.',
  expires_at: 'A time in UTC such as `2027-01-31T00:00:00Z`.',
  role: 'Role of the key; `member` without it. A caller gives the roles below its own, and `owner` all. A management key ends with its maker at the latest, and cannot become an ordinary one.',
  disabled: 'Requests with a disabled key get 401.',
  workspace_id: 'Id or slug of the workspace that the key is in; the default one without it, or with null.',
  member_id: 'Id of a member of the workspace or of its organization, or the name that the identity provider has for one; null for none.',
  include_byok_in_limit: 'True: what providers bill to [keys of the team](/docs/byok) counts towards the limit, too.',
}

const reads = { tag: 'Keys', roles: ['viewer', 'billing'], reach: 'place', scope: 'keys:read' } as const
const manages = { tag: 'Keys', roles: ['admin'], reach: 'place', scope: 'keys:write' } as const

export const keyOperations: readonly Operation[] = [
  operation('GET /keys', {
    ...reads,
    id: 'listKeys',
    summary: 'List keys',
    parameters: KEYS_QUERY,
    description: 'Those of the configuration first, then those of the store in the order of their making, unless `sort` says otherwise.',
    reply: { description: 'A page.', schema: keyList },
    faults: ['bad_request'],
    csv: {
      name: 'keys',
      columns: [
        ...['hash', 'name', 'label', 'disabled', 'limit', 'limit_remaining', 'limit_reset', 'usage', 'usage_daily', 'usage_weekly'],
        ...['usage_monthly', 'created_at', 'updated_at', 'expires_at', 'creator_user_id', 'role', 'is_management_key', 'source', 'parent'],
        ...['last_used_at', 'rotated_at', 'previous_secret_expires_at'],
        ...['parent_hash', 'unrecovered', 'unrecovered_open', 'disputed', 'disputed_open', 'provider_ids'],
      ],
      paging: { by: 'cursor', most: MAX_KEYS },
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
        viewer: { summary: 'A management key that changes nothing', value: { name: 'auditor', role: 'viewer' } },
        team: {
          summary: 'A management key of one organization, for its spending',
          value: { name: 'finance', role: 'billing', organization_id: 'default', scopes: ['spending:read'] },
        },
        shared: { summary: 'Under a budget of several keys', value: { name: 'reports', parent: 'team-a' } },
        bounded: {
          summary: 'With models, routing, rates and tags',
          value: {
            name: 'reports',
            allowed_models: ['acme/*'],
            provider: { sort: 'price', data_collection: 'deny' },
            limits: { requests: 60, streams: 4 },
            tags: { team: 'growth' },
          },
        },
      },
    },
    reply: { status: 201, description: 'The key and its secret.', schema: madeKey },
    handle: async ({ body, key: caller }, source) => createKey(await body(), { ...source, caller }),
  }),
  operation('POST /keys/import', {
    ...manages,
    // Of one place it would have to show which hashes others have.
    reach: 'gateway',
    id: 'importKeys',
    audit: 'key.created',
    summary: 'Import keys by the hashes of their secrets',
    description:
      'For keys that another gateway has made: callers keep their secrets, and no secret is sent. Nothing is imported where any key is wrong: `metadata.errors` of the reply has the place and field of each. A hash that is there already is reported, and its key stays as it is unless `overwrite` is true.',
    body: {
      schema: withNotes(checkImport.schema, {}),
      examples: {
        one: {
          summary: 'A key with a limit, and what it has spent',
          value: { keys: [{ hash: 'c0ffee00'.repeat(8), name: 'reports', label: 'sk-...1a2b', limit: 10, usage: 2.5 }] },
        },
      },
    },
    reply: {
      description: 'What became of each key, in the order of the request.',
      schema: Type.Object({
        data: Type.Array(
          Type.Object({
            index: count('Place in the request, from 0.'),
            hash: text('Of the key that is there now.'),
            name: text(),
            status: Type.Enum(['created', 'exists', 'replaced']),
          }),
        ),
        created: count(),
        exists: count(),
        replaced: count(),
      }),
    },
    handle: async ({ body, key: caller }, source) => importKeys(await body(), { ...source, caller }),
  }),
  operation('GET /keys/{hash}', {
    ...reads,
    id: 'getKey',
    summary: 'Get a key',
    parameters: [HASH],
    reply: { description: 'The key.', schema: shownKey },
    faults: ['not_found'],
    handle: ({ path }, source) => oneKey(hashIn(path), source),
  }),
  operation('GET /keys/{hash}/access', {
    ...reads,
    id: 'getKeyAccess',
    summary: 'Get what a key may do',
    description:
      'The models and providers that its requests reach, its limits at every level, its rates, guardrails, role and end, as they are now.',
    parameters: [{ ...HASH, description: 'Hash of the key whose access is wanted.' }],
    reply: { description: 'What it may do.', schema: access },
    faults: ['not_found', 'unavailable'],
    handle: ({ path }, source) => readKeyAccess(hashIn(path), source),
  }),
  operation('PATCH /keys/{hash}', {
    ...manages,
    id: 'changeKey',
    audit: 'key.changed',
    summary: 'Change a key',
    description:
      'Fields that are absent stay as they are. Keys of the configuration file can only be changed there. With the role `admin` a caller changes, rotates and deletes itself, and keys of the roles `member`, `viewer` and `billing`.',
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
    handle: async ({ path, body, key: caller }, source) => changeKey(hashIn(path), await body(), { ...source, caller }),
  }),
  operation('DELETE /keys/{hash}', {
    ...manages,
    id: 'deleteKey',
    audit: 'key.deleted',
    summary: 'Delete a key',
    parameters: [HASH],
    reply: { description: 'The key is deleted. Its spending stays in the ledger.', schema: deleted },
    faults: ['not_found', 'conflict'],
    handle: ({ path, key: caller }, source) => removeKey(hashIn(path), { ...source, caller }),
  }),
  operation('POST /keys/{hash}/rotate', {
    ...manages,
    id: 'rotateKey',
    audit: 'key.rotated',
    summary: 'Replace the secret of a key',
    description:
      'Name, limit, spending and history stay; the hash changes. The old secret, and the keys that this key issued through sign-in, are good for `grace_seconds` more; without it they are refused from then on. Both secrets are one key. A key has one old secret at most: a further rotation ends the one before.',
    parameters: [{ ...HASH, example: 'fedcba9876543210'.repeat(4) }],
    body: {
      optional: true,
      schema: withNotes(checkRotation.schema, { grace_seconds: 'Time for which the old secret still works; at most 30 days.' }),
      examples: { overlap: { summary: 'Both secrets for a day', value: { grace_seconds: 86_400 } } },
    },
    reply: { description: 'The key with its new hash, and its new secret.', schema: madeKey },
    faults: ['not_found', 'conflict'],
    handle: async (call, source) => rotateKey(hashIn(call.path), await bodyOrNone(call), { ...source, caller: call.key }),
  }),
  operation('DELETE /keys/{hash}/previous', {
    ...manages,
    id: 'endKeyOverlap',
    audit: 'key.changed',
    summary: 'End the old secret of a key',
    description: 'Ends the overlap of a rotation: the secret before is refused from then on, and so are the keys that it issued.',
    parameters: [HASH],
    reply: { description: 'The key as it is now.', schema: shownKey },
    faults: ['not_found', 'conflict'],
    handle: ({ path, key: caller }, source) => endOverlap(hashIn(path), { ...source, caller }),
  }),
  operation('GET /key', {
    id: 'getOwnKey',
    tag: 'Keys',
    roles: 'any',
    reach: 'own',
    summary: 'Get the key of the request',
    reply: { description: 'The key, what it has spent, and what is left.', schema: ownKey },
    handle: ({ key }, source) => readKey(key, source),
  }),
]
