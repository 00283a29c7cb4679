/**
 * Levels of an organisation: the organisation, its workspaces (teams), and their members, who are people or service accounts. Each may
 * limit all that lies below it (docs/decisions/0096-levels-as-records.md).
 */
import { ACCOUNT_KINDS, type AccountKind } from './account-kinds.ts'
import type { JsonObject } from './json.ts'
import { plainName } from './plain-name.ts'
import type { BUDGET_WINDOWS } from './shared-budget.ts'
import type { SortKey } from './sort-keys.ts'
import { WORKSPACE } from './workspace.ts'

/** From the root to the leaf. */
export const LEVEL_KINDS = ['organization', 'workspace', 'member'] as const
export type LevelKind = (typeof LEVEL_KINDS)[number]

/** The organisation of whatever names none. Like the default workspace it is there without a row. */
export const ORGANIZATION = '00000000-0000-8000-8000-000000000003'

export const DEFAULT_SLUG = 'default'

export type LevelWindow = (typeof BUDGET_WINDOWS)[number]

/** A limit of a level in one window. */
export interface LevelLimit {
  readonly id: string
  /** Nano-dollars. */
  readonly limit: number
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly updatedAt: number
}

/** Of all requests below the level together. */
export interface LevelRates {
  /** Requests per minute. */
  readonly requests?: number
  /** Tokens per minute, input and output together. */
  readonly tokens?: number
  /** Concurrent streams. */
  readonly streams?: number
}

/** Beside `member`, of people who sign in to the control room: what they govern is the level of their membership. */
export const MEMBER_ROLES = ['admin', 'member', 'viewer', 'billing', 'owner'] as const

/** A group of an identity provider, whose members a level has. */
export interface ProvisionedGroup {
  readonly displayName: string
  /** Id at the identity provider. */
  readonly externalId?: string
  /** True: the workspace was made for it, and follows its name. */
  readonly isOwner?: boolean
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly updatedAt: number
}

/** Facts of a level that an identity provider has written (docs/scim.md). */
export interface Provisioned {
  /** Of members: attributes that no other field has. */
  readonly attributes?: JsonObject
  /** Of members: the identity provider has removed the person, who is refused and no longer shown to it. */
  readonly isRemoved?: boolean
  /** Of members: ids of the groups that they are in here. */
  readonly groups?: readonly string[]
  /** Of workspaces and organisations: groups by their id. */
  readonly groupRecords?: Readonly<Record<string, ProvisionedGroup>>
}

/** Fields of a level beside those that the store finds it by. */
export interface LevelFields {
  readonly name: string
  /** Of organisations and workspaces: a name for paths, files and rules, unique among those of its kind. */
  readonly slug?: string
  /** Of members: the e-mail address or id by which an identity provider names them, unique within the parent. */
  readonly userId?: string
  /** Of members, within their workspace or organisation. */
  readonly role?: (typeof MEMBER_ROLES)[number]
  readonly isServiceAccount?: boolean
  readonly description?: string | null
  /** Of workspaces: the model of requests that name none. */
  readonly defaultTextModel?: string | null
  /** Of workspaces: the order of endpoints for requests that name none. */
  readonly defaultProviderSort?: SortKey | null
  /** True: what providers bill to keys of its team counts as spending. */
  readonly includeByok?: boolean
  /** True: all below it are refused. */
  readonly disabled: boolean
  readonly limits: Readonly<Partial<Record<LevelWindow, LevelLimit>>>
  readonly rates: LevelRates
  /** User or key that made it; null where that is not known. */
  readonly createdBy: string | null
  readonly provisioned?: Provisioned
}

export interface Level {
  readonly id: string
  /** 1 when it is made, one more with every change; 0 of a default level without a row. */
  readonly version: number
  readonly kind: LevelKind
  /** Id of the level above; null of an organisation. */
  readonly parent: string | null
  readonly fields: LevelFields
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /** Null before the first change. */
  readonly updatedAt: number | null
}

/**
 * The text by which a level is unique: a store has each once.
 * Names of members are compared as `personName` has them.
 */
export function levelHandle({ kind, parent, fields: { slug, userId } }: Pick<Level, 'kind' | 'parent' | 'fields'>): string {
  return kind === 'member' ? memberHandle(parent ?? '', userId ?? '') : slugHandle(kind, slug ?? '')
}

const slugHandle = (kind: Exclude<LevelKind, 'member'>, slug: string): string => `${kind} ${slug}`
const memberHandle = (parent: string, userId: string): string => `member ${parent} ${personName(userId)}`

/**
 * The form in which the name of a person is compared: identity providers and administrators write one name in either case of letters, with
 * signs composed or not (UAX #15), and with signs that do not show.
 */
export const personName = (userId: string): string => plainName(userId).trim().normalize('NFC').toLowerCase()

/** Names of the levels of a key. */
export interface KeyPlace {
  /** Of a management key in the place of a workspace: id or slug of the organization that it governs. */
  readonly organization?: string
  /** Id or slug; absent: the default workspace. */
  readonly workspace?: string
  /** Id of a member of the workspace or of its organisation, or the name that an identity provider has for one. */
  readonly member?: string
  /** True: without such a member the caller is one of the workspace alone. */
  readonly isAnyone?: boolean
}

/** Of an account in the ledger: of a level that is gone its id. */
export function accountName(kind: AccountKind, id: string, tree: Pick<LevelTree, 'get'> | undefined): string {
  const level = kind === 'budget' ? undefined : tree?.get(kind, id)
  return level ? levelName(level) : id
}

/** A rate that all requests below a level share. */
export interface LevelRate {
  /** Identity of its account, which names its counters. */
  readonly identity: string
  readonly kind: LevelKind
  readonly name: string
  readonly limits: LevelRates
}

/** The levels of a key, as its place names them. */
export interface KeyLevels {
  /** Ids; the members are of one person, in the workspace and in the organisation. '' of a key of an organization. */
  readonly workspace: string
  readonly organization: string
  readonly members: readonly string[]
  /** `personName` of the member. */
  readonly user?: string
  /** Why its callers are refused; undefined where they are not. */
  readonly refusal?: string
  /** True: its place is not there. It lies below nothing, whatever the ids are. */
  readonly isMissing?: true
  /** The nearest first. */
  readonly rates: readonly LevelRate[]
  /** The model of requests that name none. */
  readonly textModel?: string
  /** True: what providers bill to keys of its team counts towards its limits. */
  readonly includeByok?: true
}

/** As error texts and lists name a level. */
export function levelName({ kind, fields: { slug, userId, name } }: Pick<Level, 'kind' | 'fields'>): string {
  return kind === 'member' ? (userId ?? name) : (slug ?? name)
}

export const levelNoun = (kind: LevelKind): string => ACCOUNT_KINDS[kind].noun

const NOTHING_SET: Pick<LevelFields, 'disabled' | 'limits' | 'rates' | 'createdBy'> = {
  disabled: false,
  limits: {},
  rates: {},
  createdBy: null,
}

const DEFAULTS: readonly Level[] = [
  { kind: 'organization', id: ORGANIZATION, parent: null } as const,
  { kind: 'workspace', id: WORKSPACE, parent: ORGANIZATION } as const,
].map((level) => ({
  ...level,
  version: 0,
  fields: { ...NOTHING_SET, name: 'Default', slug: DEFAULT_SLUG },
  createdAt: 0,
  updatedAt: null,
}))

/** A default level as it is before its first change. */
export const defaultLevel = (id: string): Level | undefined => DEFAULTS.find((level) => level.id === id)

const belowPlace = (kind: LevelKind, parent: string): string => `${kind} ${parent}`

/** All levels that are there, found by id and by name. */
export class LevelTree {
  private readonly byId = new Map<string, Level>()
  private readonly byHandle = new Map<string, Level>()
  /** Ids by the kind and the level above: an organisation has few workspaces beside many members. */
  private readonly below = new Map<string, Set<string>>()
  private readonly counts = new Map<LevelKind, number>()
  /** Another number after every change. */
  version = 0

  /** No level has a row. */
  get isEmpty(): boolean {
    return this.byId.size === 0
  }

  /** Puts a level in the place of the one of its id. */
  put(level: Level): void {
    this.remove(level.id)
    this.version++
    this.byId.set(level.id, level)
    this.counts.set(level.kind, this.count(level.kind) + 1)
    this.byHandle.set(levelHandle(level), level)
    if (level.parent === null) return
    const place = belowPlace(level.kind, level.parent)
    const siblings = this.below.get(place) ?? new Set<string>()
    this.below.set(place, siblings.add(level.id))
  }

  remove(id: string): void {
    const level = this.byId.get(id)
    if (!level) return
    this.version++
    this.byId.delete(id)
    this.counts.set(level.kind, this.count(level.kind) - 1)
    const handle = levelHandle(level)
    // Another level may have taken its name in the same reading.
    if (this.byHandle.get(handle) === level) this.byHandle.delete(handle)
    if (level.parent !== null) this.below.get(belowPlace(level.kind, level.parent))?.delete(id)
  }

  clear(): void {
    this.version++
    this.byId.clear()
    this.byHandle.clear()
    this.below.clear()
    this.counts.clear()
  }

  /** A level of this kind; the default ones are always there. */
  get(kind: LevelKind, id: string): Level | undefined {
    const found = this.byId.get(id) ?? defaultLevel(id)
    return found?.kind === kind ? found : undefined
  }

  /** @param name id or slug. */
  named(kind: Exclude<LevelKind, 'member'>, name: string): Level | undefined {
    const found = this.get(kind, name) ?? this.byHandle.get(slugHandle(kind, name))
    if (found || name !== DEFAULT_SLUG) return found
    const usual = DEFAULTS.find((level) => level.kind === kind)
    return usual && !this.byId.has(usual.id) ? usual : undefined
  }

  /** The member that an identity provider names so. */
  member(parent: string, userId: string): Level | undefined {
    return this.byHandle.get(memberHandle(parent, userId))
  }

  /** Levels of a kind that have a row. */
  count(kind: LevelKind): number {
    return this.counts.get(kind) ?? 0
  }

  /** Levels of a kind, the oldest first, with the default one. @param parent of theirs; absent: of all. */
  list(kind: LevelKind, parent?: string): Level[] {
    const ids = parent === undefined ? this.byId.keys() : (this.below.get(belowPlace(kind, parent)) ?? [])
    const found: Level[] = []
    for (const id of ids) {
      const level = this.byId.get(id)
      if (level?.kind === kind) found.push(level)
    }
    for (const level of DEFAULTS)
      if (level.kind === kind && !this.byId.has(level.id) && (parent === undefined || parent === level.parent)) found.push(level)
    return found.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
  }
}
