/** Guardrails and their assignments, described. */
import { type TSchema, Type } from 'typebox'
import type { JsonObject } from '../core/json.ts'
import { FIELD_NOTES, SHOWN_FIELDS } from '../guardrails/settings/fields.ts'
import { ACTIONS } from '../guardrails/settings/recognisers.ts'
import { checkGuardrailChanges, checkKeyHashes, checkMakingGuardrail, checkMembers } from './guardrail-body.ts'
import { checkTest } from './guardrail-test.ts'
import { type DescribedOperation, type DescribedParameter, withNotes } from './openapi.ts'
import { deleted } from './openapi-schemas.ts'

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

const ID: DescribedParameter = {
  name: 'id',
  in: 'path',
  description: 'Id of a guardrail.',
  schema: { type: 'string' },
  example: '550e8400-e29b-41d4-a716-446655440000',
}
const PAGING: readonly DescribedParameter[] = [
  { name: 'offset', in: 'query', description: 'Entries to skip.', schema: { type: 'integer', minimum: 0 }, example: 0 },
  {
    name: 'limit',
    in: 'query',
    description: 'Entries per page at most; 50 by default.',
    schema: { type: 'integer', minimum: 1, maximum: 100 },
    example: 50,
  },
]

const NOTES = {
  name: 'Name of the guardrail.',
  ...FIELD_NOTES,
  workspace_id: 'There is one workspace.',
}

const manages = { tag: 'Guardrails', key: 'management' } as const

function shownGuardrails(): DescribedOperation[] {
  return [
    {
      ...manages,
      method: 'get',
      path: '/guardrails',
      id: 'listGuardrails',
      summary: 'List guardrails',
      description: 'Guardrails of the configuration file come first.',
      parameters: [...PAGING, { name: 'workspace_id', in: 'query', description: 'Only this workspace.', schema: { type: 'string' } }],
      reply: { description: 'Guardrails.', schema: listed(guardrail) },
      faults: ['bad_request'],
    },
    {
      ...manages,
      method: 'get',
      path: '/guardrails/{id}',
      id: 'getGuardrail',
      summary: 'Get a guardrail',
      parameters: [ID],
      reply: { description: 'The guardrail.', schema: one },
      faults: ['not_found'],
    },
  ]
}

function changesOfGuardrails(): DescribedOperation[] {
  return [
    {
      ...manages,
      method: 'post',
      path: '/guardrails',
      id: 'createGuardrail',
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
    },
    {
      ...manages,
      method: 'patch',
      path: '/guardrails/{id}',
      id: 'updateGuardrail',
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
    },
    {
      ...manages,
      method: 'delete',
      path: '/guardrails/{id}',
      id: 'deleteGuardrail',
      summary: 'Delete a guardrail',
      parameters: [ID],
      reply: { description: 'The guardrail and its assignments are deleted. Its findings stay in the audit trail.', schema: deleted },
      faults: ['not_found', 'conflict'],
    },
  ]
}

const KEYS: JsonObject = { key_hashes: ['0123456789abcdef'.repeat(4)] }
const MEMBERS: JsonObject = { member_user_ids: ['user_abc123'] }

/** Assignments of one kind. @param plural `keys` or `members`. */
function assignments(plural: 'keys' | 'members'): DescribedOperation[] {
  const [Kind, schema, entry, example] =
    plural === 'keys'
      ? (['Key', checkKeyHashes.schema, keyAssignment, KEYS] as const)
      : (['Member', checkMembers.schema, memberAssignment, MEMBERS] as const)
  const idle = plural === 'members' ? 'The gateway has no members; only assignments of an earlier version are listed.' : ''
  const assigning =
    plural === 'members'
      ? 'Always refused with 400: requests are made by keys, so a guardrail of a member would hold for nothing.'
      : 'A key has one guardrail at most: the new one replaces the one before.'
  const body = { schema, examples: { one: { summary: `One of the ${plural}`, value: example } } }
  const path = `/guardrails/{id}/assignments/${plural}`
  return [
    {
      ...manages,
      method: 'get',
      path: `/guardrails/assignments/${plural}`,
      id: `list${Kind}Assignments`,
      summary: `List ${plural} with a guardrail`,
      description: idle,
      parameters: PAGING,
      reply: { description: 'Assignments.', schema: listed(entry) },
      faults: ['bad_request'],
    },
    {
      ...manages,
      method: 'get',
      path,
      id: `listGuardrail${Kind}Assignments`,
      summary: `List ${plural} of a guardrail`,
      description: idle,
      parameters: [ID, ...PAGING],
      reply: { description: 'Assignments.', schema: listed(entry) },
      faults: ['bad_request', 'not_found'],
    },
    {
      ...manages,
      method: 'post',
      path,
      id: `assign${Kind}s`,
      summary: `Assign a guardrail to ${plural}`,
      description: assigning,
      parameters: [ID],
      body,
      reply: { description: 'Number of new assignments.', schema: Type.Object({ assigned_count: Type.Integer() }) },
      faults: ['bad_request', 'not_found', 'conflict'],
    },
    {
      ...manages,
      method: 'post',
      path: `${path}/remove`,
      id: `unassign${Kind}s`,
      summary: `Remove a guardrail from ${plural}`,
      parameters: [ID],
      body,
      reply: { description: 'Number of removed assignments.', schema: Type.Object({ unassigned_count: Type.Integer() }) },
      faults: ['not_found', 'conflict'],
    },
  ]
}

const named = { id: Type.String(), name: Type.String() }

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
    guardrails: Type.Array(Type.Object({ ...named, scope: Type.Enum(['account', 'api-key']) })),
    not_called: Type.Array(Type.Object(named, { description: 'Guardrails whose external engine was not called.' })),
  }),
})

function testOperation(): DescribedOperation {
  return {
    ...manages,
    method: 'post',
    path: '/guardrails/test',
    id: 'testGuardrails',
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
  }
}

export function guardrailOperations(): DescribedOperation[] {
  return [testOperation(), ...shownGuardrails(), ...changesOfGuardrails(), ...assignments('keys'), ...assignments('members')]
}
