/**
 * Encrypted reasoning of other families on this wire. A client replays what this API documents of a reasoning item and nothing else,
 * so `encrypted_content` carries all that its own family needs, wrapped.
 */

import type { JsonObject } from '../../core/json.ts'
import { isWrappedReasoning } from '../canon/wrapped-reasoning.ts'

/** Formats of the families that encrypt on this wire. */
const OWN_FAMILY = /responses/

/** True for reasoning that a provider of this wire can open. */
export function isOwnFormat(format: string): boolean {
  return OWN_FAMILY.test(format)
}

/** True for a reasoning item that a provider of this wire must not see as it is. */
export function isForeign(item: JsonObject): boolean {
  return isWrappedReasoning(item.encrypted_content) || (typeof item.format === 'string' && !isOwnFormat(item.format))
}
