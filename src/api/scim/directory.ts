/** The people of an organisation as a SCIM service provider keeps them: its members, and the groups that put them into workspaces. */
import { canonicalJson } from '../../core/audit-entries.ts'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import type { Json } from '../../core/json.ts'
import type { Level, LevelFields, LevelTree, Provisioned } from '../../core/levels.ts'
import type { Role } from '../../core/roles.ts'
import type { LevelSource } from '../key-entry.ts'
import type { LevelsSource } from '../levels.ts'
import type { ChangeSource } from '../origin.ts'
import { ScimError } from './scim-error.ts'

/** A rule for groups of an identity provider. */
export interface GroupRule {
  /** Display name; `*` stands for any text. */
  readonly group: string
  /** Id or slug of a workspace; absent: the organisation. */
  readonly workspace?: string | undefined
  readonly role?: Role | undefined
}

export interface ScimSettings {
  /** Id or slug. */
  readonly organization: string
  readonly groups: {
    /** The first that has the name of a group decides. */
    readonly rules: readonly GroupRule[]
    /** For groups without a rule. */
    readonly others: 'create' | 'match'
  }
}

export interface ScimSource extends ChangeSource {
  readonly levels: LevelSource
  readonly clock: Pick<Clock, 'now'>
  /** The keys that workspaces have. */
  readonly management: LevelsSource
  readonly settings: ScimSettings
  /** Address of the service, without a slash at its end. */
  readonly base: string
}

/** Tries of a change, each of which fails only because another one went through. */
const MAX_TRIES = 100
/** Members that processes hold in memory. */
const MAX_MEMBERS = 100_000
/** Changes that wait for the store at once. */
const PARALLEL = 32

export const NOTHING_SET: Pick<LevelFields, 'disabled' | 'limits' | 'rates'> = { disabled: false, limits: {}, rates: {} }

export const notFound = (id: string): ScimError => new ScimError(404, `Resource ${id.slice(0, 100)} not found`)

/** @throws Fault `unavailable` where the configuration names an organisation that is not there. */
export function organizationFor({ levels, settings }: Pick<ScimSource, 'levels' | 'settings'>): Level {
  const found = levels.tree.named('organization', settings.organization)
  if (!found) throw new Fault('unavailable', { message: `scim.organization: there is no organization ${settings.organization}` })
  return found
}

/** A person of the organisation that the identity provider has not removed. */
export function isPerson({ fields: { isServiceAccount, provisioned } }: Level): boolean {
  return isServiceAccount !== true && provisioned?.isRemoved !== true
}

/** The member that stands for a user. */
export function findPerson(source: ScimSource, id: string): Level | undefined {
  const found = source.levels.tree.get('member', id)
  return found && found.parent === organizationFor(source).id && isPerson(found) ? found : undefined
}

export interface Change {
  /** The fields that it gets. @throws ScimError, as the level is now. */
  readonly to: (level: Level) => LevelFields
  /** Finds the level again, as it is now. @throws ScimError where it is gone. */
  readonly find: () => Level
}

/** Reads, changes and writes until no other change comes between. @throws ScimError 409 where the name is taken. */
export async function changeLevel(source: ScimSource, { to, find }: Change): Promise<Level> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const level = find()
    const fields = to(level)
    if (sameFields(fields, level.fields)) return level
    const now = Math.floor(source.clock.now())
    const createdAt = level.version === 0 ? now : level.createdAt
    const next: Level = { ...level, fields, version: level.version + 1, createdAt, updatedAt: now }
    const written = await source.levels.put(next, level.version, source.origin)
    if (written === 'written') return next
    if (written === 'taken') throw nameTaken()
    if (written === 'orphan') throw new ScimError(409, 'The organization has just been removed')
  }
  throw new Fault('unavailable', { message: 'The resource is changed too often', retryAfter: 1 })
}

/** Their order does not count. */
function sameFields(fields: LevelFields, others: LevelFields): boolean {
  const text = (each: LevelFields): string => canonicalJson(JSON.parse(JSON.stringify(each)) as Json)
  return text(fields) === text(others)
}

/** @param more that are to be made. @throws ScimError 400 where there would be too many. */
export function checkCount({ levels: { tree } }: ScimSource, more: number): void {
  if (more > 0 && tree.count('member') + more > MAX_MEMBERS)
    throw new ScimError(400, `There are ${MAX_MEMBERS} members and memberships, which is the most`)
}

/** @returns undefined where another level has its name. */
export async function makeLevel(source: ScimSource, made: Pick<Level, 'id' | 'kind' | 'parent' | 'fields'>): Promise<Level | undefined> {
  const { levels, clock, origin } = source
  const level: Level = { ...made, version: 1, createdAt: Math.floor(clock.now()), updatedAt: null }
  const written = await levels.put(level, 0, origin)
  if (written === 'orphan') throw new ScimError(409, 'The organization or workspace has just been removed')
  return written === 'written' ? level : undefined
}

export const nameTaken = (): ScimError => new ScimError(409, 'Another resource has this name', 'uniqueness')

/** @param more undefined: taken away. */
export function provision(fields: LevelFields, more: { readonly [K in keyof Provisioned]?: Provisioned[K] | undefined }): LevelFields {
  const kept = Object.fromEntries(Object.entries({ ...fields.provisioned, ...more }).filter(([, value]) => value !== undefined))
  const { provisioned: _, ...others } = fields
  return Object.keys(kept).length === 0 ? others : { ...others, provisioned: kept }
}

/** A few at once. */
export async function eachOne<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < items.length; at += PARALLEL) await Promise.all(items.slice(at, at + PARALLEL).map(work))
}

/** Workspaces of the organisation. */
export const workspacesIn = (tree: LevelTree, organization: string): readonly Level[] => tree.list('workspace', organization)

/** @throws ScimError 412 where the resource has another version than `If-Match` names (RFC 9110, 13.1.1). */
export function checkVersion(wanted: string | undefined, version: string): void {
  if (wanted === undefined || wanted.trim() === '*') return
  const plain = (tag: string): string => tag.trim().replace(/^W\//, '')
  if (!wanted.split(',').some((tag) => plain(tag) === plain(version)))
    throw new ScimError(412, `The resource has the version ${version} now: read it again`)
}

export const timeText = (at: number): string => new Date(at).toISOString()
