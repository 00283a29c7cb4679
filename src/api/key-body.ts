/** Bodies of the operations on keys, checked, as changes of a key. What they do not name stays as it is. */

import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { nameIn } from '../core/plain-name.ts'
import { WORKSPACE } from '../core/workspace.ts'
import type { KeyRecord } from '../store/keys.ts'
import { CLOSED, type KeyChanges, line, readFields, TAKEN } from './key-fields.ts'

type Making = KeyChanges & Pick<KeyRecord, 'name' | 'expiresAt' | 'creator'>

/** Fields of the operations alone: the configuration has no such bills of keys, and no second workspace. */
const OPERATIONS_ALONE = { include_byok_in_limit: Type.Optional(Type.Boolean()) }

export const checkMaking = checker(
  Type.Object({ name: line(), ...TAKEN, ...OPERATIONS_ALONE, workspace_id: Type.Optional(Type.String()) }, CLOSED),
)
export const checkChanges = checker(Type.Object({ name: Type.Optional(line()), ...TAKEN, ...OPERATIONS_ALONE }, CLOSED))

/** Seconds: 30 days. */
const MAX_GRACE = 2_592_000

export const checkRotation = checker(
  Type.Object({ grace_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_GRACE })) }, CLOSED),
)

/** @param now milliseconds since the epoch. @throws Fault 400 naming the field, also one that is unknown. */
export function parseMaking(body: JsonObject, now: number): Making {
  checkMaking(body)
  refuseOtherWorkspace(body)
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

/** @throws Fault 400 where the body names another workspace than the one there is. */
export function refuseOtherWorkspace({ workspace_id: id }: JsonObject): void {
  if (id !== undefined && id !== WORKSPACE) throw badField('workspace_id', `expected the one workspace of this gateway, ${WORKSPACE}`)
}
