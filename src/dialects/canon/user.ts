/** Names of the user of a request, as a provider gets them (`user` of the provider's configuration, and the lengths that it takes). */
import { createHash } from 'node:crypto'
import type { JsonObject } from '../../core/json.ts'
import type { Quirks } from '../quirks.ts'
import type { Target } from '../types.ts'

/** SHA-256 in hex, 64 characters: the same user is the same to the provider, and stays unknown to it. */
export function hashedUser(name: string): string {
  return createHash('sha256').update(name).digest('hex')
}

/** The name as the provider takes it. */
export function fittingUser(name: string, quirks: Quirks): string {
  return name.length > (quirks.user_length ?? name.length) ? hashedUser(name) : name
}

/**
 * Passes, hashes or drops the fields of a chat or Responses body that name the user. A name that is longer than the provider takes is
 * hashed: Claude Code's has some 150 characters or more.
 * @param dropped receives the names of the fields that were left out.
 */
export function fitUser(body: JsonObject, target: Pick<Target, 'user' | 'quirks'>, dropped: string[]): void {
  const { quirks } = target
  fitName(body, 'user', { rule: target.user, most: quirks.user_length }, dropped)
  fitName(body, 'safety_identifier', { rule: target.user, most: quirks.safety_identifier_length }, dropped)
}

interface NameRule {
  rule: Target['user']
  most: number | undefined
}

function fitName(body: JsonObject, field: string, { rule, most }: NameRule, dropped: string[]): void {
  const name = body[field]
  if (typeof name !== 'string') return
  if (rule === 'drop') {
    delete body[field]
    dropped.push(field)
  } else if (rule === 'hash' || (most !== undefined && name.length > most)) body[field] = hashedUser(name)
}
