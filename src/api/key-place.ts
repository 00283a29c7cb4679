/** The place of a key of the store, as a body names it. */
import { badField } from '../core/faults.ts'
import { type KeyPlace, type Level, levelName } from '../core/levels.ts'
import { WORKSPACE } from '../core/workspace.ts'
import type { KeyRecord } from '../store/keys.ts'
import type { NamedPlace } from './key-body.ts'
import type { KeySource } from './key-entry.ts'

type Key = Pick<KeyRecord, 'consent'> & { readonly place?: KeyPlace | undefined }

/** Ids of what the body names; what it does not name stays. @throws Fault 400 naming the field. */
export function placed(named: NamedPlace | undefined, key: Key, { levels }: Pick<KeySource, 'levels'>): { place?: KeyPlace | undefined } {
  if (!named) return {}
  if (key.consent) throw badField('workspace_id', 'a key that was given to an application is where the key is that issued it')
  const tree = levels?.tree
  const { workspace: wanted = key.place?.workspace ?? null, member: who = key.place?.member ?? null } = named
  const given = who === null ? undefined : tree?.get('member', who)
  // A member alone names its workspace.
  const own = named.workspace === undefined && given ? tree?.get('workspace', given.parent ?? '')?.id : undefined
  const workspace = tree?.named('workspace', own ?? wanted ?? WORKSPACE)
  if (!workspace && (own ?? wanted ?? WORKSPACE) !== WORKSPACE) throw badField('workspace_id', 'no such workspace')
  const member = who === null ? undefined : (given ?? memberNamed(who, workspace, tree))
  if (who !== null) checkMember(member, workspace)
  const id = workspace?.id ?? WORKSPACE
  const place: KeyPlace = { ...(id === WORKSPACE ? {} : { workspace: id }), ...(member ? { member: member.id } : {}) }
  return { place: Object.keys(place).length === 0 ? undefined : place }
}

function memberNamed(who: string, workspace: Level | undefined, tree: NonNullable<KeySource['levels']>['tree'] | undefined) {
  return tree?.member(workspace?.id ?? WORKSPACE, who) ?? tree?.member(workspace?.parent ?? '', who)
}

/** @throws Fault 400. */
function checkMember(member: Level | undefined, workspace: Level | undefined): void {
  if (!member || (member.parent !== workspace?.id && member.parent !== workspace?.parent))
    throw badField('member_id', `expected a member of the workspace ${workspace ? levelName(workspace) : ''} or of its organization`)
}
