/**
 * The role of a key in its row. A program of the schema before 29 knows ordinary keys and management keys with all rights alone. The row of a
 * key with another role says to such a program that the key manages nothing and has ended in 1970, so that it refuses the key; what it
 * changes of such a row leaves the role and its end as they are. See docs/decisions/0089-roles.md.
 *
 * The row of a key with a place in an organisation says the same to programs of the schema before 32, which know no levels and would let it
 * spend beyond their limits: its role has a word in front that they do not know (docs/decisions/0096-levels-as-records.md). So has that of a
 * management key with scopes, which they would take for one with all rights of its role. What bounds a key stands in that one text, so that
 * no change of such a program can part it from the role (docs/decisions/0101-rights-within-a-place.md).
 */
import { Fault } from '../core/faults.ts'
import type { KeyPlace } from '../core/levels.ts'
import { isRole, type Role } from '../core/roles.ts'
import { isScope, type Scope } from '../core/scopes.ts'

/** Columns of `api_key`. */
export interface RoleColumns {
  /** True for the role `owner`. */
  readonly management: boolean
  /** Milliseconds since the epoch; 0 for a role that programs of the schema before 29 do not know. */
  readonly expires_at: number | null
  /** The role behind the words of what bounds it; null for `member` and `owner` without any, and for keys that such a program has made. */
  readonly role: string | null
  /** End of a key whose `expires_at` is not its own; null for never. */
  readonly ends_at: number | null
  /** Ids; null for the default workspace, and for no member. Of a key of an organization its id stands in the place of a workspace. */
  readonly workspace: string | null
  readonly member: string | null
}

/** In front of the role of a key that has a place: the column has the id of a workspace, or of an organization. */
const PLACED = 'placed'
const OF_ORGANIZATION = 'organization'
/** In front of the scopes of a key, with commas between them. */
const SCOPES = 'scopes='

export interface StoredRole {
  readonly role: Role
  readonly expiresAt: number | null
  /** A word that is no role of this version. The key opens nothing, and cannot be changed here. */
  readonly unknownRole?: string
  readonly scopes?: readonly Scope[] | undefined
  readonly place?: KeyPlace | undefined
}

/** @throws Fault 409 for a key with a role that this version does not know: a change would lose it. */
export function roleColumns({ role, expiresAt, unknownRole, place, scopes }: StoredRole): RoleColumns {
  if (unknownRole !== undefined)
    throw new Fault('conflict', {
      message: `The key has the role ${unknownRole}, which this version does not know: it can only be deleted here`,
    })
  const words = [...placeWords(place), ...(scopes ? [SCOPES + scopes.join(',')] : [])]
  const levels = { workspace: place?.organization ?? place?.workspace ?? null, member: place?.member ?? null }
  if (words.length > 0) return { management: false, expires_at: 0, role: [...words, role].join(' '), ends_at: expiresAt, ...levels }
  if (role === 'member' || role === 'owner')
    return { management: role === 'owner', expires_at: expiresAt, role: null, ends_at: null, ...levels }
  return { management: false, expires_at: 0, role, ends_at: expiresAt, ...levels }
}

function placeWords(place: KeyPlace | undefined): string[] {
  if (place?.organization !== undefined) return [OF_ORGANIZATION]
  return place?.workspace !== undefined || place?.member !== undefined ? [PLACED] : []
}

/** The same of a row, with the state of a key that opens nothing where its role, or a word in front of it, is unknown. */
export function storedRole(columns: RoleColumns): StoredRole & { readonly disabled?: true } {
  const { management, expires_at, role: text, ends_at, workspace, member } = columns
  const hasPlace = workspace !== null || member !== null
  if (text === null && !hasPlace) return { role: management ? 'owner' : 'member', expiresAt: expires_at }
  const bounds = (text ?? '').split(' ')
  const role = bounds.pop()
  const placed = bounds[0] === PLACED || bounds[0] === OF_ORGANIZATION ? bounds.shift() : undefined
  const scopes = bounds[0]?.startsWith(SCOPES) ? bounds.shift()?.slice(SCOPES.length).split(',') : undefined
  const isKnown = isRole(role) && bounds.length === 0 && (scopes ?? []).every(isScope) && (placed !== undefined) === hasPlace
  const fits = role === 'member' ? placed !== OF_ORGANIZATION && !scopes : placed !== OF_ORGANIZATION || workspace !== null
  if (!isKnown || !fits) return { ...OPENS_NOTHING, unknownRole: text ?? PLACED }
  return {
    role,
    expiresAt: ends_at,
    ...(scopes ? { scopes: scopes.filter(isScope) } : {}),
    ...(hasPlace ? { place: storedPlace(placed, { workspace, member }) } : {}),
  }
}

function storedPlace(placed: string | undefined, { workspace, member }: Pick<RoleColumns, 'workspace' | 'member'>): KeyPlace {
  const level = workspace === null ? {} : placed === OF_ORGANIZATION ? { organization: workspace } : { workspace }
  return { ...level, ...(member === null ? {} : { member }) }
}

const OPENS_NOTHING = { role: 'member', expiresAt: 0, disabled: true } as const
