/** Which event a change of a key is. The store writes it in the same transaction as the change, so that no crash parts the two. */
import type { Actor } from '../core/audit-entries.ts'
import {
  type EventType,
  KEY_CHANGED,
  KEY_CREATED,
  KEY_DISABLED,
  KEY_ENABLED,
  KEY_REVOKED,
  KEY_ROTATED,
  type KeyChangeFacts,
  type NewEvent,
} from '../core/event-types.ts'

/** Of a stored key, and whatever else it has. */
interface KeyState {
  readonly identity: string
  readonly hash: string
  readonly name: string
  readonly label: string
  readonly disabled: boolean
  readonly updatedAt: number
  readonly previous?: object | undefined
  readonly consent?: { readonly code?: object; readonly session?: object }
}

/**
 * @param before undefined: there was none. @param after undefined: it is gone. @param at milliseconds since the epoch.
 * @returns none where nothing of it has changed. Codes of sign-in are no keys: what they are exchanged for is a new one. Nor are sessions of the control room.
 */
export function keyEvents(before: KeyState | undefined, after: KeyState | undefined, at: number, actor: Actor): NewEvent[] {
  const old = isNone(before) ? undefined : before
  const now = isNone(after) ? undefined : after
  const key = now ?? old
  if (!key) return []
  const data = { key: key.identity, name: key.name, label: key.label, actor }
  return eventTypes(old, now).map((type) => type.make({ at, subject: key.identity, data }))
}

const isNone = (key: KeyState | undefined): boolean => key?.consent?.code !== undefined || key?.consent?.session !== undefined

function eventTypes(before: KeyState | undefined, after: KeyState | undefined): EventType<KeyChangeFacts>[] {
  if (!before) return [KEY_CREATED]
  if (!after) return [KEY_REVOKED]
  const found: EventType<KeyChangeFacts>[] = []
  if (before.hash !== after.hash) found.push(KEY_ROTATED)
  if (before.disabled !== after.disabled) found.push(after.disabled ? KEY_DISABLED : KEY_ENABLED)
  const { previous } = before.hash === after.hash ? after : before
  if (keySettings(before) !== keySettings({ ...after, previous })) found.push(KEY_CHANGED)
  return found
}

/** Settings of a key, as one text to compare: a new secret does not change them, nor does switching the key off and on. */
function keySettings({ hash: _hash, label: _label, disabled: _disabled, updatedAt: _updatedAt, previous, ...settings }: KeyState): string {
  return JSON.stringify({ ...settings, previous })
}
