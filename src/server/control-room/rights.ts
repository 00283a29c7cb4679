/** Rights of the key or the person of a session, as `GET /v1/key` states them. */
import type { JsonObject } from '../../core/json.ts'
import { isRole, type RoleHolder } from '../../core/roles.ts'
import { isScope } from '../../core/scopes.ts'

/** @param data of its reply. @returns undefined for words that this version does not know: they open nothing. */
export function rightsIn({ role, reach, scopes }: JsonObject): RoleHolder | undefined {
  if (!isRole(role)) return undefined
  const known = scopes === null ? undefined : Array.isArray(scopes) && scopes.every(isScope) ? scopes : 'unknown'
  if (known === 'unknown') return undefined
  const narrowed = known ? { scopes: known } : {}
  if (reach === 'gateway' || reach === 'own') return { role, ...narrowed }
  // Which one it is does not matter here: the API bounds what is read.
  return reach === 'organization' || reach === 'workspace' ? { role, ...narrowed, place: { [reach]: '' } } : undefined
}
