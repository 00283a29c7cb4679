/** Bodies of the operations on organizations, workspaces and members, checked. What they do not name stays as it is. */
import { type TSchema, Type } from 'typebox'
import { checker } from '../core/check.ts'
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { DEFAULT_SLUG, type LevelFields, type LevelKind, type LevelRates, MEMBER_ROLES, personName } from '../core/levels.ts'
import { MAX_USD } from '../core/money.ts'
import { nameIn } from '../core/plain-name.ts'
import { SORT_KEYS, type SortKey } from '../core/sort-keys.ts'

const MAX_NAME_LENGTH = 100
const MAX_SLUG_LENGTH = 50
const MAX_DESCRIPTION_LENGTH = 500
const MAX_RATE = 1_000_000_000
const MAX_USERS = 100
/** Characters: an address has at most 254 (RFC 5321, 4.5.3.1.3), ids of identity providers up to 255 (OpenID Connect Core, 2). */
const MAX_USER_LENGTH = 256

const maybe = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))
const rate = () => maybe(Type.Integer({ minimum: 1, maximum: MAX_RATE }))

const name = () => Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH })
const slug = () =>
  Type.String({
    minLength: 1,
    maxLength: MAX_SLUG_LENGTH,
    pattern: '^[a-z0-9]+(?:-[a-z0-9]+)*$',
    description: 'small letters and digits, in parts with a hyphen between them',
  })
/** For all requests below the level together. */
const rates = Type.Object({ requests: rate(), tokens: rate(), streams: rate() }, { additionalProperties: false })

const shared = {
  description: maybe(Type.String({ maxLength: MAX_DESCRIPTION_LENGTH })),
  disabled: Type.Optional(Type.Boolean()),
  rate_limits: maybe(rates),
}
const ofWorkspaces = {
  default_text_model: maybe(Type.String({ minLength: 1, maxLength: 256 })),
  default_provider_sort: maybe(Type.Enum([...SORT_KEYS])),
}
const ofMembers = {
  name: Type.Optional(name()),
  role: Type.Optional(Type.Enum([...MEMBER_ROLES])),
  is_service_account: Type.Optional(Type.Boolean()),
}

/** A mistyped limit must not make a level without one. */
const CLOSED = { additionalProperties: false } as const
const closed = (fields: Record<string, TSchema>) => checker(Type.Object(fields, CLOSED))

export const checkMakingLevel = {
  organization: closed({ name: name(), slug: slug(), ...shared }),
  workspace: closed({ name: name(), slug: slug(), ...shared, ...ofWorkspaces, organization_id: Type.Optional(Type.String()) }),
}
export const checkLevelChanges = {
  organization: closed({ name: Type.Optional(name()), slug: Type.Optional(slug()), ...shared }),
  workspace: closed({ name: Type.Optional(name()), slug: Type.Optional(slug()), ...shared, ...ofWorkspaces }),
  member: closed({ ...ofMembers, ...shared }),
}
export const checkLevelBudget = closed({
  limit_usd: Type.Number({ exclusiveMinimum: 0, maximum: MAX_USD }),
  include_byok_in_budgets: Type.Optional(Type.Boolean()),
})
const users = Type.Array(Type.String({ minLength: 1, maxLength: MAX_USER_LENGTH }), { minItems: 1, maxItems: MAX_USERS })
const { name: _name, ...ofAdded } = ofMembers
export const checkAddedUsers = closed({ user_ids: users, ...ofAdded })
export const checkRemovedUsers = closed({ user_ids: users })

type Changes = Partial<Omit<LevelFields, 'limits' | 'createdBy' | 'userId'>>

/** @throws Fault 400 naming the field, also one that is unknown. */
export function levelChanges(kind: LevelKind, body: JsonObject): Changes {
  checkLevelChanges[kind](body)
  return changesIn(body)
}

/** @throws Fault 400 naming the field, also one that is unknown. */
export function makingLevel(kind: Exclude<LevelKind, 'member'>, body: JsonObject): Changes & Pick<LevelFields, 'name'> {
  checkMakingLevel[kind](body)
  return { ...changesIn(body), name: nameIn(String(body.name), 'name') }
}

/** @throws Fault 400 naming the field. */
export function addedUsers(body: JsonObject): { readonly users: readonly string[]; readonly changes: Changes } {
  checkAddedUsers(body)
  return { users: usersIn(body), changes: changesIn(body) }
}

/** @throws Fault 400 naming the field. */
export function removedUsers(body: JsonObject): readonly string[] {
  checkRemovedUsers(body)
  return usersIn(body)
}

/** Each once. */
function usersIn(body: JsonObject): readonly string[] {
  const named = (body.user_ids as string[]).map((user, at) => nameIn(user, `user_ids[${at}]`).trim())
  return [...new Map(named.map((user) => [personName(user), user])).values()]
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function changesIn(body: JsonObject): Changes {
  const { name: called, slug: named, description, disabled, rate_limits: wanted, role, is_service_account: isServiceAccount } = body
  const { default_text_model: textModel, default_provider_sort: sort } = body
  const changes: { -readonly [K in keyof Changes]: Changes[K] } = {}
  if (typeof called === 'string') changes.name = nameIn(called, 'name')
  if (typeof named === 'string') changes.slug = slugIn(named)
  if (description !== undefined) changes.description = typeof description === 'string' ? description : null
  if (typeof disabled === 'boolean') changes.disabled = disabled
  if (wanted !== undefined) changes.rates = ratesIn(wanted as JsonObject | null)
  if (textModel !== undefined) changes.defaultTextModel = typeof textModel === 'string' ? textModel : null
  if (sort !== undefined) changes.defaultProviderSort = sort as SortKey | null
  if (role !== undefined) changes.role = role as NonNullable<Changes['role']>
  if (typeof isServiceAccount === 'boolean') changes.isServiceAccount = isServiceAccount
  return changes
}

/** Paths take an id or a slug: none may be taken for the other. @throws Fault 400. */
function slugIn(named: string): string {
  if (UUID.test(named)) throw badField('slug', 'expected another form than that of an id')
  return named
}

function ratesIn(wanted: JsonObject | null): LevelRates {
  return Object.fromEntries(Object.entries(wanted ?? {}).filter(([, limit]) => limit !== null)) as LevelRates
}

/** The slug of the default level is its own. @throws Fault 400. */
export function refuseDefaultSlug({ slug: named }: Pick<Changes, 'slug'>): void {
  if (named === DEFAULT_SLUG) throw badField('slug', `${DEFAULT_SLUG} is the name of what is always there, expected another one`)
}
