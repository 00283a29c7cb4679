/** Origin of a change through an operation: its actor and address, which every change of the store states for the audit log. */
import type { Actor, Origin } from '../core/audit-entries.ts'
import { isManager } from '../core/roles.ts'
import type { ApiKey } from '../plugin-api/key.ts'

/** Part of the input of each operation that changes something. */
export interface ChangeSource {
  readonly origin: Origin
}

export function keyActor({ identity, name, role, token }: Pick<ApiKey, 'identity' | 'name' | 'role' | 'token'>): Actor {
  return { kind: token ? 'member' : isManager({ role }) ? 'management_key' : 'key', id: identity, name }
}
