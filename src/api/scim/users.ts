/** Users: the members of the organisation. Their name at the identity provider is `userName`. */
import { randomUUID } from 'node:crypto'
import type { JsonObject } from '../../core/json.ts'
import type { Level, LevelFields } from '../../core/levels.ts'
import { plainName } from '../../core/plain-name.ts'
import {
  changeLevel,
  checkCount,
  checkVersion,
  eachOne,
  findPerson,
  isPerson,
  makeLevel,
  NOTHING_SET,
  nameTaken,
  notFound,
  organizationFor,
  provision,
  type ScimSource,
  timeText,
  workspacesIn,
} from './directory.ts'
import { groupsIndex } from './group-records.ts'
import type { Query } from './listing.ts'
import { equalText, listReply } from './listing.ts'
import { patched, readOperations } from './patch.ts'
import { leavesOut } from './projection.ts'
import { ENTERPRISE_SCHEMA, USER, USER_SCHEMA } from './schemas.ts'
import { invalidValue, ScimError } from './scim-error.ts'
import { readResource } from './written.ts'

/** As for members that are added by hand (src/api/level-body.ts). */
const MAX_USER_LENGTH = 256
const MAX_NAME_LENGTH = 100
/** Bytes of the attributes of one user as JSON. */
const MAX_USER_BYTES = 32 * 1024

/** @param whole false: without its groups, which are looked for in all workspaces. */
export function userBody(source: ScimSource, level: Level, whole = true): JsonObject {
  const { fields, createdAt, updatedAt, id } = level
  const { attributes = {} } = fields.provisioned ?? {}
  const location = `${source.base}/Users/${id}`
  const groups = whole ? groupsIn(source, level) : []
  return {
    schemas: [USER_SCHEMA, ...(attributes[ENTERPRISE_SCHEMA] === undefined ? [] : [ENTERPRISE_SCHEMA])],
    id,
    userName: fields.userId ?? fields.name,
    ...(fields.name === fields.userId ? {} : { displayName: fields.name }),
    ...attributes,
    // A client that has removed the attribute reads none; the member is enabled or disabled as before.
    ...(fields.provisioned?.attributes && attributes.active === undefined ? {} : { active: !fields.disabled }),
    ...(groups.length === 0 ? {} : { groups }),
    meta: {
      ...{ resourceType: 'User', created: timeText(createdAt), lastModified: timeText(updatedAt ?? createdAt) },
      ...{ location, version: userVersion(level) },
    },
  }
}

export const userVersion = ({ version }: Level): string => `W/"${version}"`

function groupsIn(source: ScimSource, level: Level): JsonObject[] {
  const { tree } = source.levels
  const rows = [level, ...workspacesIn(tree, level.parent ?? '').map(({ id }) => tree.member(id, level.fields.userId ?? ''))]
  const index = groupsIndex(source)
  return rows
    .flatMap((row) => row?.fields.provisioned?.groups ?? [])
    .flatMap((id): JsonObject[] => {
      const group = index.get(id)
      return group ? [{ value: id, $ref: `${source.base}/Groups/${id}`, display: group.record.displayName, type: 'direct' }] : []
    })
}

/** @throws ScimError 404. */
export function oneUser(source: ScimSource, id: string): Level {
  const found = findPerson(source, id)
  if (!found) throw notFound(id)
  return found
}

/** @throws ScimError 400. */
export function listUsers(source: ScimSource, query: Query): JsonObject {
  const isWhole = !leavesOut(USER, query, USER.attributes.get('groups'))
  const needsGroups = mentions(query, 'groups')
  const bodies = candidates(source, query).map((level) => ({ level, body: userBody(source, level, needsGroups) }))
  const levels = new Map(bodies.map(({ level, body }) => [body, level]))
  // The groups of those on the page alone.
  return listReply(
    USER,
    bodies.map(({ body }) => body),
    query,
    (body) => {
      const level = levels.get(body)
      return isWhole && !needsGroups && level ? userBody(source, level) : body
    },
  )
}

/** Those that may fit the filter: one, where it names one. */
function candidates({ levels, ...source }: ScimSource, { filter }: Query): readonly Level[] {
  const { tree } = levels
  const organization = organizationFor({ ...source, levels })
  const name = equalText(filter, USER, 'userName')
  const id = equalText(filter, USER, 'id')
  const one = name !== undefined ? tree.member(organization.id, memberName(name)) : id === undefined ? undefined : tree.get('member', id)
  const found = name === undefined && id === undefined ? tree.list('member', organization.id) : one ? [one] : []
  return found.filter((level) => level.parent === organization.id && isPerson(level))
}

/** True where a filter or an order may look at the attribute. */
function mentions({ filter, sortBy = '' }: Query, attribute: string): boolean {
  return `${JSON.stringify(filter ?? '')} ${sortBy}`.toLowerCase().includes(attribute)
}

/** Two spellings of one text are one name; of its letters case does not count either (levelHandle). */
const memberName = (userName: string): string => userName.normalize('NFC').trim()

/** Fields of a member with these attributes. @throws ScimError 400. */
function userFields(before: LevelFields, body: JsonObject): LevelFields {
  const { userName, active, displayName, name } = body
  if (typeof userName !== 'string' || userName.trim() === '') throw invalidValue('userName', 'is required')
  const userId = memberName(userName)
  if (userId.length > MAX_USER_LENGTH || plainName(userId) !== userId)
    throw invalidValue('userName', `expected up to ${MAX_USER_LENGTH} characters, none of which is invisible`)
  if (Buffer.byteLength(JSON.stringify(body)) > MAX_USER_BYTES)
    throw new ScimError(400, `The attributes of a user may have ${MAX_USER_BYTES} bytes`, 'invalidValue')
  const formatted = typeof name === 'object' && name !== null && !Array.isArray(name) ? name.formatted : undefined
  const shown = [displayName, formatted, userId]
    .map((each) => (typeof each === 'string' ? plainName(each).trim() : ''))
    .find((each) => each !== '')
  const fields = { ...before, userId, name: (shown ?? userId).slice(0, MAX_NAME_LENGTH).toWellFormed() }
  const disabled = active === undefined ? before.disabled : active === false
  return provision({ ...fields, disabled }, { attributes: body, isRemoved: undefined })
}

/** @throws ScimError 400, 409. */
export async function createUser(source: ScimSource, body: JsonObject): Promise<Level> {
  const { levels, origin } = source
  const organization = organizationFor(source)
  const given = { active: true, ...readResource(USER, body) }
  const fields = userFields({ ...NOTHING_SET, name: '', role: 'member', createdBy: origin.actor.id }, given)
  const known = levels.tree.member(organization.id, fields.userId ?? '')
  if (known) {
    // One that was removed before comes back, with what it has spent and what holds for it.
    const find = (): Level => {
      const now = levels.tree.get('member', known.id)
      if (now?.fields.provisioned?.isRemoved !== true) throw nameTaken()
      return now
    }
    return changeLevel(source, { find, to: (level) => userFields(level.fields, given) })
  }
  checkCount(source, 1)
  const made = await makeLevel(source, { id: randomUUID(), kind: 'member', parent: organization.id, fields })
  if (!made) throw nameTaken()
  return made
}

interface Written {
  readonly id: string
  readonly body: JsonObject
  /** `If-Match`. */
  readonly version: string | undefined
}

/** @throws ScimError 400, 404, 409, 412. */
export async function replaceUser(source: ScimSource, { id, body, version }: Written): Promise<Level> {
  const given = readResource(USER, body)
  // What PUT leaves out is cleared, but for `active`: a client that does not know it must not enable anybody (RFC 7644, 3.5.1).
  return changeUser(source, { id, version, to: ({ fields }) => ({ active: !fields.disabled, ...given }) })
}

/** @throws ScimError 400, 404, 409, 412. */
export async function patchUser(source: ScimSource, { id, body, version }: Written): Promise<Level> {
  const operations = readOperations(USER, body)
  const to = (level: Level): JsonObject => {
    const { schemas: _s, id: _i, meta: _m, groups: _g, ...now } = userBody(source, level, false)
    return patched(USER, now, operations)
  }
  return changeUser(source, { id, version, to })
}

interface UserChange {
  readonly id: string
  readonly version: string | undefined
  readonly to: (level: Level) => JsonObject
}

async function changeUser(source: ScimSource, { id, version, to }: UserChange): Promise<Level> {
  const before = new Set<string>()
  const changed = await changeLevel(source, {
    find: () => oneUser(source, id),
    to: (level) => {
      checkVersion(version, userVersion(level))
      before.add(level.fields.userId ?? '')
      return userFields(level.fields, to(level))
    },
  })
  await renameIn(source, changed, [...before])
  return changed
}

/** The person has the new name in workspaces, too. */
async function renameIn(source: ScimSource, person: Level, before: readonly string[]): Promise<void> {
  const { name, userId = '' } = person.fields
  await eachOne(membershipsIn(source, person, before), async (row) => {
    const find = (): Level => source.levels.tree.get('member', row.id) ?? row
    await changeLevel(source, { find, to: ({ fields }) => ({ ...fields, name, userId }) })
  })
}

/** Memberships of workspaces that groups have made. */
function membershipsIn({ levels: { tree } }: ScimSource, person: Level, names: readonly string[]): Level[] {
  const rows = workspacesIn(tree, person.parent ?? '').flatMap(({ id }) => names.map((name) => tree.member(id, name)))
  return rows.filter((row) => row !== undefined).filter(({ fields }) => fields.provisioned?.groups !== undefined)
}

/**
 * The member stays as a disabled one, whom the identity provider sees no more: a token that is still out, and a rule that takes anybody,
 * must not let the person in again; and what was spent keeps its name.
 * @throws ScimError 404, 412.
 */
export async function removeUser(source: ScimSource, id: string, version: string | undefined): Promise<void> {
  const { levels, clock, origin } = source
  const removed = await changeLevel(source, {
    find: () => oneUser(source, id),
    to: (level) => {
      checkVersion(version, userVersion(level))
      return { ...provision(level.fields, { attributes: undefined, groups: undefined, isRemoved: true }), disabled: true, role: 'member' }
    },
  })
  await eachOne(membershipsIn(source, removed, [removed.fields.userId ?? '']), async (row) =>
    levels.remove(row.id, Math.floor(clock.now()), origin),
  )
}
