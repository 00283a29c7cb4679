/** Organizations, workspaces, their members, and the budgets of each. */
import { type TSchema, Type } from 'typebox'
import { LEVEL_KINDS, type LevelKind, MEMBER_ROLES, ORGANIZATION } from '../../core/levels.ts'
import { BUDGET_WINDOWS } from '../../core/shared-budget.ts'
import { SORT_KEYS } from '../../core/sort-keys.ts'
import { WINDOWS } from '../../core/windows.ts'
import type { DescribedParameter } from '../described-operation.ts'
import { checkAddedUsers, checkLevelBudget, checkLevelChanges, checkMakingLevel, checkRemovedUsers } from '../level-body.ts'
import {
  addMembers,
  changeLevel,
  createLevel,
  GROUPS_QUERY,
  LEVELS_QUERY,
  listLevelBudgets,
  listLevels,
  listMembers,
  listPeople,
  ofOrganization,
  oneLevel,
  oneLevelBudget,
  putLevelBudget,
  removeLevel,
  removeLevelBudget,
  removeMembers,
} from '../levels.ts'
import { withNotes } from '../openapi.ts'
import { keyMaker, type Operation, operation } from '../operation.ts'
import { amount, count, data, deleted, flag, maybe, text } from '../schemas.ts'

const rates = Type.Object(
  { requests: maybe(Type.Integer()), tokens: maybe(Type.Integer()), streams: maybe(Type.Integer()) },
  { description: 'Requests and tokens per minute and open streams of all below it together; null: no limit.' },
)
const shared = {
  description: maybe(Type.String()),
  disabled: flag('True: all below it are refused with 403.'),
  rate_limits: rates,
  include_byok_in_budgets: flag('True: what providers bill to keys of its team counts as spending.'),
  created_at: text(),
  updated_at: maybe(Type.String()),
  created_by: maybe(Type.String({ description: 'The user, or the name of the key, that made it.' })),
}
const counted = (description: string) => Type.Optional(Type.Integer({ description: `${description}; with \`include_counts\`.` }))
const counts = {
  member_count: counted('Members right below it'),
  workspace_count: counted('Its workspaces'),
  key_count: counted('Keys in use below it'),
}
const organization = Type.Object({ id: text(), name: text(), slug: text(), ...shared, ...counts }, { description: 'An organization.' })
const workspace = Type.Object(
  {
    id: text(),
    name: text(),
    slug: text(),
    ...shared,
    ...counts,
    organization_id: text(),
    default_guardrail_id: text('Of the guardrail that holds for all its requests, once it is made by its first change.'),
    default_text_model: maybe(Type.String({ description: 'The model of requests that name none.' })),
    default_provider_sort: maybe(Type.Enum([...SORT_KEYS], { description: 'Order of endpoints for requests that name none.' })),
    default_image_model: Type.Null(),
    is_observability_io_logging_enabled: Type.Literal(false),
    is_observability_broadcast_enabled: Type.Literal(false),
    is_data_discount_logging_enabled: Type.Literal(false),
    io_logging_sampling_rate: Type.Literal(1),
    io_logging_api_key_ids: Type.Null(),
  },
  { description: 'A workspace. Fields about images and logging are there for clients that require them.' },
)
const member = Type.Object(
  {
    id: text('Of the membership.'),
    user_id: text('Address or id by which an identity provider names the person or service account.'),
    name: text(),
    role: Type.Enum([...MEMBER_ROLES]),
    is_service_account: flag(),
    workspace_id: maybe(Type.String({ description: 'Null for a member of the organization itself.' })),
    organization_id: maybe(Type.String()),
    ...shared,
  },
  { description: 'A member of a workspace or organization.' },
)
const person = Type.Object({
  id: text('As `user_id` of its memberships.'),
  email: text('Empty where the id is none.'),
  first_name: maybe(Type.String({ description: 'The name, where one was given.' })),
  last_name: Type.Null(),
  role: Type.Enum(['org:admin', 'org:member']),
})

interface KindText {
  readonly path: string
  readonly noun: string
  readonly title: string
  readonly schema: TSchema
}

const KINDS: Readonly<Record<LevelKind, KindText>> = {
  organization: { path: '/organizations', noun: 'an organization', title: 'Organization', schema: organization },
  workspace: { path: '/workspaces', noun: 'a workspace', title: 'Workspace', schema: workspace },
  member: { path: '/members', noun: 'a member', title: 'Member', schema: member },
}

const NOTES = {
  name: 'Name for people.',
  slug: 'Name for paths, files and rules, unique among those of its kind.',
  description: 'Text for people.',
  disabled: 'True: all below it are refused with 403.',
  rate_limits: 'Requests and tokens per minute and open streams of all below it together; null takes all of them away.',
  default_text_model: 'The model of requests that name none.',
  default_provider_sort: 'Order of endpoints for requests that name none.',
  organization_id: 'Id or slug; the default organization without it.',
  role: 'Role of the person in the control room, over what lies at and below the workspace or organization: `member` manages nothing. A rule of the identity provider that gives a role comes first.',
  is_service_account: 'True: a program, not a person.',
  user_ids: 'Addresses or ids by which an identity provider names them, 100 at most.',
  limit_usd: 'USD that all below it may spend in the interval.',
  include_byok_in_budgets: 'For all intervals: whether what providers bill to keys of the team counts.',
}

const EXAMPLE_IDS: Readonly<Record<LevelKind, string>> = {
  organization: 'research',
  workspace: 'ml-team',
  member: '84c2f1de-7a43-4c1b-8f0d-5b9e2a6d7c10',
}

const levelPart = (kind: LevelKind): DescribedParameter => ({
  name: 'id',
  in: 'path',
  description: kind === 'member' ? 'Id of the membership.' : `Id or slug of the ${kind}.`,
  schema: { type: 'string' },
  example: EXAMPLE_IDS[kind],
  pattern: '[a-z0-9-]{1,64}',
})
const INTERVAL: DescribedParameter = {
  name: 'interval',
  in: 'path',
  description: 'Window of the budget; `lifetime` for one that never begins anew.',
  schema: { type: 'string', enum: [...BUDGET_WINDOWS] },
  example: 'monthly',
  pattern: '[a-z]{1,20}',
}

const page = (schema: TSchema) => Type.Object({ data: Type.Array(schema), total_count: count() })

/** Operations on all of a kind, which can be made. */
function groupOperations(kind: Exclude<LevelKind, 'member'>): readonly Operation[] {
  const { path, noun, title, schema } = KINDS[kind]
  const tag = `${title}s`
  const example = { name: 'Machine learning', slug: kind === 'workspace' ? 'ml-team' : 'research' }
  return [
    operation(`GET ${path}` as 'GET /workspaces', {
      tag,
      roles: ['viewer', 'billing'],
      reach: 'place',
      scope: 'organization:read',
      id: `list${title}s`,
      summary: `List ${kind}s`,
      description: `The oldest first. The default ${kind} is always there.`,
      parameters: kind === 'workspace' ? [...GROUPS_QUERY, ofOrganization] : GROUPS_QUERY,
      reply: { description: `A page of ${kind}s.`, schema: page(schema) },
      faults: ['bad_request', 'not_found'],
      handle: ({ query }, source) => listLevels(kind, query, source),
    }),
    operation(`POST ${path}` as 'POST /workspaces', {
      tag,
      roles: ['admin'],
      reach: kind === 'organization' ? 'gateway' : 'place',
      scope: 'organization:write',
      id: `create${title}`,
      audit: `${kind}.created`,
      summary: `Create ${noun}`,
      description: 'Without a budget it limits nothing.',
      body: {
        schema: withNotes(checkMakingLevel[kind].schema, NOTES),
        examples: { plain: { summary: 'A name and a slug', value: example } },
      },
      reply: { status: 201, description: `The ${kind}.`, schema: data(schema) },
      handle: async ({ body, key }, source) => createLevel(kind, await body(), { ...source, by: keyMaker(key) }),
    }),
    operation(`GET ${path}/{id}/members` as 'GET /workspaces/{id}/members', {
      tag,
      roles: ['viewer', 'billing'],
      reach: 'place',
      scope: 'organization:read',
      id: kind === 'workspace' ? 'listWorkspaceMembers' : 'listMembersOfOrganization',
      summary: `List members of ${noun}`,
      description: 'Those right below it, the oldest first.',
      parameters: [levelPart(kind), ...LEVELS_QUERY],
      reply: { description: 'A page of members.', schema: page(member) },
      faults: ['bad_request', 'not_found'],
      handle: ({ path: { id }, query }, source) => listMembers(kind, id, query, source),
    }),
    operation(`POST ${path}/{id}/members/add` as 'POST /workspaces/{id}/members/add', {
      tag,
      roles: ['admin'],
      reach: 'place',
      scope: 'organization:write',
      id: `bulkAdd${title}Members`,
      audit: 'member.created',
      summary: `Add members to ${noun}`,
      description: 'Those that are members already get the role and kind that the body names.',
      parameters: [levelPart(kind)],
      body: {
        schema: withNotes(checkAddedUsers.schema, NOTES),
        examples: { people: { summary: 'Two people', value: { user_ids: ['ada@example.com', 'bob@example.com'] } } },
      },
      reply: { description: 'The members.', schema: Type.Object({ added_count: count(), data: Type.Array(member) }) },
      faults: ['not_found'],
      handle: async ({ path: { id }, body, key: caller }, source) =>
        addMembers(kind, id, await body(), { ...source, by: keyMaker(caller), caller }),
    }),
    operation(`POST ${path}/{id}/members/remove` as 'POST /workspaces/{id}/members/remove', {
      tag,
      roles: ['admin'],
      reach: 'place',
      scope: 'organization:write',
      id: `bulkRemove${title}Members`,
      audit: 'member.deleted',
      summary: `Remove members from ${noun}`,
      description: 'Their keys are refused from then on. Those that are no members are not counted.',
      parameters: [levelPart(kind)],
      body: {
        schema: withNotes(checkRemovedUsers.schema, NOTES),
        examples: { person: { summary: 'One person', value: { user_ids: ['bob@example.com'] } } },
      },
      reply: { description: 'How many have been removed.', schema: Type.Object({ removed_count: count() }) },
      faults: ['not_found'],
      handle: async ({ path: { id }, body, key: caller }, source) => removeMembers(kind, id, await body(), { ...source, caller }),
    }),
  ]
}

/** Operations on one level. */
function levelOperations(kind: LevelKind): readonly Operation[] {
  const { path, noun, title, schema } = KINDS[kind]
  const tag = `${title}s`
  const budget = Type.Object(
    {
      id: text(),
      [`${kind}_id`]: text(),
      limit_usd: amount(),
      reset_interval: maybe(Type.Enum([...WINDOWS])),
      created_at: text(),
      updated_at: text(),
    },
    { description: `A limit of ${noun} in one window.` },
  )
  const one = Type.Object({ data: budget, include_byok_in_budgets: flag() })
  const all = Type.Object({ data: Type.Array(budget), include_byok_in_budgets: flag() })
  return [
    operation(`GET ${path}/{id}` as 'GET /workspaces/{id}', {
      tag,
      roles: ['viewer', 'billing'],
      reach: 'place',
      scope: 'organization:read',
      id: `get${title}`,
      summary: `Get ${noun}`,
      parameters: [levelPart(kind)],
      reply: { description: `The ${kind}.`, schema: data(schema) },
      faults: ['not_found'],
      handle: ({ path: { id } }, source) => oneLevel(kind, id, source),
    }),
    operation(`PATCH ${path}/{id}` as 'PATCH /workspaces/{id}', {
      tag,
      roles: ['admin'],
      reach: 'place',
      scope: 'organization:write',
      id: `update${title}`,
      audit: `${kind}.changed`,
      summary: `Change ${noun}`,
      description: 'What the body does not name stays as it is. `disabled: true` refuses all below it within a second, in every process.',
      parameters: [levelPart(kind)],
      body: {
        schema: withNotes(checkLevelChanges[kind].schema, NOTES),
        examples: { off: { summary: 'Refuse all below it', value: { disabled: true } } },
      },
      reply: { description: `The ${kind} as it is now.`, schema: data(schema) },
      faults: ['not_found'],
      handle: async ({ path: { id }, body, key: caller }, source) => changeLevel(kind, id, await body(), { ...source, caller }),
    }),
    operation(`DELETE ${path}/{id}` as 'DELETE /workspaces/{id}', {
      tag,
      roles: ['admin'],
      reach: 'place',
      scope: 'organization:write',
      id: `delete${title}`,
      audit: `${kind}.deleted`,
      summary: `Remove ${noun}`,
      description:
        'All below it are refused from then on; what they have spent stays in the ledger. The default ones, workspaces with keys in use and organizations with workspaces stay.',
      parameters: [levelPart(kind)],
      reply: { description: 'It is gone.', schema: deleted },
      faults: ['bad_request', 'not_found'],
      handle: ({ path: { id }, key: caller }, source) => removeLevel(kind, id, { ...source, caller }),
    }),
    operation(`GET ${path}/{id}/budgets` as 'GET /workspaces/{id}/budgets', {
      tag,
      roles: ['viewer', 'billing'],
      reach: 'place',
      scope: 'organization:read',
      id: `list${title}Budgets`,
      summary: `List budgets of ${noun}`,
      parameters: [levelPart(kind)],
      reply: { description: 'Its own limits; those of the levels above it apply as well.', schema: all },
      faults: ['not_found'],
      handle: ({ path: { id } }, source) => listLevelBudgets(kind, id, source),
    }),
    operation(`GET ${path}/{id}/budgets/{interval}` as 'GET /workspaces/{id}/budgets/{interval}', {
      tag,
      roles: ['viewer', 'billing'],
      reach: 'place',
      scope: 'organization:read',
      id: `get${title}Budget`,
      summary: `Get a budget of ${noun}`,
      parameters: [levelPart(kind), INTERVAL],
      reply: { description: 'The budget.', schema: one },
      faults: ['bad_request', 'not_found'],
      handle: ({ path: { id, interval } }, source) => oneLevelBudget(kind, id, interval, source),
    }),
    operation(`PUT ${path}/{id}/budgets/{interval}` as 'PUT /workspaces/{id}/budgets/{interval}', {
      tag,
      roles: ['admin'],
      reach: 'place',
      scope: 'organization:write',
      id: `set${title}Budget`,
      audit: `${kind}.changed`,
      summary: `Set a budget of ${noun}`,
      description: 'The limit of a window must be lower than that of each longer window.',
      parameters: [levelPart(kind), INTERVAL],
      body: {
        schema: withNotes(checkLevelBudget.schema, NOTES),
        examples: { dollars: { summary: 'A hundred dollars', value: { limit_usd: 100 } } },
      },
      reply: { description: 'The budget.', schema: one },
      faults: ['not_found'],
      handle: async ({ path: { id, interval }, body }, source) => putLevelBudget(kind, id, interval, await body(), source),
    }),
    operation(`DELETE ${path}/{id}/budgets/{interval}` as 'DELETE /workspaces/{id}/budgets/{interval}', {
      tag,
      roles: ['admin'],
      reach: 'place',
      scope: 'organization:write',
      id: `delete${title}Budget`,
      audit: `${kind}.changed`,
      summary: `Remove a budget of ${noun}`,
      description: 'It succeeds also where there is none.',
      parameters: [levelPart(kind), INTERVAL],
      reply: { description: 'There is none any more.', schema: deleted },
      faults: ['bad_request', 'not_found'],
      handle: ({ path: { id, interval } }, source) => removeLevelBudget(kind, id, interval, source),
    }),
  ]
}

export const levelsOperations: readonly Operation[] = [
  ...groupOperations('organization'),
  ...groupOperations('workspace'),
  ...LEVEL_KINDS.flatMap(levelOperations),
  operation('GET /organization/members', {
    tag: 'Organizations',
    roles: ['viewer', 'billing'],
    reach: 'place',
    scope: 'organization:read',
    id: 'listOrganizationMembers',
    summary: "List people of the caller's organization",
    description: 'Members of the organization and of all its workspaces, each once.',
    parameters: LEVELS_QUERY,
    reply: { description: 'A page of people and service accounts.', schema: page(person) },
    faults: ['bad_request'],
    handle: ({ query, key }, source) => listPeople(key.levels?.organization ?? ORGANIZATION, query, source),
  }),
]
