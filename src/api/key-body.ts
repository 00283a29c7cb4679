/** Bodies of the operations on keys, checked, as changes of a key. What they do not name stays as it is. */

import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { badField } from '../core/faults.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { nameIn } from '../core/plain-name.ts'
import { WORKSPACE } from '../core/workspace.ts'
import type { KeyRecord } from '../store/keys.ts'
import { CLOSED, type KeyChanges, line, nullable, readFields, TAKEN } from './key-fields.ts'

type Making = KeyChanges & Pick<KeyRecord, 'name' | 'expiresAt' | 'creator'>

/** Ids or slug, as the body has them; null: the default workspace, no member. */
export interface NamedPlace {
  readonly workspace?: string | null
  readonly member?: string | null
  /** Of a management key in the place of a workspace. */
  readonly organization?: string
}

/** Fields of the operations alone: the configuration has no such bills of keys, and names places by `workspace`, `member` and `organization`. */
export const PLACE_FIELDS = {
  workspace_id: nullable(Type.String({ minLength: 1, maxLength: 64 })),
  member_id: nullable(Type.String({ minLength: 1, maxLength: 256 })),
  organization_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
}
const OPERATIONS_ALONE = { ...PLACE_FIELDS, include_byok_in_limit: Type.Optional(Type.Boolean()) }

export const checkMaking = checker(Type.Object({ name: line(), ...TAKEN, ...OPERATIONS_ALONE }, CLOSED))
export const checkChanges = checker(Type.Object({ name: Type.Optional(line()), ...TAKEN, ...OPERATIONS_ALONE }, CLOSED))

/** Seconds: 30 days. */
const MAX_GRACE = 2_592_000

export const checkRotation = checker(
  Type.Object({ grace_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_GRACE })) }, CLOSED),
)

/** @param now milliseconds since the epoch. @throws Fault 400 naming the field, also one that is unknown. */
export function parseMaking(body: JsonObject, now: number): Making {
  checkMaking(body)
  return { creator: null, expiresAt: null, ...changesIn(body, now), name: nameIn(String(body.name), 'name') }
}

/** @param now milliseconds since the epoch. @throws Fault 400 naming the field, also one that is unknown. */
export function parseChanges(body: JsonObject, now: number): KeyChanges {
  checkChanges(body)
  return changesIn(body, now)
}

function changesIn(body: JsonObject, now: number): KeyChanges {
  const { name, include_byok_in_limit: includeByok } = body
  const changes = readFields(body, now)
  if (typeof name === 'string') changes.name = nameIn(name, 'name')
  if (typeof includeByok === 'boolean') changes.includeByokInLimit = includeByok
  return changes
}

/** Names of the place in a checked body; undefined where it names none. */
export function placeIn({ workspace_id: workspace, member_id: member, organization_id: organization }: JsonObject): NamedPlace | undefined {
  if (workspace === undefined && member === undefined && organization === undefined) return undefined
  const named = (value: Json | undefined) => (value === undefined ? undefined : typeof value === 'string' ? value : null)
  const [first, second] = [named(workspace), named(member)]
  return {
    ...(first === undefined ? {} : { workspace: first }),
    ...(second === undefined ? {} : { member: second }),
    ...(typeof organization === 'string' ? { organization } : {}),
  }
}

/** @throws Fault 400 where the body names another workspace than the default one. */
export function refuseOtherWorkspace({ workspace_id: id }: JsonObject): void {
  if (id !== undefined && id !== WORKSPACE) throw badField('workspace_id', `expected the default workspace, ${WORKSPACE}`)
}
