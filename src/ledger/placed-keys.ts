/** Keys with the levels of their place, whose limits hold for them, and of which each may refuse them. */
import { accountIdentity } from '../core/account-kinds.ts'
import {
  type KeyLevels,
  type KeyPlace,
  type Level,
  type LevelKind,
  type LevelRate,
  type LevelTree,
  type LevelWindow,
  levelName,
  levelNoun,
  ORGANIZATION,
  personName,
} from '../core/levels.ts'
import { isBounded } from '../core/reach.ts'
import { isManager } from '../core/roles.ts'
import { budgetUnder, type SharedBudget, sharedBudget } from '../core/shared-budget.ts'
import type { SortKey } from '../core/sort-keys.ts'
import { WORKSPACE } from '../core/workspace.ts'
import type { ApiKey } from '../plugin-api/key.ts'

interface FoundPlace {
  readonly levels: KeyLevels
  /** Undefined where no level has a row. */
  readonly budget: SharedBudget | undefined
  readonly sort: SortKey | undefined
  /** Why a manager is refused, whom the default workspace does not hold. */
  readonly ofManager: string | undefined
}

interface Line {
  readonly workspace: Level
  readonly organization: Level
  readonly isAnyone: boolean | undefined
}

const NO_PLACE: KeyPlace = {}

const made = new WeakMap<LevelTree, PlacedKeys>()

/** The same for the same tree. */
export function placesIn(tree: LevelTree): PlacedKeys {
  const known = made.get(tree) ?? new PlacedKeys(tree)
  made.set(tree, known)
  return known
}

export class PlacedKeys {
  readonly tree: LevelTree
  /** Of the tree, as it is made of. */
  private version: number
  /** Made of the levels that there are now. */
  private placed = new WeakMap<ApiKey, ApiKey>()
  private places = new Map<string, FoundPlace>()
  private budgets = new Map<string, SharedBudget>()
  /** Budgets of the configuration, with levels above their roots. */
  private joint = new WeakMap<SharedBudget, Map<string, SharedBudget>>()
  /** The key that each was made of: levels may have changed since. */
  private readonly originals = new WeakMap<ApiKey, ApiKey>()

  constructor(tree: LevelTree) {
    this.tree = tree
    this.version = tree.version
  }

  /** The key in its place; the same object for the same key until levels change. Without any level it is the key itself. */
  of<K extends ApiKey>(key: K): K {
    if (this.tree.isEmpty && isNowhere(key) && (!key.issuer || isNowhere(key.issuer))) return key
    if (this.version !== this.tree.version) this.renew()
    const known = this.placed.get(key)
    if (known) return known as K
    const original = this.original(key)
    const made = this.make(original)
    this.placed.set(key, made)
    if (made !== original) {
      this.placed.set(original, made)
      this.placed.set(made, made)
      this.originals.set(made, original)
    }
    return made as K
  }

  /** The key that was placed, or the key itself. */
  original(key: ApiKey): ApiKey {
    return this.originals.get(key) ?? key
  }

  private renew(): void {
    this.version = this.tree.version
    this.placed = new WeakMap()
    this.places = new Map()
    this.budgets = new Map()
    this.joint = new WeakMap()
  }

  /** The account of a level, below those of the levels above it; undefined for one without a row. */
  budgetAt({ kind, id, parent, version }: Level): SharedBudget | undefined {
    if (version === 0) return undefined
    if (this.version !== this.tree.version) this.renew()
    if (kind === 'organization') return this.budget([this.tree.get(kind, id)].filter((level) => level !== undefined))
    const isInWorkspace = kind === 'member' && this.tree.get('workspace', parent ?? '') !== undefined
    if (kind === 'workspace' || isInWorkspace)
      return this.find(kind === 'workspace' ? { workspace: id } : { workspace: parent ?? '', member: id }).budget
    const line = [this.tree.get('member', id), this.tree.get('organization', parent ?? '')]
    return this.budget(line.filter((each) => each !== undefined && each.version > 0) as Level[])
  }

  private make(key: ApiKey): ApiKey {
    if (key.issuer) {
      const issuer = this.of(key.issuer)
      if (issuer === key.issuer) return key
      const { levels, provider } = issuer
      return { ...key, issuer, provider, ...(levels ? { levels } : {}) }
    }
    if (isManager(key) && key.place === undefined) return key
    const { levels, budget, sort, ofManager } = this.find(key.place ?? NO_PLACE)
    if (isManager(key)) return { ...key, levels: { ...levels, refusal: ofManager } as KeyLevels }
    if (!budget && levels.refusal === undefined && levels.workspace === WORKSPACE) return key
    const provider = sort === undefined || key.provider?.sort !== undefined ? key.provider : { ...key.provider, sort }
    return { ...key, levels, provider, ...(budget ? { budget: key.budget ? this.joined(key.budget, budget) : budget } : {}) }
  }

  /** The same for the same two: keys of one budget in one place share it. */
  private joined(budget: SharedBudget, levels: SharedBudget): SharedBudget {
    const known = this.joint.get(budget) ?? new Map<string, SharedBudget>()
    this.joint.set(budget, known)
    const found = known.get(levels.payer) ?? budgetUnder(budget, levels)
    known.set(levels.payer, found)
    return found
  }

  private find(place: KeyPlace): FoundPlace {
    const text = JSON.stringify([place.workspace, place.member, place.isAnyone, place.organization])
    let found = this.places.get(text)
    if (!found) {
      found = this.look(place)
      this.places.set(text, found)
    }
    return found
  }

  private look(place: KeyPlace): FoundPlace {
    const { workspace: named, member: who, isAnyone } = place
    const { tree } = this
    if (place.organization !== undefined) return this.ofOrganization(place.organization)
    const workspace = tree.named('workspace', named ?? WORKSPACE)
    if (!workspace) return nowhere(`The workspace ${named} of this caller does not exist`)
    const organization = tree.get('organization', workspace.parent ?? '')
    if (!organization) return nowhere(`The organization of the workspace ${levelName(workspace)} does not exist`)
    const members = who === undefined ? [] : this.members(who, { workspace, organization, isAnyone })
    const [nearest] = members
    if (who !== undefined && !nearest && !isAnyone) return nowhere(`The member ${who} of this caller is not in ${levelText(workspace)}`)
    // One person may be a member of the workspace, and of the organisation above it.
    const line = [
      ...members.filter(({ parent }) => parent === workspace.id),
      workspace,
      ...members.filter(({ parent }) => parent !== workspace.id),
      organization,
    ]
    const { defaultTextModel: textModel, defaultProviderSort: sort } = workspace.fields
    const refusal = disabledIn(line)
    return {
      levels: {
        workspace: workspace.id,
        organization: organization.id,
        members: members.map(({ id }) => id),
        ...(nearest?.fields.userId === undefined ? {} : { user: personName(nearest.fields.userId) }),
        ...(refusal === undefined ? {} : { refusal }),
        rates: line.flatMap(levelRates),
        ...(textModel === undefined || textModel === null ? {} : { textModel }),
        ...(line.some(({ fields }) => fields.includeByok) ? { includeByok: true } : {}),
      },
      budget: this.budget(line.filter(({ version }) => version > 0)),
      sort: sort ?? undefined,
      ofManager: named === undefined ? disabledIn(members) : refusal,
    }
  }

  /** Of a management key that governs an organization. */
  private ofOrganization(named: string): FoundPlace {
    const organization = this.tree.named('organization', named)
    if (!organization) return nowhere(`The organization ${named} of this caller does not exist`)
    const levels = { workspace: '', organization: organization.id, members: [], rates: [] }
    return { levels, budget: undefined, sort: undefined, ofManager: disabledIn([organization]) }
  }

  /** The member that is named, and the same person in the organisation. */
  private members(who: string, { workspace, organization, isAnyone }: Line): Level[] {
    const { tree } = this
    // A claim is a name, whatever its form: it may be the id of somebody else's.
    const byId = isAnyone ? undefined : tree.get('member', who)
    const parents = [workspace.id, organization.id]
    if (byId && !parents.includes(byId.parent ?? '')) return []
    const name = byId ? (byId.fields.userId ?? '') : who
    const nearest = byId ?? tree.member(workspace.id, name)
    const above = tree.member(organization.id, name)
    return [nearest, above === nearest ? undefined : above].filter((level) => level !== undefined)
  }

  /** The account of the first, below those of the others. */
  private budget(line: readonly Level[]): SharedBudget | undefined {
    const [level, ...above] = line
    if (!level) return undefined
    const text = line.map(({ id }) => id).join(' ')
    const known = this.budgets.get(text)
    if (known) return known
    const limits = Object.fromEntries(Object.entries(level.fields.limits).map(([window, { limit }]) => [window as LevelWindow, limit]))
    const made = sharedBudget({ kind: level.kind, id: level.id, name: levelName(level), limits }, this.budget(above))
    this.budgets.set(text, made)
    return made
  }
}

/** True where it names no level that has to be there. */
const isNowhere = ({ place }: ApiKey): boolean => place === undefined || (place.isAnyone === true && !isBounded(place))

/** Of a caller whose place is not there: it is refused, and spends nothing. */
function nowhere(refusal: string): FoundPlace {
  const levels = { workspace: WORKSPACE, organization: ORGANIZATION, members: [], refusal, isMissing: true as const, rates: [] }
  return { levels, budget: undefined, sort: undefined, ofManager: refusal }
}

const levelText = (level: Level): string => `the ${levelNoun(level.kind)} ${levelName(level)}`

function disabledIn(line: readonly Level[]): string | undefined {
  const level = line.find(({ fields }) => fields.disabled)
  return level && `T${levelText(level).slice(1)} is disabled`
}

function levelRates(level: Level): LevelRate[] {
  const { kind, id, fields } = level
  if (Object.keys(fields.rates).length === 0) return []
  return [{ identity: levelIdentity(kind, id), kind, name: levelName(level), limits: fields.rates }]
}

/** Identity of the account of a level. */
export const levelIdentity = (kind: LevelKind, id: string): string => accountIdentity(kind, id)
