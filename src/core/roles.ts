/**
 * Roles of callers. Each operation of the API names the roles that it is open to (`src/api/operation.ts`), each key has one role, and so has
 * each rule of an identity provider. See docs/decisions/0089-roles.md.
 */
import { Fault } from './faults.ts'
import { callerReach, type OperationReach, type PlacedHolder } from './reach.ts'
import { includesScope, type Scope } from './scopes.ts'

/** From the least to the greatest. `viewer` and `billing` stand beside each other: neither includes the other. */
export const ROLES = ['member', 'viewer', 'billing', 'admin', 'owner'] as const

export type Role = (typeof ROLES)[number]

/** Roles of management keys: they manage, and call no models. */
export const MANAGEMENT_ROLES = ['viewer', 'billing', 'admin', 'owner'] as const satisfies readonly Role[]

export type ManagementRole = (typeof MANAGEMENT_ROLES)[number]

/** Rights of each role, for the documents. */
export const ROLE_TEXTS: Readonly<Record<Role, string>> = {
  member: 'Calls models, and reads what is its own. It manages nothing.',
  viewer: 'Reads keys, spending, requests, guardrails, events and the configuration. It changes nothing.',
  billing: 'Reads keys, spending, budgets and the entries of the ledger, and makes entries: corrections, refunds and write-offs.',
  admin: 'All management, but for keys of the roles `admin` and `owner`.',
  owner: 'All management.',
}

/** Roles that a role includes beside itself. A role that manages does not include `member`: it calls no models. */
const INCLUDED: Readonly<Record<Role, readonly Role[]>> = {
  member: [],
  viewer: [],
  billing: [],
  admin: ['viewer', 'billing'],
  owner: ['viewer', 'billing', 'admin'],
}

/** True for a word that is a role. Any other word of a store or a configuration opens nothing. */
export function isRole(word: unknown): word is Role {
  return ROLES.some((role) => role === word)
}

/** True if the role is the other one, or has all rights of it. */
export function includesRole(role: Role, other: Role): boolean {
  return role === other || INCLUDED[role].includes(other)
}

/**
 * Roles that an operation is open to: `none` without any key, `any` with every key, else these roles and those that include one of them.
 */
export type RequiredRoles = 'none' | 'any' | readonly [Role, ...Role[]]

/** Visitors of the control room to whom a route of the admin listener is open: those with one of these roles, or with the admin token alone. */
export type Visitors = 'operator' | readonly [Role, ...Role[]]

/** The caller of an operation, as far as its rights go. */
export interface RoleHolder extends PlacedHolder {
  readonly role: Role
  /** Absent: all that its role has. */
  readonly scopes?: readonly Scope[] | undefined
}

/** Requirements of an operation. */
export interface Right {
  readonly roles: RequiredRoles
  readonly reach: OperationReach
  /** Of one that is not about what is the caller's own; null where no scope opens it. */
  readonly scope?: Scope | null | undefined
}

/** True if the caller manages, and calls no models. */
export function isManager({ role }: RoleHolder): boolean {
  return role !== 'member'
}

/** True if the caller may call an operation. All checks of a right come here, so that a right within a part of the gateway has one place. */
export function isPermitted({ role }: RoleHolder, required: RequiredRoles): boolean {
  return typeof required === 'string' || required.some((each) => includesRole(role, each))
}

/** True if the caller may call the operation: its role, the bound of its place and its scopes all open it. */
export function mayCall(holder: RoleHolder, { roles, reach, scope }: Right): boolean {
  return isPermitted(holder, roles) && (reach !== 'gateway' || !callerReach(holder)) && hasScope(holder, scope)
}

function hasScope({ scopes }: RoleHolder, scope: Scope | null | undefined): boolean {
  if (scope === null) return scopes === undefined
  return scope === undefined || includesScope(scopes, scope)
}

/** @throws Fault 403 that names what the caller lacks. */
export function requireRight(holder: RoleHolder, right: Right): void {
  requireRole(holder, right.roles)
  const reach = right.reach === 'gateway' ? callerReach(holder) : undefined
  if (reach)
    throw new Fault('forbidden', {
      message: `This operation is about the whole gateway: a management key of one ${reach.kind} cannot perform it`,
      metadata: { reach: reach.kind, required_reach: 'gateway' },
    })
  const { scope } = right
  if (hasScope(holder, scope)) return
  const scopes = [...(holder.scopes ?? [])]
  const wanted = scope ? `needs the scope ${scope}` : 'is closed to keys with scopes'
  throw new Fault('forbidden', {
    message: `This operation ${wanted}: this key has ${listed(scopes)}`,
    metadata: { scopes, required_scope: scope ?? null },
  })
}

/** All roles that an operation is open to, from the least to the greatest. */
export function permittedRoles(required: RequiredRoles): Role[] {
  return ROLES.filter((role) => isPermitted({ role }, required))
}

/** Names of roles as a sentence has them. */
export function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

/** @throws Fault 403 that names the roles that the operation is open to. */
export function requireRole(holder: RoleHolder, required: RequiredRoles): void {
  if (isPermitted(holder, required)) return
  const roles = permittedRoles(required)
  const isForMembers = roles.includes('member')
  throw new Fault(isForMembers ? 'forbidden' : 'management_only', {
    message: `Only ${isForMembers ? '' : 'management '}keys of the ${roles.length === 1 ? 'role' : 'roles'} ${listed(roles)} can perform this operation: this one has the role ${holder.role}`,
    metadata: { role: holder.role, required_roles: roles },
  })
}

/**
 * True if a caller may make a key of a role, change, disable, rotate or delete it, or give it the role: `owner` may of every role, `admin` of
 * those below it, and the others of none.
 */
export function governs(role: Role, other: Role): boolean {
  if (role === 'owner') return true
  return role === 'admin' && (other === 'member' || other === 'viewer' || other === 'billing')
}
