/** Guardrails and their assignments. */
import { type TSchema, Type } from 'typebox'
import type { JsonObject } from '../../core/json.ts'
import { FIELD_NOTES, SHOWN_FIELDS } from '../../guardrails/settings/fields.ts'
import { ACTIONS } from '../../guardrails/settings/recognisers.ts'
import { ASSIGNMENTS_QUERY, assign, listAssignments, unassign } from '../guardrail-assignments.ts'
import {
  checkGuardrailChanges,
  checkKeyHashes,
  checkMakingGuardrail,
  checkMembers,
  checkOrganizations,
  checkWorkspaces,
} from '../guardrail-body.ts'
import { checkTest, testGuardrails } from '../guardrail-test.ts'
import { changeGuardrail, createGuardrail, listGuardrails, oneGuardrail, PAGING, removeGuardrail, workspace } from '../guardrails.ts'
import { withNotes } from '../openapi.ts'
import { keyMaker, type Operation, operation } from '../operation.ts'
import { deleted } from '../schemas.ts'

type Field = Parameters<typeof Type.Optional>[0]
const maybe = <T extends Field>(schema: T) => Type.Union([schema, Type.Null()])

/** A guardrail as it is shown. */
export const guardrail = Type.Object(
  {
    id: Type.String({ description: 'For guardrails of the configuration file: the name.' }),
    name: Type.String(),
    ...SHOWN_FIELDS,
    workspace_id: Type.String(),
    created_at: Type.String(),
    updated_at: maybe(Type.String()),
    scope: Type.Enum(['account', 'api-key'], { description: '`account`: applies to every request.' }),
    source: Type.Enum(['configuration', 'store'], { description: 'Guardrails of the configuration file can only be changed there.' }),
  },
  { description: 'A rule over requests, answers, models and spending. Optional fields appear where they are set.' },
)

const listed = (entry: TSchema) => Type.Object({ data: Type.Array(entry), total_count: Type.Integer() })
const one = Type.Object({ data: guardrail })
const keyAssignment = Type.Object({
  id: Type.String(),
  guardrail_id: Type.String(),
  key_hash: Type.String(),
  key_name: Type.String(),
  key_label: Type.String(),
  assigned_by: maybe(Type.String()),
  created_at: Type.String(),
})
const memberAssignment = Type.Object({
  id: Type.String(),
  guardrail_id: Type.String(),
  user_id: Type.String(),
  organization_id: Type.String(),
  assigned_by: maybe(Type.String()),
  created_at: Type.String(),
})

const ID = {
  name: 'id',
  in: 'path',
  description: 'Id of a guardrail.',
  schema: { type: 'string' },
  example: '550e8400-e29b-41d4-a716-446655440000',
  // A UUID, or the name of a guardrail of the file.
  pattern: '[A-Za-z0-9][A-Za-z0-9._-]{0,63}',
} as const
const NOTES = {
  name: 'Name of the guardrail.',
  ...FIELD_NOTES,
  workspace_id: 'Only the id of the default workspace is taken.',
}

const reads = { tag: 'Guardrails', roles: ['viewer'], reach: 'place', scope: 'guardrails:read' } as const
const manages = { tag: 'Guardrails', roles: ['admin'], reach: 'place', scope: 'guardrails:write' } as const

const KEYS: JsonObject = { key_hashes: ['0123456789abcdef'.repeat(4)] }
const WORKSPACES: JsonObject = { workspace_ids: ['ml-team'] }
const ORGANIZATIONS: JsonObject = { organization_ids: ['default'] }
const MEMBERS: JsonObject = { member_user_ids: ['ada@example.com'] }

const levelAssignment = (field: string) =>
  Type.Object({
    id: Type.String(),
    guardrail_id: Type.String(),
    [field]: Type.String(),
    assigned_by: maybe(Type.String()),
    created_at: Type.String(),
  })

const ASSIGNED = {
  keys: { kind: 'key', Kind: 'Key', schema: checkKeyHashes.schema, entry: keyAssignment, example: KEYS },
  members: { kind: 'member', Kind: 'Member', schema: checkMembers.schema, entry: memberAssignment, example: MEMBERS },
  workspaces: {
    kind: 'workspace',
    Kind: 'Workspace',
    schema: checkWorkspaces.schema,
    entry: levelAssignment('workspace_id'),
    example: WORKSPACES,
  },
  organizations: {
    kind: 'organization',
    Kind: 'Organization',
    schema: checkOrganizations.schema,
    entry: levelAssignment('organization_id'),
    example: ORGANIZATIONS,
  },
} as const

/** Assignments of one kind. */
function assignments(plural: keyof typeof ASSIGNED): readonly Operation[] {
  const { kind, Kind, schema, entry, example } = ASSIGNED[plural]
  const idle = plural === 'members' ? 'It holds for requests of the member in every workspace.' : ''
  const assigning = `Each has one guardrail at most: the new one replaces the one before. Those of a key and of all levels above it hold at once.`
  const named = { schema, examples: { one: { summary: `One of the ${plural}`, value: example } } }
  const of = `/guardrails/{id}/assignments/${plural}` as const
  return [
    operation(`GET /guardrails/assignments/${plural}`, {
      ...reads,
      id: `list${Kind}Assignments`,
      summary: `List ${plural} with a guardrail`,
      description: idle,
      parameters: ASSIGNMENTS_QUERY,
      reply: { description: 'Assignments.', schema: listed(entry) },
      faults: ['bad_request'],
      handle: ({ query }, source) => listAssignments(kind, undefined, query, source),
    }),
    operation(`GET ${of}`, {
      ...reads,
      id: `listGuardrail${Kind}Assignments`,
      summary: `List ${plural} of a guardrail`,
      description: idle,
      parameters: [ID, ...ASSIGNMENTS_QUERY],
      reply: { description: 'Assignments.', schema: listed(entry) },
      faults: ['bad_request', 'not_found'],
      handle: ({ path, query }, source) => listAssignments(kind, path.id, query, source),
    }),
    operation(`POST ${of}`, {
      ...manages,
      id: `assign${Kind}s`,
      audit: 'guardrail.assigned',
      summary: `Assign a guardrail to ${plural}`,
      description: assigning,
      parameters: [ID],
      body: named,
      reply: { description: 'Number of new assignments.', schema: Type.Object({ assigned_count: Type.Integer() }) },
      faults: ['bad_request', 'not_found', 'conflict'],
      handle: async ({ path, key, body }, source) => assign(kind, path.id, await body(), { ...source, by: keyMaker(key) }),
    }),
    operation(`POST ${of}/remove`, {
      ...manages,
      id: `unassign${Kind}s`,
      audit: 'guardrail.unassigned',
      summary: `Remove a guardrail from ${plural}`,
      parameters: [ID],
      body: named,
      reply: { description: 'Number of removed assignments.', schema: Type.Object({ unassigned_count: Type.Integer() }) },
      faults: ['not_found', 'conflict'],
      handle: async ({ path, body }, source) => unassign(kind, path.id, await body(), source),
    }),
  ]
}

const name = { id: Type.String(), name: Type.String() }

const tested = Type.Object({
  data: Type.Object({
    verdict: Type.Enum(['pass', ...ACTIONS]),
    text: maybe(Type.String({ description: 'The text as it would be sent; null where it would not be sent.' })),
    findings: Type.Array(
      Type.Object({
        guardrail_id: Type.String(),
        guardrail: Type.String(),
        scope: Type.Enum(['account', 'api-key']),
        action: Type.Enum([...ACTIONS]),
        entity: Type.String({ description: 'Kind of what was found.' }),
        label: maybe(Type.String()),
        matches: Type.Array(Type.String({ description: 'Distinct texts that matched, at most 20, each shortened to 500 characters.' })),
      }),
    ),
    guardrails: Type.Array(Type.Object({ ...name, scope: Type.Enum(['account', 'api-key']) })),
    not_called: Type.Array(Type.Object(name, { description: 'Guardrails whose external engine was not called.' })),
  }),
})

export const guardrailOperations: readonly Operation[] = [
  operation('POST /guardrails/test', {
    ...reads,
    reach: 'gateway',
    id: 'testGuardrails',
    audit: { none: 'it looks at a text, and changes nothing' },
    summary: 'Test a text',
    description:
      'What the guardrails in force would find in a text. Nothing is sent, recorded or counted, and no external engine is called.',
    body: {
      schema: withNotes(checkTest.schema, {
        text: 'A message.',
        direction: 'The way that the text would go; `input` without it.',
        role: 'Who would have written it; `user` without it. Some rules read the user alone.',
        guardrail: 'Only the guardrail with this id.',
      }),
      examples: { mail: { summary: 'An address', value: { text: 'Write to ann@example.com' } } },
    },
    reply: { description: 'What was found.', schema: tested },
    faults: ['bad_request'],
    handle: async ({ body }, source) => testGuardrails(await body(), source),
  }),
  operation('GET /guardrails', {
    ...reads,
    id: 'listGuardrails',
    summary: 'List guardrails',
    description: 'Guardrails of the configuration file come first.',
    parameters: [...PAGING, workspace],
    reply: { description: 'Guardrails.', schema: listed(guardrail) },
    faults: ['bad_request'],
    handle: ({ query }, source) => listGuardrails(query, source),
  }),
  operation('GET /guardrails/{id}', {
    ...reads,
    id: 'getGuardrail',
    summary: 'Get a guardrail',
    parameters: [ID],
    reply: { description: 'The guardrail.', schema: one },
    faults: ['not_found'],
    handle: ({ path }, source) => oneGuardrail(path.id, source),
  }),
  operation('POST /guardrails', {
    ...manages,
    id: 'createGuardrail',
    audit: 'guardrail.created',
    summary: 'Create a guardrail',
    description: 'It has no effect until it is assigned to keys.',
    body: {
      schema: withNotes(checkMakingGuardrail.schema, NOTES),
      examples: {
        budget: { summary: 'Fifty dollars a month for each key', value: { name: 'Budget', limit_usd: 50, reset_interval: 'monthly' } },
        filters: {
          summary: 'No secrets',
          value: {
            name: 'No secrets',
            content_filter_builtins: [
              { slug: 'email', action: 'redact' },
              { slug: 'regex-prompt-injection', action: 'block' },
            ],
            content_filters: [{ pattern: 'project-[0-9]{4}', action: 'redact', label: '[PROJECT]' }],
          },
        },
      },
    },
    reply: { status: 201, description: 'The guardrail.', schema: one },
    handle: async ({ body }, source) => createGuardrail(await body(), source),
  }),
  operation('PATCH /guardrails/{id}', {
    ...manages,
    id: 'updateGuardrail',
    audit: 'guardrail.changed',
    summary: 'Change a guardrail',
    description:
      'What the body does not name stays as it is; lists are replaced as a whole. The first change of the workspace’s own makes it.',
    parameters: [ID],
    body: {
      schema: withNotes(checkGuardrailChanges.schema, NOTES),
      examples: { budget: { summary: 'Another budget', value: { limit_usd: 75, reset_interval: 'weekly' } } },
    },
    reply: { description: 'The guardrail as it is now.', schema: one },
    faults: ['not_found', 'conflict'],
    handle: async ({ path, key, body }, source) => changeGuardrail(path.id, await body(), source, keyMaker(key)),
  }),
  operation('DELETE /guardrails/{id}', {
    ...manages,
    id: 'deleteGuardrail',
    audit: 'guardrail.deleted',
    summary: 'Delete a guardrail',
    parameters: [ID],
    reply: { description: 'The guardrail and its assignments are deleted. Its findings stay in the audit trail.', schema: deleted },
    faults: ['not_found', 'conflict'],
    handle: ({ path }, source) => removeGuardrail(path.id, source),
  }),
  ...assignments('keys'),
  ...assignments('members'),
  ...assignments('workspaces'),
  ...assignments('organizations'),
]
