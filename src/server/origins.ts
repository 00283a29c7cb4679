/** Origins of changes over HTTP, for the audit log. */
import type { IncomingMessage } from 'node:http'
import { keyActor } from '../api/origin.ts'
import type { Actor, Origin } from '../core/audit-entries.ts'
import { OPERATOR_NAME } from '../core/operator-name.ts'
import { isManager } from '../core/roles.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { ClientAddresses } from './client-address.ts'

export const OPERATOR: Actor = { kind: 'admin_token', id: null, name: null }
export const VISITOR: Actor = { kind: 'visitor', id: null, name: null }

/** @param key of the caller; that of the control room stands for the admin token. */
export function requestOrigin(key: ApiKey | undefined, address: string): Origin {
  const actor = key === undefined ? VISITOR : key.identity === OPERATOR_NAME && isManager(key) ? OPERATOR : keyActor(key)
  return { actor, address }
}

/** A command at the admin listener: with the admin token, or over the socket, which has no address. */
export function commandOrigin(request: IncomingMessage, addresses: Pick<ClientAddresses, 'of'>): Origin {
  return { actor: OPERATOR, address: addresses.of(request) || null }
}
