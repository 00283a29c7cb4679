/** Bodies of the operations on keys, checked, as changes of a key. What they do not name stays as it is. */
import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { nanoFromUsd } from '../core/money.ts'
import type { LimitReset } from '../plugin-api/key.ts'
import type { KeyRecord } from '../store/keys.ts'
import { WORKSPACE } from './workspace.ts'

type Changes = Partial<Pick<KeyRecord, 'name' | 'disabled' | 'limit' | 'limitReset' | 'includeByokInLimit'>>
type Making = Changes & Pick<KeyRecord, 'name' | 'expiresAt' | 'creator'>

/** USD: more is not counted exactly. */
export const MOST_USD = 9_000_000
const LONGEST_NAME = 256

const RESETS: readonly LimitReset[] = ['daily', 'weekly', 'monthly']
const nullable = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))
const line = () => Type.String({ minLength: 1, maxLength: LONGEST_NAME })

const shared = {
  limit: nullable(Type.Number({ minimum: 0, maximum: MOST_USD })),
  limit_reset: nullable(Type.Enum([...RESETS])),
  include_byok_in_limit: Type.Optional(Type.Boolean()),
}

/** A mistyped `limit` must not make a key without one. */
const CLOSED = { additionalProperties: false } as const

const checkMaking = checker(
  Type.Object(
    {
      name: line(),
      ...shared,
      expires_at: nullable(Type.String()),
      workspace_id: Type.Optional(Type.String()),
      creator_user_id: nullable(line()),
    },
    CLOSED,
  ),
)
const checkChanges = checker(Type.Object({ name: Type.Optional(line()), disabled: Type.Optional(Type.Boolean()), ...shared }, CLOSED))

/** @param now milliseconds since the epoch. @throws Fault 400 naming the field, also one that is unknown. */
export function makingOf(body: JsonObject, now: number): Making {
  checkMaking(body)
  if (body.workspace_id !== undefined && body.workspace_id !== WORKSPACE)
    throw badField('workspace_id', `expected the one workspace of this gateway, ${WORKSPACE}`)
  return {
    ...changesIn(body),
    name: String(body.name),
    expiresAt: typeof body.expires_at === 'string' ? timeOf(body.expires_at, now) : null,
    creator: typeof body.creator_user_id === 'string' ? body.creator_user_id : null,
  }
}

/** @throws Fault 400 naming the field, also one that is unknown. */
export function changesOf(body: JsonObject): Changes {
  checkChanges(body)
  return changesIn(body)
}

function changesIn(body: JsonObject): Changes {
  const { name, disabled, limit, limit_reset: reset, include_byok_in_limit: includeByok } = body
  const changes: { -readonly [K in keyof Changes]: Changes[K] } = {}
  if (typeof name === 'string') changes.name = name
  if (typeof disabled === 'boolean') changes.disabled = disabled
  if (limit !== undefined) changes.limit = typeof limit === 'number' ? nanoOf(limit) : null
  if (reset !== undefined) changes.limitReset = RESETS.find((one) => one === reset) ?? null
  if (typeof includeByok === 'boolean') changes.includeByokInLimit = includeByok
  return changes
}

/** USD as the nearest nano-dollar. @param dollars from 0 to `MOST_USD`. */
export function nanoOf(dollars: number): number {
  return nanoFromUsd(dollars.toFixed(9)) ?? 0
}

const UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]00:00)$/

function timeOf(text: string, now: number): number {
  const at = UTC.test(text) ? Date.parse(text) : Number.NaN
  // A day that its month does not have would be taken for one of the next.
  if (Number.isNaN(at) || !new Date(at).toISOString().startsWith(text.slice(0, 10)))
    throw badField('expires_at', 'expected a time in UTC such as 2027-01-31T00:00:00Z')
  if (at <= now) throw badField('expires_at', 'must be later than this moment')
  return at
}
