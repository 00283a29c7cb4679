/** Rights of a caller over keys: it gives no more than it has, for no longer than it has it, and raises no key that it may use itself. */
import { badField, Fault } from '../core/faults.ts'
import { governs, includesRole, isManager, listed, ROLES, type Role } from '../core/roles.ts'
import type { ApiKey } from '../plugin-api/key.ts'

/** A key as far as its rights over others go, and theirs over it. */
export type RankedKey = Pick<ApiKey, 'identity' | 'role' | 'expiresAt' | 'shown'>

/** The operator at the command line, with the admin token or at the store. */
export const OPERATOR_RIGHTS: RankedKey = { identity: '', role: 'owner', expiresAt: null }

/** @throws Fault 403 for a key of a role that the caller may neither make nor change. */
function requireGoverned(caller: RankedKey, role: Role): void {
  if (governs(caller.role, role)) return
  const roles = ROLES.filter((each) => governs(caller.role, each))
  const reach = roles.length === 0 ? 'makes and changes no keys' : `makes and changes keys of the roles ${listed(roles)} alone`
  throw new Fault('forbidden', {
    message: `A key of the role ${caller.role} ${reach}: this one has the role ${role}`,
    metadata: { role: caller.role, governed_roles: roles },
  })
}

/**
 * The end of a key that is made: the one that is stated, and of a management key no later than that of its maker.
 * @throws Fault 400 naming the field, 403.
 */
export function grantedEnd(caller: RankedKey, { role, expiresAt }: Pick<RankedKey, 'role' | 'expiresAt'>): number | null {
  requireGoverned(caller, role)
  return isManager({ role }) ? endWithin(caller, expiresAt) : expiresAt
}

function endWithin(caller: RankedKey, expiresAt: number | null): number | null {
  if (caller.expiresAt === null) return expiresAt
  if (expiresAt === null) return caller.expiresAt
  if (expiresAt > caller.expiresAt)
    throw badField('expires_at', `a management key ends with its maker at the latest, ${new Date(caller.expiresAt).toISOString()}`)
  return expiresAt
}

/** Another end of a key, as `grantedEnd`. A management key moves its own no further away. @throws Fault 400 naming the field, 403. */
export function changedEnd(caller: RankedKey, key: RankedKey, expiresAt: number | null): number | null {
  if (caller.identity !== key.identity) return grantedEnd(caller, { role: key.role, expiresAt })
  return isManager(key) ? endWithin(caller, expiresAt) : expiresAt
}

/** Disabling, enabling, renaming and deleting. A key may do this to itself. @throws Fault 403. */
export function requireChange(caller: RankedKey, key: RankedKey): void {
  if (caller.identity !== key.identity) requireGoverned(caller, key.role)
}

/**
 * A new secret, which the caller reads. @throws Fault 403 also for a management key that would outlive the caller, as the caller itself does
 * who has shown a secret that was replaced.
 */
export function requireRotation(caller: RankedKey, key: RankedKey): void {
  requireChange(caller, key)
  if (caller.identity !== key.identity || caller.shown !== undefined) requireNoLonger(caller, key)
}

/** @throws Fault 400 for a role that the key cannot have, 403. */
export function requireRoleChange(caller: RankedKey, key: RankedKey, role: Role): void {
  if (role === key.role) return
  requireGoverned(caller, key.role)
  requireGoverned(caller, role)
  if (isManager(key) !== isManager({ role }))
    throw badField(
      'role',
      `a key of the role ${key.role} cannot become one of the role ${role}, expected a new key: the one calls models, the other manages`,
    )
  if (!includesRole(key.role, role)) requireNoLonger(caller, { ...key, role })
}

function requireNoLonger(caller: RankedKey, key: RankedKey): void {
  if (!isManager(key) || caller.expiresAt === null) return
  if (key.expiresAt !== null && key.expiresAt <= caller.expiresAt) return
  throw new Fault('forbidden', {
    message: `The key would manage for longer than its caller, who ends at ${new Date(caller.expiresAt).toISOString()}`,
  })
}
