/** Memberships: the rows of members in the workspace or organisation of a group. */
import { randomUUID } from 'node:crypto'
import type { Level } from '../../core/levels.ts'
import {
  changeLevel,
  checkCount,
  eachOne,
  findPerson,
  makeLevel,
  NOTHING_SET,
  organizationFor,
  provision,
  type ScimSource,
} from './directory.ts'
import { type FoundGroup, roleFor } from './group-records.ts'
import { ScimError } from './scim-error.ts'

export const MAX_GROUP_MEMBERS = 20_000

/** Ids of its users, the oldest membership first. */
export function groupMembers(source: ScimSource, { id, target }: FoundGroup): ReadonlySet<string> {
  const { tree } = source.levels
  const organization = organizationFor(source)
  const rows = tree.list('member', target.id).filter(({ fields }) => fields.provisioned?.groups?.includes(id))
  const people = rows.map((row) => (target.id === organization.id ? row : tree.member(organization.id, row.fields.userId ?? '')))
  return new Set(people.flatMap((person) => (person && findPerson(source, person.id) ? [person.id] : [])))
}

interface Changes {
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

export async function changeMembers(source: ScimSource, group: FoundGroup, { added, removed }: Changes): Promise<void> {
  checkCount(source, added.length)
  await eachOne(removed, (id) => leave(source, group, id))
  await eachOne(added, (id) => join(source, group, id))
}

const rowFor = ({ levels: { tree } }: ScimSource, { target }: FoundGroup, person: Level): Level | undefined =>
  person.parent === target.id ? tree.get('member', person.id) : tree.member(target.id, person.fields.userId ?? '')

/** A user that is removed meanwhile joins nothing. */
async function join(source: ScimSource, group: FoundGroup, id: string): Promise<void> {
  const person = findPerson(source, id)
  if (!person) return
  const known = rowFor(source, group, person)
  if (known) {
    await withGroups(source, known, group, (groups) => [...groups.filter((each) => each !== group.id), group.id])
    return
  }
  const { name, userId = '' } = person.fields
  const groups = [group.id]
  const fields = {
    ...NOTHING_SET,
    ...{ name, userId, role: roleFor(source, groups, named(group)), createdBy: source.origin.actor.id },
    provisioned: { groups },
  }
  const made = await makeLevel(source, { id: randomUUID(), kind: 'member', parent: group.target.id, fields })
  const other = made ? undefined : rowFor(source, group, person)
  // Another process was first.
  if (other) await withGroups(source, other, group, (before) => [...new Set([...before, group.id])])
}

/** Of a workspace the member goes with its last group, also one that was added by hand: the identity provider decides who is in. */
async function leave(source: ScimSource, group: FoundGroup, id: string): Promise<void> {
  const { levels, clock, origin } = source
  const person = levels.tree.get('member', id)
  const row = person && rowFor(source, group, person)
  if (!row) return
  const left = (row.fields.provisioned?.groups ?? []).filter((each) => each !== group.id)
  if (left.length === 0 && row.parent !== organizationFor(source).id) await levels.remove(row.id, Math.floor(clock.now()), origin)
  else await withGroups(source, row, group, (groups) => groups.filter((each) => each !== group.id))
}

const named = ({ id, record }: FoundGroup): ReadonlyMap<string, string> => new Map([[id, record.displayName]])

async function withGroups(source: ScimSource, row: Level, group: FoundGroup, how: (groups: readonly string[]) => string[]): Promise<void> {
  const find = (): Level => {
    const found = source.levels.tree.get('member', row.id)
    if (!found) throw new ScimError(409, `The member ${row.fields.userId} has just been removed`)
    return found
  }
  await changeLevel(source, {
    find,
    to: ({ fields }) => {
      const groups = how(fields.provisioned?.groups ?? [])
      const next = provision(fields, { groups: groups.length === 0 ? undefined : groups })
      return { ...next, role: roleFor(source, groups, named(group)) }
    },
  })
}
