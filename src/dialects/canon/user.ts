/** Names of the user of a request, as a provider gets them (`user` of the provider's configuration). */
import { createHash } from 'node:crypto'
import type { JsonObject } from '../../core/json.ts'

const FIELDS = ['user', 'safety_identifier'] as const

/** SHA-256 in hex: the same user is the same to the provider, and stays unknown to it. */
export function hashedUser(name: string): string {
  return createHash('sha256').update(name).digest('hex')
}

/**
 * Passes, hashes or drops the fields of a chat or Responses body that name the user.
 * @param dropped receives the names of the fields that were left out.
 */
export function fitUser(body: JsonObject, rule: 'pass' | 'hash' | 'drop', dropped: string[]): void {
  if (rule === 'pass') return
  for (const field of FIELDS) {
    const name = body[field]
    if (typeof name !== 'string') continue
    if (rule === 'hash') body[field] = hashedUser(name)
    else {
      delete body[field]
      dropped.push(field)
    }
  }
}
