/** Organizations, workspaces and members as the pages of teams know them: their words, addresses and rights. */
import type { BudgetsReply, MembersReply, OrganizationsReply, WorkspacesReply } from '../api-types.ts'

export type Organization = OrganizationsReply['data'][number]
export type Workspace = WorkspacesReply['data'][number]
export type Member = MembersReply['data'][number]
export type Level = Organization | Workspace | Member
export type Budget = BudgetsReply['data'][number]

export type Kind = 'organization' | 'workspace' | 'member'

interface Operations {
  readonly noun: string
  /** @param id also a slug, of what has one. */
  readonly address: (id: string) => string
  readonly change: string
  readonly remove: string
  readonly setLimit: string
  readonly clearLimit: string
}

/** Of those that can be made, and have members. */
interface GroupOperations extends Operations {
  readonly list: string
  readonly create: string
  readonly members: (id: string) => string
  readonly addMembers: string
  readonly removeMembers: string
}

export const GROUPS: Readonly<Record<Exclude<Kind, 'member'>, GroupOperations>> = {
  organization: {
    noun: 'organization',
    list: '/v1/organizations',
    address: (id) => `/v1/organizations/${id}`,
    create: 'POST /v1/organizations',
    change: 'PATCH /v1/organizations/{id}',
    remove: 'DELETE /v1/organizations/{id}',
    setLimit: 'PUT /v1/organizations/{id}/budgets/{interval}',
    clearLimit: 'DELETE /v1/organizations/{id}/budgets/{interval}',
    members: (id) => `/v1/organizations/${id}/members`,
    addMembers: 'POST /v1/organizations/{id}/members/add',
    removeMembers: 'POST /v1/organizations/{id}/members/remove',
  },
  workspace: {
    noun: 'workspace',
    list: '/v1/workspaces',
    address: (id) => `/v1/workspaces/${id}`,
    create: 'POST /v1/workspaces',
    change: 'PATCH /v1/workspaces/{id}',
    remove: 'DELETE /v1/workspaces/{id}',
    setLimit: 'PUT /v1/workspaces/{id}/budgets/{interval}',
    clearLimit: 'DELETE /v1/workspaces/{id}/budgets/{interval}',
    members: (id) => `/v1/workspaces/${id}/members`,
    addMembers: 'POST /v1/workspaces/{id}/members/add',
    removeMembers: 'POST /v1/workspaces/{id}/members/remove',
  },
}

export const KINDS: Readonly<Record<Kind, Operations>> = {
  ...GROUPS,
  member: {
    noun: 'member',
    address: (id) => `/v1/members/${id}`,
    change: 'PATCH /v1/members/{id}',
    remove: 'DELETE /v1/members/{id}',
    setLimit: 'PUT /v1/members/{id}/budgets/{interval}',
    clearLimit: 'DELETE /v1/members/{id}/budgets/{interval}',
  },
}

export const isKind = (word: string | undefined): word is Kind => word !== undefined && Object.hasOwn(KINDS, word)

/** As texts name it: a member by its id at the identity provider. */
export const levelName = (level: Level): string => ('user_id' in level ? level.user_id : level.name)

/** As paths, files and rules name it. */
export const levelWord = (level: Level): string => ('user_id' in level ? level.user_id : level.slug)

/** Windows of limits, the shortest first, with their names. */
export const WINDOWS = { daily: 'Day', weekly: 'Week', monthly: 'Month', lifetime: 'In all' } as const
export type Window = keyof typeof WINDOWS
