/** Groups: what the identity provider calls a group gives memberships of a workspace, or a role in the organisation. */
import { hash, randomUUID } from 'node:crypto'
import type { Json, JsonObject } from '../../core/json.ts'
import type { Level, ProvisionedGroup } from '../../core/levels.ts'
import { plainName } from '../../core/plain-name.ts'
import { allKeys } from '../key-entry.ts'
import {
  changeLevel,
  checkVersion,
  findPerson,
  makeLevel,
  NOTHING_SET,
  nameTaken,
  notFound,
  organizationFor,
  provision,
  type ScimSource,
  timeText,
} from './directory.ts'
import { elementTest } from './filter-match.ts'
import { type FoundGroup, freeSlug, groupsIndex, placement, ruleFor } from './group-records.ts'
import { equalText, listReply, type Query } from './listing.ts'
import { changeMembers, groupMembers, MAX_GROUP_MEMBERS } from './memberships.ts'
import { type PatchPath, patched, readOperations, type Verb } from './patch.ts'
import { folded } from './paths.ts'
import { leavesOut } from './projection.ts'
import { GROUP, GROUP_SCHEMA } from './schemas.ts'
import { invalidValue, ScimError } from './scim-error.ts'
import { readResource, readValue } from './written.ts'

const MAX_DISPLAY_LENGTH = 256
const MAX_EXTERNAL_LENGTH = 256
/** Of a workspace. */
const MAX_NAME_LENGTH = 100
/** Groups of one organisation. */
const MAX_GROUPS = 1_000
const MAX_TRIES = 20

/** @param members ids; undefined: they are left out. */
export function groupBody({ base }: ScimSource, { id, record }: FoundGroup, members: readonly string[] | undefined): JsonObject {
  const { displayName, externalId, createdAt, updatedAt } = record
  const list = members?.map((value) => ({ value, $ref: `${base}/Users/${value}`, type: 'User' }))
  return {
    schemas: [GROUP_SCHEMA],
    id,
    displayName,
    ...(externalId === undefined ? {} : { externalId }),
    ...(list && list.length > 0 ? { members: list } : {}),
    meta: {
      ...{ resourceType: 'Group', created: timeText(createdAt), lastModified: timeText(updatedAt) },
      ...{ location: `${base}/Groups/${id}`, ...(members ? { version: groupVersion(record, members) } : {}) },
    },
  }
}

/** Of its name and members, in whatever order they are. */
export function groupVersion({ displayName, externalId = '' }: ProvisionedGroup, members: readonly string[]): string {
  return `W/"${hash('sha256', JSON.stringify([displayName, externalId, members.toSorted()])).slice(0, 20)}"`
}

/** @throws ScimError 404. */
export function oneGroup(source: ScimSource, id: string): FoundGroup {
  const found = groupsIndex(source).get(id)
  if (!found) throw notFound(id)
  return found
}

export function wholeGroup(source: ScimSource, group: FoundGroup): JsonObject {
  return groupBody(source, group, [...groupMembers(source, group)])
}

/** @throws ScimError 400. */
export function listGroups(source: ScimSource, query: Query): JsonObject {
  const name = equalText(query.filter, GROUP, 'displayName')
  const all = [...groupsIndex(source).values()].filter(({ record }) => name === undefined || folded(record.displayName) === folded(name))
  const inQuery = `${JSON.stringify(query.filter ?? '')} ${query.sortBy ?? ''}`.toLowerCase().includes('members')
  const isShown = !leavesOut(GROUP, query, GROUP.attributes.get('members'))
  const groups = new Map(all.map((group) => [groupBody(source, group, inQuery ? [...groupMembers(source, group)] : undefined), group]))
  // Members of those on the page alone, unless a filter looks at them.
  return listReply(GROUP, [...groups.keys()], query, (body) => {
    const group = groups.get(body)
    return isShown && !inQuery && group ? wholeGroup(source, group) : body
  })
}

interface Given {
  readonly displayName: string
  readonly externalId: string | undefined
  /** Ids of users. */
  readonly members: ReadonlySet<string>
}

/** @throws ScimError 400. */
function readGroup(source: ScimSource, body: JsonObject): Given {
  const { members = [], ...read } = readResource(GROUP, body)
  return { ...names(read), members: knownUsers(source, memberIds(members)) }
}

function names({ displayName, externalId }: JsonObject): Omit<Given, 'members'> {
  if (typeof displayName !== 'string' || plainName(displayName).trim() === '') throw invalidValue('displayName', 'is required')
  if (displayName.length > MAX_DISPLAY_LENGTH || plainName(displayName) !== displayName)
    throw invalidValue('displayName', `expected up to ${MAX_DISPLAY_LENGTH} characters, none of which is invisible`)
  if (externalId !== undefined && (typeof externalId !== 'string' || externalId.length > MAX_EXTERNAL_LENGTH))
    throw invalidValue('externalId', `expected up to ${MAX_EXTERNAL_LENGTH} characters`)
  return { displayName, externalId }
}

/** @throws ScimError 400 for a member without an id, or that is a group. */
function memberIds(members: Json): string[] {
  return (Array.isArray(members) ? members : []).map((each, at) => {
    const { value, type = 'User' } = each as JsonObject
    if (typeof value !== 'string') throw invalidValue(`members[${at}].value`, 'is required')
    if (typeof type === 'string' && type.toLowerCase() !== 'user')
      throw invalidValue(`members[${at}].type`, 'expected User: groups have no groups')
    return value
  })
}

/** @throws ScimError 400 naming the first that is no user. */
function knownUsers(source: ScimSource, ids: readonly string[]): Set<string> {
  const known = new Set(ids)
  if (known.size > MAX_GROUP_MEMBERS) throw invalidValue('members', `expected at most ${MAX_GROUP_MEMBERS}`)
  for (const id of known) if (!findPerson(source, id)) throw invalidValue('members', `there is no user ${id.slice(0, 100)}`)
  return known
}

function refuseKnownName(source: ScimSource, displayName: string, own?: string): void {
  const groups = [...groupsIndex(source).values()]
  if (groups.some(({ id, record }) => id !== own && folded(record.displayName) === folded(displayName))) throw nameTaken()
  if (own === undefined && groups.length >= MAX_GROUPS) throw new ScimError(400, `There are ${MAX_GROUPS} groups, which is the most`)
}

/** @throws ScimError 400, 409. */
export async function createGroup(source: ScimSource, body: JsonObject): Promise<FoundGroup> {
  const { members, ...given } = readGroup(source, body)
  refuseKnownName(source, given.displayName)
  const now = Math.floor(source.clock.now())
  const group = await placeGroup(source, randomUUID(), { ...plain(given), createdAt: now, updatedAt: now })
  await changeMembers(source, group, { added: [...members], removed: [] })
  return oneGroup(source, group.id)
}

const plain = ({
  displayName,
  externalId,
}: {
  readonly displayName: string
  readonly externalId?: string | undefined
}): Pick<ProvisionedGroup, 'displayName' | 'externalId'> => ({
  displayName,
  ...(externalId === undefined ? {} : { externalId }),
})

/** Puts a new record with the level that the rules name, and makes a workspace where there is none. */
async function placeGroup(source: ScimSource, id: string, record: ProvisionedGroup): Promise<FoundGroup> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const place = placement(source, record.displayName)
    if ('target' in place) {
      const target = await writeRecord(source, place.target, id, record)
      return { id, record, target }
    }
    const owned = { ...record, isOwner: true }
    const fields = {
      ...NOTHING_SET,
      name: record.displayName.slice(0, MAX_NAME_LENGTH).toWellFormed(),
      slug: freeSlug(record.displayName, tries),
      createdBy: source.origin.actor.id,
      provisioned: { groupRecords: { [id]: owned } },
    }
    const made = await makeLevel(source, { id: randomUUID(), kind: 'workspace', parent: organizationFor(source).id, fields })
    if (made) return { id, record: owned, target: made }
  }
  throw nameTaken()
}

/** @param record undefined: it is taken away. */
async function writeRecord(
  source: ScimSource,
  { id: level, kind }: Level,
  id: string,
  record: ProvisionedGroup | undefined,
): Promise<Level> {
  const find = (): Level => {
    const found = source.levels.tree.get(kind, level)
    if (!found) throw notFound(id)
    return found
  }
  return changeLevel(source, {
    find,
    to: ({ fields }) => {
      const { [id]: _, ...others } = fields.provisioned?.groupRecords ?? {}
      // Groups of one name are placed alike: of two that are made at once, one finds the other here.
      if (record && Object.values(others).some((each) => folded(each.displayName) === folded(record.displayName))) throw nameTaken()
      const groupRecords = record ? { ...others, [id]: record } : others
      const renamed = record?.isOwner === true ? { name: record.displayName.slice(0, MAX_NAME_LENGTH).toWellFormed() } : {}
      return provision({ ...fields, ...renamed }, { groupRecords: Object.keys(groupRecords).length === 0 ? undefined : groupRecords })
    },
  })
}

interface Written {
  readonly id: string
  readonly body: JsonObject
  readonly version: string | undefined
}

/** @throws ScimError 400, 404, 409, 412. */
export function replaceGroup(source: ScimSource, { id, body, version }: Written): Promise<FoundGroup> {
  return inTurn(id, async () => {
    const group = oneGroup(source, id)
    const members = groupMembers(source, group)
    checkVersion(version, groupVersion(group.record, [...members]))
    return rewrite(source, group, { before: members, given: readGroup(source, body) })
  })
}

/** @throws ScimError 400, 404, 409, 412. */
export function patchGroup(source: ScimSource, { id, body, version }: Written): Promise<FoundGroup> {
  const operations = readOperations(GROUP, body)
  return inTurn(id, async () => {
    const group = oneGroup(source, id)
    const before = groupMembers(source, group)
    if (version !== undefined) checkVersion(version, groupVersion(group.record, [...before]))
    const members = new Set(before)
    const take = (verb: Verb, path: PatchPath, value: Json | undefined): boolean => {
      if (path.attribute?.name !== 'members') return false
      changeSet(members, { verb, path, value })
      return true
    }
    const given = names(patched(GROUP, plain(group.record), operations, take))
    knownUsers(
      source,
      [...members].filter((each) => !before.has(each)),
    )
    if (members.size > MAX_GROUP_MEMBERS) throw invalidValue('members', `expected at most ${MAX_GROUP_MEMBERS}`)
    return rewrite(source, group, { before, given: { ...given, members } })
  })
}

/** One operation on the members, which takes as long as its own value: groups are large, and services send one operation for each member. */
function changeSet(members: Set<string>, { verb, path, value }: { verb: Verb; path: PatchPath; value: Json | undefined }): void {
  const { attribute, filter, sub, text } = path
  if (!attribute) return
  const named = (): string[] => memberIds(readValue(attribute, value ?? null, 'members') ?? [])
  if (sub) throw new ScimError(400, `${text}: members are added and removed as a whole`, 'mutability')
  if (verb !== 'remove') {
    if (filter) throw new ScimError(400, `${text}: expected members without a filter`, 'invalidPath')
    const added = named()
    if (verb === 'replace') members.clear()
    for (const id of added) members.add(id)
  } else if (filter?.op === 'eq' && filter.path.toLowerCase() === 'value' && typeof filter.value === 'string') members.delete(filter.value)
  else if (filter) {
    const test = elementTest(attribute, filter)
    for (const id of members) if (test({ value: id, type: 'User' })) members.delete(id)
    // Entra ID states the members to remove as the value, which RFC 7644, 3.5.2.2 does not know (github.com/MicrosoftDocs/azure-docs/issues/30826).
  } else if (value !== undefined && value !== null) for (const id of named()) members.delete(id)
  else members.clear()
}

interface Rewriting {
  readonly before: ReadonlySet<string>
  readonly given: Given
}

async function rewrite(source: ScimSource, group: FoundGroup, { before, given }: Rewriting): Promise<FoundGroup> {
  const { id, record } = group
  refuseKnownName(source, given.displayName, id)
  const isRenamed = given.displayName !== record.displayName
  const hasRule = (name: string): boolean => ruleFor(source.settings.groups.rules, name) !== undefined
  const place = isRenamed && (hasRule(given.displayName) || hasRule(record.displayName)) ? placement(source, given.displayName) : undefined
  const added = [...given.members].filter((each) => !before.has(each))
  const removed = [...before].filter((each) => !given.members.has(each))
  const { isOwner, ...others } = record
  const next: ProvisionedGroup = {
    ...plain(given),
    createdAt: others.createdAt,
    updatedAt: Math.floor(source.clock.now()),
    ...(isOwner === undefined ? {} : { isOwner }),
  }
  if (place && (!('target' in place) || place.target.id !== group.target.id)) {
    // Its new name belongs elsewhere: its members leave, and join there.
    await changeMembers(source, group, { added: [], removed: [...before] })
    await writeRecord(source, group.target, id, undefined)
    const moved = await placeGroup(source, id, { ...plain(given), createdAt: next.createdAt, updatedAt: next.updatedAt })
    await changeMembers(source, moved, { added: [...given.members], removed: [] })
    return oneGroup(source, id)
  }
  const isOther = isRenamed || given.externalId !== record.externalId || added.length + removed.length > 0
  if (isOther) await writeRecord(source, group.target, id, next)
  // A new name may give another role to those who stay.
  const written = { ...group, record: next }
  await changeMembers(source, written, { added: isRenamed ? [...given.members] : added, removed })
  return oneGroup(source, id)
}

/**
 * Its members leave. The workspace stays with its keys and what they have spent; one that was made for the group goes with it where nothing
 * else is in it.
 * @throws ScimError 404, 412.
 */
export function removeGroup(source: ScimSource, id: string, version: string | undefined): Promise<void> {
  return inTurn(id, async () => {
    const group = oneGroup(source, id)
    const members = [...groupMembers(source, group)]
    if (version !== undefined) checkVersion(version, groupVersion(group.record, members))
    await changeMembers(source, group, { added: [], removed: members })
    const workspace = await writeRecord(source, group.target, id, undefined)
    if (group.record.isOwner === true && (await isUnused(source, workspace)))
      await source.levels.remove(workspace.id, Math.floor(source.clock.now()), source.origin)
  })
}

/** True for a workspace without keys, members, budgets, rates and groups. */
async function isUnused({ management, levels }: ScimSource, { id, fields }: Level): Promise<boolean> {
  const { limits, rates, provisioned } = fields
  if (provisioned || Object.keys(limits).length + Object.keys(rates).length > 0 || levels.tree.list('member', id).length > 0) return false
  return !(await allKeys(management)).some((key) => key.levels?.workspace === id)
}

const running = new Map<string, Promise<unknown>>()

/** Changes of one group come one after the other in a process: a list of members that replaces another is many changes. */
async function inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
  const before = running.get(id) ?? Promise.resolve()
  const turn = before.then(work, work)
  const settled = turn.catch(() => undefined)
  running.set(id, settled)
  try {
    return await turn
  } finally {
    if (running.get(id) === settled) running.delete(id)
  }
}
