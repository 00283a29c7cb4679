/**
 * The role of a key in its row. A program of the schema before 29 knows ordinary keys and management keys with all rights alone. The row of a
 * key with another role says to such a program that the key manages nothing and has ended in 1970, so that it refuses the key; what it
 * changes of such a row leaves the role and its end as they are. See docs/decisions/0089-roles.md.
 */
import { Fault } from '../core/faults.ts'
import { isRole, type Role } from '../core/roles.ts'

/** Columns of `api_key`. */
export interface RoleColumns {
  /** True for the role `owner`. */
  readonly management: boolean
  /** Milliseconds since the epoch; 0 for a role that programs of the schema before 29 do not know. */
  readonly expires_at: number | null
  /** Null for `member` and `owner`, and for keys that such a program has made. */
  readonly role: string | null
  /** End of a key whose `expires_at` is not its own; null for never. */
  readonly ends_at: number | null
}

export interface StoredRole {
  readonly role: Role
  readonly expiresAt: number | null
  /** A word that is no role of this version. The key opens nothing, and cannot be changed here. */
  readonly unknownRole?: string
}

/** @throws Fault 409 for a key with a role that this version does not know: a change would lose it. */
export function roleColumns({ role, expiresAt, unknownRole }: StoredRole): RoleColumns {
  if (unknownRole !== undefined)
    throw new Fault('conflict', {
      message: `The key has the role ${unknownRole}, which this version does not know: it can only be deleted here`,
    })
  if (role === 'member' || role === 'owner') return { management: role === 'owner', expires_at: expiresAt, role: null, ends_at: null }
  return { management: false, expires_at: 0, role, ends_at: expiresAt }
}

/** The same of a row, with the state of a key that opens nothing where its role is unknown. */
export function storedRole({ management, expires_at, role, ends_at }: RoleColumns): StoredRole & { readonly disabled?: true } {
  if (role === null) return { role: management ? 'owner' : 'member', expiresAt: expires_at }
  if (!isRole(role)) return { role: 'member', expiresAt: 0, unknownRole: role, disabled: true }
  return { role, expiresAt: ends_at }
}
