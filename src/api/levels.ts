/**
 * The management of organizations, workspaces and members: /v1/organizations, /v1/workspaces, /v1/members. What is changed is in force here at
 * once, and everywhere within a second.
 */
import { randomUUID } from 'node:crypto'
import { badField, Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import {
  defaultLevel,
  type Level,
  type LevelFields,
  type LevelKind,
  type LevelLimit,
  type LevelWindow,
  ORGANIZATION,
  personName,
} from '../core/levels.ts'
import { BUDGET_WINDOWS } from '../core/shared-budget.ts'
import type { LevelWritten } from '../store/levels.ts'
import { PAGING, pageBy } from './guardrails.ts'
import { allKeys, type KeySource, keyWorkspace, type LevelSource } from './key-entry.ts'
import { dollarNano } from './key-fields.ts'
import { type RankedKey, requireMemberRoles } from './key-rights.ts'
import { addedUsers, checkLevelBudget, levelChanges, makingLevel, refuseDefaultSlug, removedUsers } from './level-body.ts'
import { budgetEntries, budgetEntry, levelEntry, personEntry } from './level-entry.ts'
import type { ChangeSource } from './origin.ts'
import { flag, shortText } from './parameters.ts'
import { type ApiReply, ok } from './reply.ts'

/** Dependencies of the management of levels. */
export interface LevelsSource extends Pick<KeySource, 'store' | 'configured' | 'clock' | 'budgets'> {
  readonly levels: LevelSource
}

type Group = Exclude<LevelKind, 'member'>

type Changing = LevelsSource & ChangeSource & { /** The caller. */ readonly by?: string | null; readonly caller?: RankedKey }

/** Tries of a change: each fails only because another one went through. */
const MAX_TRIES = 100
const MAX_ID_LENGTH = 64
const MAX_USER_LENGTH = 256

/** Levels that processes hold in memory, some 600 bytes each. */
const MAX_LEVELS: Readonly<Record<LevelKind, number>> = { organization: 1_000, workspace: 10_000, member: 100_000 }

export const ofOrganization = shortText('organization_id', 'Only those of this organization, by its id or slug.', MAX_ID_LENGTH)
const search = shortText('search', 'Only those whose name, slug or user id contains this, in either case of letters.', MAX_USER_LENGTH)
const withCounts = flag('include_counts', 'Adds how many members, workspaces and keys in use each has.')
export const LEVELS_QUERY = [...PAGING, search]
export const GROUPS_QUERY = [...LEVELS_QUERY, withCounts]

/** @returns those that the query searches for. @throws Fault 400 naming the query parameter. */
function searched(levels: readonly Level[], query: URLSearchParams): readonly Level[] {
  const wanted = search.read(query)?.toLowerCase()
  if (wanted === undefined) return levels
  return levels.filter(({ fields: { name, slug, userId } }) => [name, slug, userId].some((text) => text?.toLowerCase().includes(wanted)))
}

/** The oldest first, the default one before them. @param query with `GROUPS_QUERY`, of workspaces with `ofOrganization`. @throws Fault 400, 404. */
export async function listLevels(kind: Group, query: URLSearchParams, source: LevelsSource): Promise<ApiReply> {
  const { levels } = source
  const page = pageBy(query)
  await levels.renew()
  const named = kind === 'workspace' ? ofOrganization.read(query) : undefined
  const parent = named === undefined ? undefined : findLevel('organization', named, levels).id
  const listed = searched(levels.tree.list(kind, parent), query)
  const reply = page(listed.map((level) => levelEntry(level, levels.tree)))
  return withCounts.read(query) ? ok({ ...reply.body, data: await countedEntries(reply.body.data as JsonObject[], source) }) : reply
}

/** Entries of organizations or workspaces with what is right below each; keys of an organization are those of its workspaces. */
async function countedEntries(entries: readonly JsonObject[], source: LevelsSource): Promise<JsonObject[]> {
  const { tree } = source.levels
  const keys = new Map<string, number>()
  const now = source.clock.now()
  for (const key of (await allKeys(source)).filter(({ disabled, expiresAt }) => !disabled && (expiresAt === null || expiresAt > now))) {
    const id = keyWorkspace(key)
    keys.set(id, (keys.get(id) ?? 0) + 1)
  }
  return entries.map((entry) => {
    const id = String(entry.id)
    const workspaces = tree.list('workspace', id)
    return {
      ...entry,
      member_count: tree.list('member', id).length,
      workspace_count: workspaces.length,
      key_count: [id, ...workspaces.map((each) => each.id)].reduce((sum, each) => sum + (keys.get(each) ?? 0), 0),
    }
  })
}

const NOUNS: Readonly<Record<LevelKind, string>> = { organization: 'organization', workspace: 'workspace', member: 'member' }

/** @param name id, or slug of what has one. @throws Fault 404. */
export function findLevel(kind: LevelKind, name: string, { tree }: Pick<LevelSource, 'tree'>): Level {
  const found = kind === 'member' ? tree.get(kind, name) : tree.named(kind, name)
  if (!found) throw new Fault('not_found', { message: `No such ${NOUNS[kind]}` })
  return found
}

/** @throws Fault 404. */
export async function oneLevel(kind: LevelKind, name: string, { levels }: LevelsSource): Promise<ApiReply> {
  await levels.renew()
  return ok({ data: levelEntry(findLevel(kind, name, levels), levels.tree) })
}

const NOTHING_SET: Pick<LevelFields, 'disabled' | 'limits' | 'rates' | 'createdBy'> = {
  disabled: false,
  limits: {},
  rates: {},
  createdBy: null,
}

/** @throws Fault 400 naming the field. */
export async function createLevel(kind: Group, body: JsonObject, source: Changing): Promise<ApiReply> {
  const fields = makingLevel(kind, body)
  refuseDefaultSlug(fields)
  const { levels, by = null } = source
  await levels.renew()
  const { organization_id: named } = body
  const organization = typeof named === 'string' ? levels.tree.named('organization', named) : levels.tree.get('organization', ORGANIZATION)
  if (kind === 'workspace' && !organization) throw badField('organization_id', 'no such organization')
  const parent = kind === 'workspace' ? (organization?.id ?? ORGANIZATION) : null
  const made = await make({ kind, parent, fields: { ...NOTHING_SET, ...fields, createdBy: by } }, source)
  return { status: 201, body: { data: levelEntry(made, levels.tree) } }
}

async function make(given: Pick<Level, 'kind' | 'parent' | 'fields'>, source: Changing): Promise<Level> {
  const { levels, clock, origin } = source
  const most = MAX_LEVELS[given.kind]
  if (levels.tree.count(given.kind) >= most) throw badField('name', `there are ${most} of its kind, which is the most`)
  const level: Level = { ...given, id: randomUUID(), version: 1, createdAt: Math.floor(clock.now()), updatedAt: null }
  refuseUnwritten(await levels.put(level, 0, origin), level)
  return level
}

/** @throws Fault 400, 404, 409. */
function refuseUnwritten(written: LevelWritten, { kind }: Pick<Level, 'kind'>): void {
  if (written === 'taken')
    throw badField(kind === 'member' ? 'user_ids' : 'slug', `there is another ${NOUNS[kind]} of this name, expected one that is free`)
  if (written === 'orphan') throw new Fault('not_found', { message: 'What it is to be part of has just been removed' })
  if (written === 'changed') throw new Fault('conflict', { message: 'It has just been changed by another request' })
}

/** @throws Fault 400 naming the field, 404. */
export async function changeLevel(kind: LevelKind, name: string, body: JsonObject, source: Changing): Promise<ApiReply> {
  const changes = levelChanges(kind, body)
  const next = await changed(kind, name, source, ({ id, fields }) => {
    if (defaultLevel(id) === undefined) refuseDefaultSlug(changes)
    requireMemberRoles(source.caller, [fields.role, changes.role])
    return { ...fields, ...changes }
  })
  return ok({ data: levelEntry(next, source.levels.tree) })
}

/** Reads, changes and writes until no other change comes between. A default level gets its row with its first change. */
async function changed(kind: LevelKind, name: string, source: Changing, how: (level: Level) => LevelFields): Promise<Level> {
  const { levels, clock, origin } = source
  await levels.renew()
  const { id } = findLevel(kind, name, levels)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const found = findLevel(kind, id, levels)
    const now = Math.floor(clock.now())
    const next: Level = {
      ...found,
      version: found.version + 1,
      fields: how(found),
      createdAt: found.version === 0 ? now : found.createdAt,
      updatedAt: now,
    }
    const written = await levels.put(next, found.version, origin)
    if (written === 'written') return next
    if (written !== 'changed') refuseUnwritten(written, next)
  }
  throw new Fault('unavailable', { message: `The ${NOUNS[kind]} is changed too often`, retryAfter: 1 })
}

/**
 * All below it are refused from then on. What they have spent stays in the ledger.
 * @throws Fault 400 for a default level, a workspace with keys in use, an organization with workspaces; 404.
 */
export async function removeLevel(kind: LevelKind, name: string, source: Changing): Promise<ApiReply> {
  const { levels, clock, origin } = source
  await levels.renew()
  const level = findLevel(kind, name, levels)
  if (defaultLevel(level.id)) throw badField('id', `the default ${NOUNS[kind]} cannot be removed`)
  requireMemberRoles(source.caller, [level.fields.role])
  if (kind === 'workspace') await refuseLiveKeys(level, source)
  const removed = await levels.remove(level.id, Math.floor(clock.now()), origin)
  if (removed === 'occupied') throw badField('id', 'the organization has workspaces: remove these first')
  if (removed === 'missing') throw new Fault('not_found', { message: `No such ${NOUNS[kind]}` })
  return ok({ deleted: true })
}

async function refuseLiveKeys({ id, fields }: Level, source: LevelsSource): Promise<void> {
  const now = source.clock.now()
  const live = (await allKeys(source)).filter(
    (key) => key.levels?.workspace === id && !key.disabled && (key.expiresAt === null || key.expiresAt > now),
  )
  if (live.length === 0) return
  const names = live.slice(0, 3).map((key) => key.name)
  throw badField(
    'id',
    `the workspace ${fields.slug} has ${live.length} ${live.length === 1 ? 'key' : 'keys'} in use (${names.join(', ')}${live.length > names.length ? ', …' : ''}): disable, move or remove them first`,
  )
}

/** @throws Fault 404. */
export async function listLevelBudgets(kind: LevelKind, name: string, { levels }: LevelsSource): Promise<ApiReply> {
  await levels.renew()
  const level = findLevel(kind, name, levels)
  return ok({ data: budgetEntries(level), include_byok_in_budgets: level.fields.includeByok ?? false })
}

/** @throws Fault 404 also for a level without a limit in this window. */
export async function oneLevelBudget(kind: LevelKind, name: string, interval: string, { levels }: LevelsSource): Promise<ApiReply> {
  await levels.renew()
  const level = findLevel(kind, name, levels)
  const window = windowIn(interval)
  const limit = level.fields.limits[window]
  if (!limit) throw new Fault('not_found', { message: `The ${NOUNS[kind]} has no ${window} budget` })
  return ok({ data: budgetEntry(level, window, limit), include_byok_in_budgets: level.fields.includeByok ?? false })
}

/** @throws Fault 400 naming the field, also where the limits of all windows do not rise with their length; 404. */
export async function putLevelBudget(
  kind: LevelKind,
  name: string,
  interval: string,
  body: JsonObject,
  source: Changing,
): Promise<ApiReply> {
  checkLevelBudget(body)
  const window = windowIn(interval)
  const limit = dollarNano(Number(body.limit_usd))
  if (limit === 0) throw badField('limit_usd', 'expected at least a billionth of a dollar')
  const next = await changed(kind, name, source, ({ fields }) => {
    const now = Math.floor(source.clock.now())
    const before = fields.limits[window]
    const made: LevelLimit = { id: before?.id ?? randomUUID(), limit, createdAt: before?.createdAt ?? now, updatedAt: now }
    const limits = { ...fields.limits, [window]: made }
    checkRising(limits)
    const { include_byok_in_budgets: includeByok } = body
    return { ...fields, limits, ...(typeof includeByok === 'boolean' ? { includeByok } : {}) }
  })
  return oneLevelBudget(kind, next.id, interval, source)
}

/** One that is not lower than that of a longer window would never be reached (docs/contract.md#lists-and-records). @throws Fault 400. */
function checkRising(limits: LevelFields['limits']): void {
  const set = BUDGET_WINDOWS.filter((window) => limits[window])
  for (const [at, window] of set.entries()) {
    const longer = set[at + 1]
    if (longer && (limits[window]?.limit ?? 0) >= (limits[longer]?.limit ?? 0))
      throw badField('limit_usd', `expected the ${window} limit to be lower than the ${longer} one, or it is never reached`)
  }
}

/** Without one it is the same. @throws Fault 404 for a level that is not there. */
export async function removeLevelBudget(kind: LevelKind, name: string, interval: string, source: Changing): Promise<ApiReply> {
  const window = windowIn(interval)
  await source.levels.renew()
  if (findLevel(kind, name, source.levels).fields.limits[window])
    await changed(kind, name, source, ({ fields }) => {
      const { [window]: _, ...limits } = fields.limits
      return { ...fields, limits }
    })
  return ok({ deleted: true })
}

/** @throws Fault 400. */
function windowIn(interval: string): LevelWindow {
  const window = BUDGET_WINDOWS.find((each) => each === interval)
  if (!window) throw badField('interval', `expected one of: ${BUDGET_WINDOWS.join(', ')}`)
  return window
}

/** Members right below it, the oldest first. @param query with `LEVELS_QUERY`. @throws Fault 400, 404. */
export async function listMembers(kind: Group, name: string, query: URLSearchParams, { levels }: LevelsSource): Promise<ApiReply> {
  const page = pageBy(query)
  await levels.renew()
  const { id } = findLevel(kind, name, levels)
  return page(searched(levels.tree.list('member', id), query).map((level) => levelEntry(level, levels.tree)))
}

/** All people and service accounts of an organization and its workspaces, each once. @param query with `LEVELS_QUERY`. @throws Fault 400. */
export async function listPeople(organization: string, query: URLSearchParams, { levels }: LevelsSource): Promise<ApiReply> {
  const page = pageBy(query)
  await levels.renew()
  const { tree } = levels
  const parents = [organization, ...tree.list('workspace', organization).map(({ id }) => id)]
  const people = new Map<string, Level>()
  for (const member of parents.flatMap((parent) => tree.list('member', parent))) {
    const user = personName(member.fields.userId ?? '')
    if (!people.has(user)) people.set(user, member)
  }
  return page(searched([...people.values()], query).map(personEntry))
}

/** Those that are there already get the role that the body names. @throws Fault 400 naming the field, 404. */
export async function addMembers(kind: Group, name: string, body: JsonObject, source: Changing): Promise<ApiReply> {
  const { users, changes } = addedUsers(body)
  const { levels, by = null } = source
  await levels.renew()
  const group = findLevel(kind, name, levels)
  requireMemberRoles(source.caller, [changes.role])
  const data: JsonObject[] = []
  for (const userId of users) {
    const found = levels.tree.member(group.id, userId)
    const member = found
      ? Object.keys(changes).length === 0
        ? found
        : await changed('member', found.id, source, ({ fields }) => {
            requireMemberRoles(source.caller, [fields.role, changes.role])
            return { ...fields, ...changes }
          })
      : await make(
          { kind: 'member', parent: group.id, fields: { ...NOTHING_SET, role: 'member', ...changes, name: userId, userId, createdBy: by } },
          source,
        )
    data.push(levelEntry(member, levels.tree))
  }
  return ok({ added_count: data.length, data })
}

/** Those that are not there are not counted. @throws Fault 400 naming the field, 404. */
export async function removeMembers(kind: Group, name: string, body: JsonObject, source: Changing): Promise<ApiReply> {
  const users = removedUsers(body)
  const { levels, clock, origin } = source
  await levels.renew()
  const group = findLevel(kind, name, levels)
  let count = 0
  for (const userId of users) {
    const member = levels.tree.member(group.id, userId)
    if (member) requireMemberRoles(source.caller, [member.fields.role])
    if (member && (await levels.remove(member.id, Math.floor(clock.now()), origin)) === 'removed') count++
  }
  return ok({ removed_count: count })
}
