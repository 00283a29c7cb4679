/** Bodies of the operations on keys, checked, as changes of a key. What they do not name stays as it is. */

import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { badField } from '../core/faults.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { MAX_USD } from '../core/money.ts'
import { nanoFromUsd } from '../core/money-text.ts'
import { nameIn } from '../core/plain-name.ts'
import { isRole, ROLES } from '../core/roles.ts'
import { WINDOWS } from '../core/windows.ts'
import { WORKSPACE } from '../core/workspace.ts'
import type { LimitReset } from '../plugin-api/key.ts'
import type { KeyRecord } from '../store/keys.ts'

type Changes = Partial<
  Pick<KeyRecord, 'name' | 'disabled' | 'limit' | 'limitReset' | 'includeByokInLimit' | 'providerIds' | 'creator' | 'parent' | 'role'>
>
type Making = Changes & Pick<KeyRecord, 'name' | 'expiresAt' | 'creator'>

const MAX_NAME_LENGTH = 256
const MAX_IDS = 500

const nullable = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))
const line = () => Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH })

const shared = {
  role: Type.Optional(Type.Enum([...ROLES])),
  creator_user_id: nullable(line()),
  limit: nullable(Type.Number({ minimum: 0, maximum: MAX_USD })),
  limit_reset: nullable(Type.Enum([...WINDOWS])),
  include_byok_in_limit: Type.Optional(Type.Boolean()),
  parent: nullable(Type.String({ minLength: 1, maxLength: 64 })),
  workspace_id: nullable(Type.String({ minLength: 1, maxLength: 64 })),
  member_id: nullable(Type.String({ minLength: 1, maxLength: 256 })),
  provider_ids: nullable(Type.Array(Type.String({ minLength: 1, maxLength: 256, pattern: '^[!-~]+$' }), { maxItems: MAX_IDS })),
}

/** Ids or slug, as the body has them; null: the default workspace, no member. */
export interface NamedPlace {
  readonly workspace?: string | null
  readonly member?: string | null
}

/** A mistyped `limit` must not make a key without one. */
const CLOSED = { additionalProperties: false } as const

export const checkMaking = checker(
  Type.Object(
    {
      name: line(),
      ...shared,
      expires_at: nullable(Type.String()),
    },
    CLOSED,
  ),
)
export const checkChanges = checker(
  Type.Object({ name: Type.Optional(line()), disabled: Type.Optional(Type.Boolean()), ...shared }, CLOSED),
)

/** @param now milliseconds since the epoch. @throws Fault 400 naming the field, also one that is unknown. */
export function parseMaking(body: JsonObject, now: number): Making {
  checkMaking(body)
  return {
    creator: null,
    ...changesIn(body),
    name: nameIn(String(body.name), 'name'),
    expiresAt: typeof body.expires_at === 'string' ? parseTime(body.expires_at, now) : null,
  }
}

/** @throws Fault 400 naming the field, also one that is unknown. */
export function parseChanges(body: JsonObject): Changes {
  checkChanges(body)
  return changesIn(body)
}

function changesIn(body: JsonObject): Changes {
  const {
    name,
    disabled,
    limit,
    limit_reset: reset,
    include_byok_in_limit: includeByok,
    provider_ids: ids,
    creator_user_id: creator,
    parent,
    role,
  } = body
  const changes: { -readonly [K in keyof Changes]: Changes[K] } = {}
  if (typeof name === 'string') changes.name = nameIn(name, 'name')
  if (typeof disabled === 'boolean') changes.disabled = disabled
  if (limit !== undefined) changes.limit = typeof limit === 'number' ? dollarNano(limit) : null
  if (reset !== undefined) changes.limitReset = parseReset(reset)
  if (typeof includeByok === 'boolean') changes.includeByokInLimit = includeByok
  if (creator !== undefined) changes.creator = typeof creator === 'string' ? nameIn(creator, 'creator_user_id') : null
  if (parent !== undefined) changes.parent = typeof parent === 'string' ? parent : undefined
  if (isRole(role)) changes.role = role
  if (ids !== undefined) changes.providerIds = Array.isArray(ids) ? ids.map(String) : []
  return changes
}

/** Names of the place in a checked body; undefined where it names none. */
export function placeIn({ workspace_id: workspace, member_id: member }: JsonObject): NamedPlace | undefined {
  if (workspace === undefined && member === undefined) return undefined
  const named = (value: Json | undefined) => (value === undefined ? undefined : typeof value === 'string' ? value : null)
  const [first, second] = [named(workspace), named(member)]
  return { ...(first === undefined ? {} : { workspace: first }), ...(second === undefined ? {} : { member: second }) }
}

/** @throws Fault 400 where the body names another workspace than the one there is. */
export function refuseOtherWorkspace({ workspace_id: id }: JsonObject): void {
  if (id !== undefined && id !== WORKSPACE) throw badField('workspace_id', `expected the one workspace of this gateway, ${WORKSPACE}`)
}

/** A checked value; null for none. */
export function parseReset(value: Json | undefined): LimitReset | null {
  return WINDOWS.find((one) => one === value) ?? null
}

/** USD as the nearest nano-dollar. @param dollars from 0 to `MAX_USD`. */
export function dollarNano(dollars: number): number {
  return nanoFromUsd(dollars.toFixed(9)) ?? 0
}

const UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]00:00)$/

/** Of `expires_at`: milliseconds since the epoch. @throws Fault 400 where it is no time in UTC, or is over. */
export function parseTime(text: string, now: number): number {
  const at = UTC.test(text) ? Date.parse(text) : Number.NaN
  // A day that its month does not have would be taken for one of the next.
  if (Number.isNaN(at) || !new Date(at).toISOString().startsWith(text.slice(0, 10)))
    throw badField('expires_at', 'expected a time in UTC such as 2027-01-31T00:00:00Z')
  if (at <= now) throw badField('expires_at', 'must be later than this moment')
  return at
}
