/** The place of a key of the store, as a body names it. */
import { badField } from '../core/faults.ts'
import { type KeyPlace, type Level, levelName } from '../core/levels.ts'
import type { Reach } from '../core/reach.ts'
import { isManager } from '../core/roles.ts'
import { WORKSPACE } from '../core/workspace.ts'
import type { KeyRecord } from '../store/keys.ts'
import type { NamedPlace } from './key-body.ts'
import type { KeySource } from './key-entry.ts'

type Key = Pick<KeyRecord, 'consent' | 'role'> & { readonly place?: KeyPlace | undefined }

/**
 * The place of a key that is made: the one that is named, else that of a caller with a place.
 * @throws Fault 400 naming the field.
 */
export function madePlace(named: NamedPlace | undefined, key: Key, { levels, within }: PlaceSource): { place?: KeyPlace | undefined } {
  const reach = within?.reach
  if (!reach || named?.workspace !== undefined || named?.organization !== undefined) return placed(named, key, { levels })
  if (reach.kind === 'workspace') return placed({ ...named, workspace: reach.id }, key, { levels })
  if (!isManager(key)) throw badField('workspace_id', 'is required: a workspace of the organization of this management key')
  return placed({ ...named, organization: reach.id }, key, { levels })
}

type PlaceSource = Pick<KeySource, 'levels'> & { readonly within?: { readonly reach: Reach } | undefined }

/** Ids of what the body names; what it does not name stays. @throws Fault 400 naming the field. */
export function placed(named: NamedPlace | undefined, key: Key, { levels }: Pick<KeySource, 'levels'>): { place?: KeyPlace | undefined } {
  if (!named) return {}
  if (key.consent) throw badField('workspace_id', 'a key that was given to an application is where the key is that issued it')
  const tree = levels?.tree
  if (named.organization !== undefined) return ofOrganization(named, key, tree)
  if (key.place?.organization !== undefined && named.workspace === undefined)
    throw badField('member_id', 'a key of an organization is one of no member')
  const { workspace: wanted = key.place?.workspace ?? null, member: who = key.place?.member ?? null } = named
  const given = who === null ? undefined : tree?.get('member', who)
  // A member alone names its workspace.
  const own = named.workspace === undefined && given ? tree?.get('workspace', given.parent ?? '')?.id : undefined
  const workspace = tree?.named('workspace', own ?? wanted ?? WORKSPACE)
  if (!workspace && (own ?? wanted ?? WORKSPACE) !== WORKSPACE) throw badField('workspace_id', 'no such workspace')
  const member = who === null ? undefined : (given ?? memberNamed(who, workspace, tree))
  if (who !== null) checkMember(member, workspace)
  const id = workspace?.id ?? WORKSPACE
  // A management key without a place governs the whole gateway.
  const isStated = id !== WORKSPACE || (isManager(key) && (own ?? wanted) !== null)
  const place: KeyPlace = { ...(isStated ? { workspace: id } : {}), ...(member ? { member: member.id } : {}) }
  return { place: Object.keys(place).length === 0 ? undefined : place }
}

/** @throws Fault 400. */
function ofOrganization({ organization = '', workspace, member }: NamedPlace, key: Key, tree: Tree): { place: KeyPlace } {
  if (!isManager(key)) throw badField('organization_id', 'only a management key has an organization in the place of a workspace')
  if (workspace || member) throw badField('organization_id', 'expected either an organization or a workspace')
  const found = tree?.named('organization', organization)
  if (!found) throw badField('organization_id', 'no such organization')
  return { place: { organization: found.id } }
}

type Tree = NonNullable<KeySource['levels']>['tree'] | undefined

function memberNamed(who: string, workspace: Level | undefined, tree: Tree) {
  return tree?.member(workspace?.id ?? WORKSPACE, who) ?? tree?.member(workspace?.parent ?? '', who)
}

/** @throws Fault 400. */
function checkMember(member: Level | undefined, workspace: Level | undefined): void {
  if (!member || (member.parent !== workspace?.id && member.parent !== workspace?.parent))
    throw badField('member_id', `expected a member of the workspace ${workspace ? levelName(workspace) : ''} or of its organization`)
}
