/** Groups of the identity provider, each kept with the workspace or organisation whose members it has, and the rules that place them. */
import { hash } from 'node:crypto'
import type { Level, LevelTree, ProvisionedGroup } from '../../core/levels.ts'
import { ROLES, type Role } from '../../core/roles.ts'
import { type GroupRule, organizationFor, type ScimSource, workspacesIn } from './directory.ts'
import { folded } from './paths.ts'
import { ScimError } from './scim-error.ts'

export interface FoundGroup {
  readonly id: string
  readonly record: ProvisionedGroup
  /** The level that has its members. */
  readonly target: Level
}

const indexes = new WeakMap<LevelTree, { version: number; organization: string; groups: ReadonlyMap<string, FoundGroup> }>()

/** All groups of the organisation by their id, the oldest first. */
export function groupsIndex(source: Pick<ScimSource, 'levels' | 'settings'>): ReadonlyMap<string, FoundGroup> {
  const { tree } = source.levels
  const organization = organizationFor(source)
  const known = indexes.get(tree)
  if (known?.version === tree.version && known.organization === organization.id) return known.groups
  const found = [organization, ...workspacesIn(tree, organization.id)].flatMap((target) =>
    Object.entries(target.fields.provisioned?.groupRecords ?? {}).map(([id, record]): FoundGroup => ({ id, record, target })),
  )
  found.sort((a, b) => a.record.createdAt - b.record.createdAt || (a.id < b.id ? -1 : 1))
  const groups = new Map(found.map((group) => [group.id, group]))
  indexes.set(tree, { version: tree.version, organization: organization.id, groups })
  return groups
}

/** Rules of the file, with the patterns of their groups; `*` stands for any text. */
export function ruleFor(rules: readonly GroupRule[], displayName: string): GroupRule | undefined {
  const name = folded(displayName)
  return rules.find(({ group }) => fits(folded(group).split('*'), name))
}

/** In linear time for each piece: no pattern is compiled from it. */
function fits([first = '', ...others]: readonly string[], name: string): boolean {
  const last = others.pop()
  if (last === undefined) return name === first
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false
  let at = first.length
  for (const piece of others) {
    const found = name.indexOf(piece, at)
    if (found < 0 || found + piece.length > name.length - last.length) return false
    at = found + piece.length
  }
  return true
}

/** The level that a group is to have its members in; `create`: a workspace that is to be made. */
export type Placement = { readonly target: Level } | { readonly create: true }

/** @throws ScimError 400 where a rule names a workspace that is not there. */
export function placement(source: ScimSource, displayName: string): Placement {
  const { levels, settings } = source
  const organization = organizationFor(source)
  const rule = ruleFor(settings.groups.rules, displayName)
  if (rule) return { target: rule.workspace === undefined ? organization : ruledWorkspace(source, organization, rule.workspace) }
  const name = folded(displayName)
  const isOwned = ({ fields: { provisioned } }: Level): boolean =>
    Object.values(provisioned?.groupRecords ?? {}).some((record) => record.isOwner === true)
  // Two names may have one slug: the workspace of another group is not taken.
  const found = workspacesIn(levels.tree, organization.id).find(
    (level) => folded(level.fields.name) === name || (level.fields.slug === name && !isOwned(level)),
  )
  if (found) return { target: found }
  return settings.groups.others === 'create' ? { create: true } : { target: organization }
}

function ruledWorkspace({ levels }: ScimSource, organization: Level, named: string): Level {
  const found = levels.tree.named('workspace', named)
  if (found?.parent === organization.id) return found
  throw new ScimError(400, `scim.groups.rules: there is no workspace ${named} in the organization: make it first`, 'invalidValue')
}

/** Of the groups that a member is in, the greatest role that a rule gives; `billing` before `viewer`, which stand beside each other. */
export function roleFor(source: ScimSource, groups: readonly string[], known: ReadonlyMap<string, string>): Role {
  // The index is made anew with each change: of most members the one group is at hand.
  const names = groups.map((id) => known.get(id) ?? groupsIndex(source).get(id)?.record.displayName ?? '')
  const roles = names.map((name) => ruleFor(source.settings.groups.rules, name)?.role)
  return ROLES.findLast((role) => roles.includes(role)) ?? 'member'
}

const MAX_SLUG_LENGTH = 50
/** No slug may look like an id, and the default one is taken. */
const UNFIT = /^(?:|default|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** A slug in the form of those that are set by hand (src/api/level-body.ts). @param tries how many were taken. */
export function freeSlug(displayName: string, tries: number): string {
  const plain = displayName
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}+/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_SLUG_LENGTH)
    .replace(/^-|-$/g, '')
  if (UNFIT.test(plain)) return `group-${hash('sha256', `${tries} ${displayName}`).slice(0, 12)}`
  if (tries === 0) return plain
  const end = `-${tries + 1}`
  return `${plain.slice(0, MAX_SLUG_LENGTH - end.length).replace(/-$/, '')}${end}`
}
