/**
 * Seals of other families on this wire. A client replays what this API documents of a reasoning item and nothing else,
 * so `encrypted_content` carries all that the sealing family needs, in an envelope.
 */

import type { JsonObject } from '../../core/json.ts'
import { isEnvelope } from '../canon/reasoning-envelope.ts'

/** Formats of the families that seal on this wire. */
const OWN_FAMILY = /responses/

/** True for reasoning that a provider of this wire can open. */
export function isOwnFormat(format: string): boolean {
  return OWN_FAMILY.test(format)
}

/** True for a reasoning item that a provider of this wire must not see as it is. */
export function isForeign(item: JsonObject): boolean {
  return isEnvelope(item.encrypted_content) || (typeof item.format === 'string' && !isOwnFormat(item.format))
}
