/** Keys of providers that teams bring. */
import { Type } from 'typebox'
import { BYOK_QUERY, changeByok, createByok, listByok, oneByok, removeByok } from '../byok.ts'
import { checkByokChanges, checkMakingByok } from '../byok-body.ts'
import { withNotes } from '../openapi.ts'
import { type Operation, operation } from '../operation.ts'
import { deleted, maybe } from '../schemas.ts'

const list = (description: string) => maybe(Type.Array(Type.String(), { description }))

/** An entry as it is shown. */
const byokKey = Type.Object(
  {
    id: Type.String(),
    provider: Type.String({ description: 'Name of the provider.' }),
    name: maybe(Type.String()),
    label: Type.String({ description: 'The key, masked.' }),
    is_fallback: Type.Boolean({ description: "Tried after the gateway's own account instead of before it." }),
    disabled: Type.Boolean(),
    allowed_models: list('Models that it serves; null: all.'),
    allowed_user_ids: list('Users whose keys may use it; null: all.'),
    allowed_api_key_hashes: list('Hashes of the keys that may use it; null: all.'),
    sort_order: Type.Integer({ description: 'Its place at the provider: they are tried by age.' }),
    workspace_id: Type.String(),
    created_at: Type.String(),
    updated_at: maybe(Type.String()),
  },
  { description: 'A key of a provider that a team has brought. The key itself is in no reply.' },
)
const one = Type.Object({ data: byokKey })

const ID = {
  name: 'id',
  in: 'path',
  description: 'Id of the entry.',
  schema: { type: 'string', format: 'uuid' },
  example: '6fa459ea-ee8a-4ca4-894e-db77e160355e',
  pattern: '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}',
} as const
const NOTES = {
  provider: 'Name of a provider of the configuration.',
  key: 'The key as the provider gave it. It is encrypted at rest, and never shown again.',
  name: 'Name of the entry.',
  is_fallback: "True: it is tried after the gateway's own account.",
  disabled: 'True: it is not used.',
  allowed_models: 'Models, or patterns such as `acme/*`; null: all.',
  allowed_user_ids: 'Ids of users, as keys have them in `creator_user_id`; null: all.',
  allowed_api_key_hashes: 'Hashes of keys of the gateway, one at least; null: all.',
  workspace_id: 'Only the id of the default workspace is taken.',
}

const reads = { tag: 'BYOK', roles: ['viewer'], reach: 'place', scope: 'byok:read' } as const
const manages = { tag: 'BYOK', roles: ['admin'], reach: 'place', scope: 'byok:write' } as const

export const byokOperations: readonly Operation[] = [
  operation('GET /byok', {
    ...reads,
    id: 'listBYOKKeys',
    summary: 'List keys of providers',
    description: 'The oldest first, which is the order in which those of one provider are tried.',
    parameters: BYOK_QUERY,
    reply: { description: 'Entries.', schema: Type.Object({ data: Type.Array(byokKey), total_count: Type.Integer() }) },
    faults: ['bad_request'],
    handle: ({ query }, source) => listByok(query, source),
  }),
  operation('POST /byok', {
    ...manages,
    id: 'createBYOKKey',
    audit: 'byok_key.created',
    summary: 'Add a key of a provider',
    description: 'Requests of the callers that it names are sent with it, and its provider bills its owner.',
    body: {
      schema: withNotes(checkMakingByok.schema, NOTES),
      examples: { team: { summary: 'A key for all callers', value: { provider: 'acme', key: 'acme-abc123abc123', name: 'Our own' } } },
    },
    reply: { status: 201, description: 'The entry.', schema: one },
    faults: ['conflict'],
    handle: async ({ body }, source) => createByok(await body(), source),
  }),
  operation('GET /byok/{id}', {
    ...reads,
    id: 'getBYOKKey',
    summary: 'Get a key of a provider',
    parameters: [ID],
    reply: { description: 'The entry.', schema: one },
    faults: ['not_found'],
    handle: ({ path }, source) => oneByok(path.id, source),
  }),
  operation('PATCH /byok/{id}', {
    ...manages,
    id: 'updateBYOKKey',
    audit: 'byok_key.changed',
    summary: 'Change a key of a provider',
    description:
      'What the body does not name stays as it is; lists are replaced as a whole. `key` takes the place of the key that is there.',
    parameters: [ID],
    body: {
      schema: withNotes(checkByokChanges.schema, NOTES),
      examples: { off: { summary: 'Not used any more', value: { disabled: true } } },
    },
    reply: { description: 'The entry as it is now.', schema: one },
    faults: ['not_found', 'conflict'],
    handle: async ({ path, body }, source) => changeByok(path.id, await body(), source),
  }),
  operation('DELETE /byok/{id}', {
    ...manages,
    id: 'deleteBYOKKey',
    audit: 'byok_key.deleted',
    summary: 'Remove a key of a provider',
    parameters: [ID],
    reply: { description: 'The entry is gone, and its key erased.', schema: deleted },
    faults: ['not_found'],
    handle: ({ path }, source) => removeByok(path.id, source),
  }),
]
