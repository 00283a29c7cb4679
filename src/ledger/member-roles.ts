/** Roles that memberships give to people who sign in to the control room. */
import { isRole } from '../core/roles.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { PlacedKeys } from './placed-keys.ts'

/**
 * The key of a person, with the role of its membership, which governs the workspace or organization that it is one of. Whom a rule gives a
 * role to manages by the rule. The nearest membership with such a role decides.
 */
export function withMemberRole(key: ApiKey, places: Pick<PlacedKeys, 'of' | 'tree'>): ApiKey {
  if (key.role !== 'member') return key
  const { levels } = places.of(key)
  // Disabled, or gone: the caller is refused as it is.
  if (!levels || levels.refusal !== undefined) return key
  for (const id of levels.members) {
    const member = places.tree.get('member', id)
    const role = member?.fields.role
    if (!isRole(role) || role === 'member') continue
    const place =
      member?.parent === levels.organization ? { organization: levels.organization } : { workspace: levels.workspace, member: id }
    return { ...key, role, place }
  }
  return key
}
