/** Guardrails and their assignments, described. */
import { type TSchema, Type } from 'typebox'
import type { JsonObject } from '../core/json.ts'
import { BUILTIN_SLUGS, checkGuardrailChanges, checkKeyHashes, checkMakingGuardrail, checkMembers } from './guardrail-body.ts'
import { type DescribedOperation, type DescribedParameter, withNotes } from './openapi.ts'
import { deleted } from './openapi-schemas.ts'

type Field = Parameters<typeof Type.Optional>[0]
const maybe = <T extends Field>(schema: T) => Type.Union([schema, Type.Null()])
const texts = () => maybe(Type.Array(Type.String()))
const flag = () => maybe(Type.Boolean())
const action = () => Type.Enum(['flag', 'redact', 'block'])

/** A guardrail as it is shown. */
export const guardrail = Type.Object(
  {
    id: Type.String({ description: 'Of a guardrail of the configuration file: its name.' }),
    name: Type.String(),
    description: maybe(Type.String()),
    limit_usd: maybe(Type.Number({ description: 'USD that each key may spend.' })),
    reset_interval: maybe(Type.Enum(['daily', 'weekly', 'monthly'])),
    include_byok_in_budgets: Type.Boolean(),
    allowed_models: texts(),
    ignored_models: texts(),
    allowed_providers: texts(),
    ignored_providers: texts(),
    enforce_zdr: flag(),
    enforce_zdr_anthropic: flag(),
    enforce_zdr_openai: flag(),
    enforce_zdr_google: flag(),
    enforce_zdr_xai: flag(),
    enforce_zdr_other: flag(),
    enable_free_model_publication: flag(),
    enable_free_model_training: flag(),
    enable_paid_model_training: flag(),
    content_filters: maybe(
      Type.Array(Type.Object({ pattern: Type.String(), action: action(), label: Type.Optional(maybe(Type.String())) })),
    ),
    content_filter_builtins: maybe(
      Type.Array(
        Type.Object({
          slug: Type.Enum([...BUILTIN_SLUGS]),
          action: action(),
          label: Type.String({ description: 'What stands in place of a match.' }),
          scan_scope: Type.Optional(Type.Enum(['user_only', 'all_messages'])),
        }),
      ),
    ),
    phrases: Type.Optional(Type.Array(Type.String())),
    allowed_phrases: Type.Optional(Type.Array(Type.String())),
    action: Type.Optional(action()),
    direction: Type.Optional(Type.Enum(['input', 'output', 'both'])),
    restore: Type.Optional(Type.Boolean()),
    max_price: Type.Optional(Type.Object({})),
    require_parameters: Type.Optional(Type.Boolean()),
    audit: Type.Optional(Type.Enum(['hashes', 'full'])),
    engine: Type.Optional(
      Type.Object(
        { type: Type.String(), on_error: Type.Enum(['closed', 'open']) },
        { description: 'Of the configuration file alone: who is asked.' },
      ),
    ),
    workspace_id: Type.String(),
    created_at: Type.String(),
    updated_at: maybe(Type.String()),
    scope: Type.Enum(['account', 'api-key'], { description: '`account`: it holds for every request.' }),
    source: Type.Enum(['configuration', 'store'], { description: 'One of the configuration file changes there.' }),
  },
  { description: 'What may be asked of models, and at what cost. Fields of our own are shown where they are set.' },
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
  { name: 'offset', in: 'query', description: 'Entries to pass over.', schema: { type: 'integer', minimum: 0 }, example: 0 },
  {
    name: 'limit',
    in: 'query',
    description: 'Most entries of a page; 50 by default.',
    schema: { type: 'integer', minimum: 1, maximum: 100 },
    example: 50,
  },
]

const NOTES = {
  name: 'What people call it.',
  description: 'What it is for.',
  limit_usd: 'USD that each key that it holds for may spend.',
  reset_interval: 'The budget begins anew at 00:00 UTC of every day, Monday or first of the month.',
  include_byok_in_budgets: 'Without effect: the gateway bills no keys of the callers’ own.',
  allowed_models: 'Only these models: slugs, or patterns with `*`.',
  ignored_models: 'Never these models.',
  allowed_providers: 'Only these providers, or `provider/variant`.',
  ignored_providers: 'Never these providers.',
  enforce_zdr: 'Stands for each of the five fields that is not sent.',
  content_filters: 'Patterns in linear time: no look-around, no back-references.',
  content_filter_builtins: 'Built-in recognisers.',
  phrases: 'Phrases that are looked for.',
  allowed_phrases: 'Phrases that are no prompt injection.',
  action: 'What phrases do; `block` by default.',
  direction: 'Whether requests, answers or both are read; `input` by default.',
  restore: 'What was redacted of a request is put back into its answer.',
  max_price: 'Dearer endpoints are left out.',
  require_parameters: 'Only endpoints that take every parameter sent.',
  audit: '`full`: the audit trail keeps the text that matched, and not its hash alone.',
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
      description: 'Those of the configuration file first.',
      parameters: [...PAGING, { name: 'workspace_id', in: 'query', description: 'Of one workspace.', schema: { type: 'string' } }],
      reply: { description: 'Guardrails.', schema: listed(guardrail) },
      faults: ['bad_request'],
    },
    {
      ...manages,
      method: 'get',
      path: '/guardrails/{id}',
      id: 'getGuardrail',
      summary: 'Show one guardrail',
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
      summary: 'Make a guardrail',
      description: 'Until it is assigned it does nothing.',
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
      reply: { description: 'It is gone, with its assignments. What it has found stays in the audit trail.', schema: deleted },
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
  const idle = plural === 'members' ? 'There are no members here; only assignments that an earlier version took are listed.' : ''
  const assigning =
    plural === 'members'
      ? 'Always refused with 400: requests are made by keys, so a guardrail of a member would hold for nothing.'
      : 'Each holds one guardrail at most: it takes the place of the one before.'
  const body = { schema, examples: { one: { summary: `One of the ${plural}`, value: example } } }
  const path = `/guardrails/{id}/assignments/${plural}`
  return [
    {
      ...manages,
      method: 'get',
      path: `/guardrails/assignments/${plural}`,
      id: `list${Kind}Assignments`,
      summary: `List the ${plural} that hold a guardrail`,
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
      summary: `List the ${plural} that hold one guardrail`,
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
      reply: { description: 'How many.', schema: Type.Object({ assigned_count: Type.Integer() }) },
      faults: ['bad_request', 'not_found', 'conflict'],
    },
    {
      ...manages,
      method: 'post',
      path: `${path}/remove`,
      id: `unassign${Kind}s`,
      summary: `Take a guardrail away from ${plural}`,
      parameters: [ID],
      body,
      reply: { description: 'How many held it.', schema: Type.Object({ unassigned_count: Type.Integer() }) },
      faults: ['not_found', 'conflict'],
    },
  ]
}

export function guardrailOperations(): DescribedOperation[] {
  return [...shownGuardrails(), ...changesOfGuardrails(), ...assignments('keys'), ...assignments('members')]
}
