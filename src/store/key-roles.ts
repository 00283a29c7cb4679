/**
 * The role of a key in its row. A program of the schema before 29 knows ordinary keys and management keys with all rights alone. The row of a
 * key with another role says to such a program that the key manages nothing and has ended in 1970, so that it refuses the key; what it
 * changes of such a row leaves the role and its end as they are. See docs/decisions/0089-roles.md.
 *
 * The row of a key with a place in an organisation says the same to programs of the schema before 32, which know no levels and would let it
 * spend beyond their limits: its role has a word in front that they do not know (docs/decisions/0096-levels-as-records.md).
 */
import { Fault } from '../core/faults.ts'
import type { KeyPlace } from '../core/levels.ts'
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
  /** Ids; null for the default workspace, and for no member. */
  readonly workspace: string | null
  readonly member: string | null
}

/** In front of the role of a key that has a place. */
const PLACED = 'placed '

export interface StoredRole {
  readonly role: Role
  readonly expiresAt: number | null
  /** A word that is no role of this version. The key opens nothing, and cannot be changed here. */
  readonly unknownRole?: string
  readonly place?: KeyPlace | undefined
}

/** @throws Fault 409 for a key with a role that this version does not know: a change would lose it. */
export function roleColumns({ role, expiresAt, unknownRole, place }: StoredRole): RoleColumns {
  if (unknownRole !== undefined)
    throw new Fault('conflict', {
      message: `The key has the role ${unknownRole}, which this version does not know: it can only be deleted here`,
    })
  if (place?.workspace !== undefined || place?.member !== undefined) {
    const { workspace = null, member = null } = place
    return { management: false, expires_at: 0, role: PLACED + role, ends_at: expiresAt, workspace, member }
  }
  const nowhere = { workspace: null, member: null }
  if (role === 'member' || role === 'owner')
    return { management: role === 'owner', expires_at: expiresAt, role: null, ends_at: null, ...nowhere }
  return { management: false, expires_at: 0, role, ends_at: expiresAt, ...nowhere }
}

/** The same of a row, with the state of a key that opens nothing where its role is unknown. */
export function storedRole(columns: RoleColumns): StoredRole & { readonly disabled?: true } {
  const { management, expires_at, role, ends_at, workspace, member } = columns
  const isPlaced = role?.startsWith(PLACED) ?? false
  if (isPlaced !== (workspace !== null || member !== null)) return { ...OPENS_NOTHING, unknownRole: role ?? PLACED }
  if (role === null) return { role: management ? 'owner' : 'member', expiresAt: expires_at }
  const word = isPlaced ? role.slice(PLACED.length) : role
  if (!isRole(word)) return { ...OPENS_NOTHING, unknownRole: role }
  if (!isPlaced) return { role: word, expiresAt: ends_at }
  const place = { ...(workspace === null ? {} : { workspace }), ...(member === null ? {} : { member }) }
  return { role: word, expiresAt: ends_at, place }
}

const OPENS_NOTHING = { role: 'member', expiresAt: 0, disabled: true } as const
